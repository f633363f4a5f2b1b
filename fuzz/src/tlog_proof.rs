//! Proofs of an entry: what is read prints back to the same bytes, and proves the entry it was made for and no other.

use transparency_log::{Hash, SigningKey, TlogProof};

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let Ok(proof) = TlogProof::parse(text) else {
        return;
    };
    assert_eq!(proof.to_string(), text);

    // The corpus has proofs of this entry in a log with this key.
    let key = SigningKey::from_seed("log.example", &[1; 32]).expect("a key");
    let known = [key.verifier_key().clone()];
    let verify = |entry: &[u8]| proof.verify(&Hash::of_leaf(entry), "log.example", &known, &[]);
    if verify(b"2").is_ok() {
        assert!(proof.index() < proof.checkpoint().unverified().size());
        assert!(verify(b"3").is_err(), "proved two entries");
    }
}
