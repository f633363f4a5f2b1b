//! What signs: secrets stay secret, and several keys sign while one is replaced.

use transparency_log::{Checkpoint, Cosigner, Edge, Error, Note, SignedCheckpoint, SigningKey};

const SEED: [u8; 32] = [0xA5; 32];

#[test]
fn debug_output_shows_no_secret() {
    let key = SigningKey::from_seed("log.example", &SEED).expect("a key");
    assert_eq!(format!("{key:?}"), "SigningKey(log.example, secret)");
    let cosigner = Cosigner::from_seed("witness.example", &SEED).expect("a key");
    assert_eq!(format!("{cosigner:?}"), "Cosigner(witness.example, secret)");
}

#[test]
fn either_key_is_enough_while_one_is_replaced() {
    let keys = [1, 2].map(|seed| SigningKey::from_seed("log.example", &[seed; 32]).expect("a key"));
    let checkpoint = Checkpoint::of("log.example", &Edge::new()).expect("a checkpoint");
    let signed = SignedCheckpoint::sign(checkpoint.clone(), &[&keys[0], &keys[1]]).expect("signed");
    let read = SignedCheckpoint::parse(&signed.to_string()).expect("what was printed");
    for key in &keys {
        let known = [key.verifier_key().clone()];
        assert_eq!(read.verify("log.example", &known), Ok(&checkpoint));
    }
    let other = SigningKey::from_seed("log.example", &[3; 32]).expect("a key");
    let known = [other.verifier_key().clone()];
    assert_eq!(read.verify("log.example", &known), Err(Error::NotSigned));
}

#[test]
fn a_witness_without_a_clock_does_not_sign() {
    let cosigner = Cosigner::from_seed("witness.example", &SEED).expect("a key");
    let checkpoint = Checkpoint::of("log.example", &Edge::new()).expect("a checkpoint");
    for time in [0, 1 << 63] {
        let cosigned = cosigner.cosign(&checkpoint, time);
        assert_eq!(cosigned, Err(Error::TimestampOutOfRange));
    }
}

#[test]
fn a_note_that_could_not_be_read_is_not_made() {
    let key = SigningKey::from_seed("log.example", &SEED).expect("a key");
    let signed = |text: &str| Note::new(text.to_owned(), vec![key.sign(text)]);
    assert!(signed("a text\n").is_ok());
    for text in [
        "",
        "no newline",
        "a\ttab\n",
        "ends\n\n— in.example aWRpZCE=",
    ] {
        let refused = signed(text).map_err(|error| error.code());
        assert_eq!(refused, Err("note_malformed"), "{text:?}");
    }
    assert!(Note::new("a text\n".to_owned(), Vec::new()).is_err());
}

#[test]
fn an_origin_is_one_line() {
    let root = Edge::new().root();
    for origin in ["", "two\nlines", "a\ttab"] {
        let made = Checkpoint::new(origin, 0, root).map_err(|error| error.code());
        assert_eq!(made, Err("checkpoint_malformed"), "{origin:?}");
    }
}
