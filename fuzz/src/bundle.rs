//! Entry bundles of a transparency log: what is read is what would be written, to the byte.

use transparency_log::bundle;

pub(crate) fn check(input: &[u8]) {
    let Ok(entries) = bundle::decode(input) else {
        return;
    };
    assert!((1..=256).contains(&entries.len()));
    let again = bundle::encode(entries.iter().copied());
    assert_eq!(again.as_deref(), Ok(input));
}
