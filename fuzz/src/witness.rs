//! What a witness is sent: what is read prints back to the same bytes, and is signed only if it continues what was seen.

use transparency_log::{AddCheckpoint, Hash, SigningKey, witness};

pub(crate) fn check(input: &[u8]) {
    let Ok(body) = str::from_utf8(input) else {
        return;
    };
    if let Ok(size) = witness::parse_conflict(body) {
        assert_eq!(format!("{size}\n"), body);
    }
    let Ok(request) = AddCheckpoint::parse(body) else {
        return;
    };
    assert_eq!(request.to_string(), body);

    let key = SigningKey::from_seed("log.example", &[1; 32]).expect("a key");
    let known = [key.verifier_key().clone()];
    assert_eq!(witness::judge(&request, None, None).status(), 404);
    let unseen = witness::judge(&request, Some(&known), None);
    // Whatever is asked, a tree that the witness did not sign is not continued.
    let seen = witness::Seen {
        size: request.old_size(),
        root: Hash::from_bytes([0; 32]),
    };
    let seen = witness::judge(&request, Some(&known), Some(seen));
    assert_ne!(seen.status(), 200);
    if let witness::Answer::Cosign(next) = unseen {
        assert_eq!(request.old_size(), 0);
        let checkpoint = request.checkpoint().unverified();
        assert_eq!(
            (next.size, next.root),
            (checkpoint.size(), *checkpoint.root())
        );
    }
}
