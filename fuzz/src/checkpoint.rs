//! Checkpoints of a transparency log: what is read prints back to the same bytes, and can be signed and cosigned.

use transparency_log::{Checkpoint, Cosigner, SignedCheckpoint, SigningKey};

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let Ok(checkpoint) = Checkpoint::parse(text) else {
        return;
    };
    assert_eq!(checkpoint.to_string(), text);

    let log = SigningKey::from_seed("log.example", &[1; 32]).expect("a key");
    let witness = Cosigner::from_seed("witness.example", &[2; 32]).expect("a key");
    let Ok(mut signed) = SignedCheckpoint::sign(checkpoint.clone(), &[&log]) else {
        // Only its length can be in the way.
        assert!(text.len() > 900_000);
        return;
    };
    let cosignature = witness.cosign(&checkpoint, 1).expect("a time");
    signed.add(cosignature).expect("the second signature");

    let read = SignedCheckpoint::parse(&signed.to_string()).expect("what was printed");
    let known = [log.verifier_key().clone()];
    assert_eq!(read.verify(checkpoint.origin(), &known), Ok(&checkpoint));
    let known = [witness.verifier_key().clone()];
    let cosigned = read.cosigned_by(&known).expect("its own signature");
    assert_eq!(cosigned.len(), 1);
}
