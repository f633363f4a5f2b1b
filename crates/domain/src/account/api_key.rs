//! An API key: `wb_live_`, 32 random characters, 6 of checksum. Shown once, kept only as a hash.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A leaked key can be recognized by its first characters, in a log or by a scanner that is told of them.
pub const PREFIX: &str = "wb_live_";
/// 160 bits: nobody guesses one, so a plain hash at rest is enough.
pub const RANDOM_BYTES: usize = 20;
const RANDOM_CHARS: usize = 32;
/// Tells a mistyped key from an unknown one without a look-up.
const CHECKSUM_CHARS: usize = 6;
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// A well-formed key. Its text is a secret: it has no `Display`, and `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// The hash under which a key is stored and looked up: lower-case hex of SHA-256 over its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyHash(String);

impl ApiKey {
    pub fn new(random: [u8; RANDOM_BYTES]) -> Self {
        let random = letters(&random);
        debug_assert_eq!(random.len(), RANDOM_CHARS);
        let checksum = checksum(&random);
        Self(format!("{PREFIX}{random}{checksum}"))
    }

    /// `None` for anything that was never a key of ours.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        if rest.len() != RANDOM_CHARS + CHECKSUM_CHARS || !rest.is_ascii() {
            return None;
        }
        let (random, given) = rest.split_at(RANDOM_CHARS);
        (checksum(random) == given).then(|| Self(text.to_owned()))
    }

    /// The key itself, for the one time it is shown.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Its last characters, by which people tell their keys apart.
    pub fn hint(&self) -> &str {
        const HINT_CHARS: usize = 4;
        &self.0[self.0.len() - HINT_CHARS..]
    }

    pub fn hash(&self) -> KeyHash {
        KeyHash(hex::encode(Sha256::digest(self.0.as_bytes())))
    }
}

impl KeyHash {
    /// A hash that [`KeyHash::as_str`] wrote.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}...")
    }
}

fn checksum(random: &str) -> String {
    let mut letters = letters(&Sha256::digest(random.as_bytes())[..5]);
    letters.truncate(CHECKSUM_CHARS);
    letters
}

/// Five bits a letter; `bytes` is a multiple of five long.
fn letters(bytes: &[u8]) -> String {
    bytes
        .chunks_exact(5)
        .flat_map(|five| {
            let bits = five
                .iter()
                .fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
            (0..8)
                .rev()
                .map(move |place| char::from(ALPHABET[(bits >> (5 * place) & 31) as usize]))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_key_reads_back_as_written(random: [u8; RANDOM_BYTES]) {
            let key = ApiKey::new(random);
            prop_assert_eq!(ApiKey::parse(key.reveal()), Some(key));
        }

        #[test]
        fn a_mistyped_key_is_noticed(random: [u8; RANDOM_BYTES], place in 8usize..46, letter in 0usize..32) {
            let key = ApiKey::new(random);
            let mut text = key.reveal().as_bytes().to_vec();
            prop_assume!(text[place] != ALPHABET[letter]);
            text[place] = ALPHABET[letter];
            prop_assert_eq!(ApiKey::parse(std::str::from_utf8(&text).expect("ascii")), None);
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = ApiKey::parse(&text);
            let _ = ApiKey::parse(&format!("{PREFIX}{text}"));
        }
    }

    #[test]
    fn debug_output_hides_the_key() {
        assert_eq!(
            format!("{:?}", ApiKey::new([7; RANDOM_BYTES])),
            "wb_live_..."
        );
    }
}
