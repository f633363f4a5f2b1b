//! Signed notes, and keys as text: what is read prints back to the same bytes, and nothing counts as signed but what the key
//! signed.

use transparency_log::{Note, SigningKey, VerifierKey};

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    if let Ok(key) = text.parse::<VerifierKey>() {
        assert_eq!(key.to_string(), text);
    }
    let Ok(note) = Note::parse(text) else {
        return;
    };
    assert_eq!(note.to_string(), text);
    let same = Note::new(note.text().to_owned(), note.signatures().to_vec());
    assert_eq!(same.as_ref(), Ok(&note));

    // The corpus has signatures by this key.
    let key = SigningKey::from_seed("log.example", &[1; 32]).expect("a key");
    let right = key.sign(note.text());
    let known = [key.verifier_key().clone()];
    if note.verify(&known).is_ok() {
        assert!(
            note.signatures().contains(&right),
            "accepted what sign() does not make"
        );
    }
}
