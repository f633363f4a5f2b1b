//! Secrets that we hand out: a session's cookie and the links in mails. Kept only as a hash.

use std::fmt;

use sha2::{Digest, Sha256};

/// 256 bits: nobody guesses one, so a plain hash at rest is enough.
pub const RANDOM_BYTES: usize = 32;
const RANDOM_CHARS: usize = 2 * RANDOM_BYTES;

/// What a secret is for; its first characters say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// The value of a session cookie.
    Session,
    /// What a link in a mail carries.
    Link,
}

/// A secret that we handed out. It has no `Display`, and `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretToken {
    kind: TokenKind,
    text: String,
}

/// The hash under which a token is stored and looked up: lower-case hex of SHA-256 over its text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenHash(String);

impl TokenKind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Session => "wbs_",
            Self::Link => "wbt_",
        }
    }
}

impl SecretToken {
    pub fn new(kind: TokenKind, random: [u8; RANDOM_BYTES]) -> Self {
        let text = format!("{}{}", kind.prefix(), hex::encode(random));
        Self { kind, text }
    }

    /// `None` for anything that was never a token of this kind.
    pub fn parse(kind: TokenKind, text: &str) -> Option<Self> {
        let random = text.strip_prefix(kind.prefix())?;
        let plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (random.len() == RANDOM_CHARS && random.bytes().all(plain)).then(|| Self {
            kind,
            text: text.to_owned(),
        })
    }

    /// The token itself, for the one time it is handed out.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash(hex::encode(Sha256::digest(self.text.as_bytes())))
    }
}

impl TokenHash {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}...", self.kind.prefix())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_token_reads_back_as_written_and_only_as_its_kind(random: [u8; RANDOM_BYTES]) {
            let token = SecretToken::new(TokenKind::Session, random);
            prop_assert_eq!(SecretToken::parse(TokenKind::Link, token.reveal()), None);
            prop_assert_eq!(SecretToken::parse(TokenKind::Session, token.reveal()), Some(token));
        }

        #[test]
        fn no_text_panics(text: String) {
            prop_assert_eq!(SecretToken::parse(TokenKind::Link, &text), None);
            let _ = SecretToken::parse(TokenKind::Link, &format!("wbt_{text}"));
        }
    }

    #[test]
    fn debug_output_hides_the_token() {
        let token = SecretToken::new(TokenKind::Link, [7; RANDOM_BYTES]);
        assert_eq!(format!("{token:?}"), "wbt_...");
    }
}
