//! An email address: how we compare people, and where their mail goes.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::fault::Fault;

/// RFC 5321 allows no longer path.
const LENGTH_MAX: usize = 254;
/// RFC 5321, 4.5.3.1.1.
const LOCAL_LENGTH_MAX: usize = 64;

/// A plain address, trimmed and lower-cased; a person's data, so `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EmailAddress(String);

impl EmailAddress {
    /// Takes what mail servers take in practice: ASCII, one `@`, a dotted name before it and a host
    /// name after it. No quotes, comments or display names.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (local, host) = text.split_once('@')?;
        let is_sane = text.len() <= LENGTH_MAX
            && local.len() <= LOCAL_LENGTH_MAX
            && dotted(local, is_local_byte)
            && dotted(host, is_host_byte)
            && !host
                .split('.')
                .any(|label| label.starts_with('-') || label.ends_with('-') || label.len() > 63);
        is_sane.then(|| Self(text.to_ascii_lowercase()))
    }

    /// Like [`Self::parse`], with a fault that points at `/email`.
    pub fn parse_field(text: &str) -> Result<Self, Fault> {
        Self::parse(text).ok_or_else(|| {
            Fault::invalid(
                "/email",
                format!(
                    "`email` must be an address such as `ann@example.com`, at most {LENGTH_MAX} characters."
                ),
            )
        })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Stands for the address where nobody should read it, such as in Redis. No secret: whoever
    /// knows the address can tell.
    pub fn digest(&self) -> String {
        hex::encode(Sha256::digest(self.0.as_bytes()))
    }
}

/// Parts between dots, none of them empty.
fn dotted(text: &str, is_allowed: fn(u8) -> bool) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && part.bytes().all(is_allowed))
}

fn is_local_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

impl fmt::Debug for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmailAddress(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_compared_trimmed_and_in_lower_case() {
        let parsed = EmailAddress::parse(" Ann.Lee+watch@Example.COM ");
        assert_eq!(
            parsed.as_ref().map(EmailAddress::as_str),
            Some("ann.lee+watch@example.com")
        );
        assert!(EmailAddress::parse("root@localhost").is_some());
    }

    #[test]
    fn what_is_no_plain_address_is_refused() {
        let long = format!("{}@example.com", "a".repeat(65));
        let longer = format!("a@{}com", "b.".repeat(130));
        for text in [
            "",
            "ann",
            "@example.com",
            "ann@",
            "a@b@c",
            "ann lee@example.com",
            "ann@exa mple.com",
            "Ann <ann@example.com>",
            "\"ann\"@example.com",
            "ann@example..com",
            ".ann@example.com",
            "ann@-example.com",
            "ann@example.com\r\nBcc: eve@example.com",
            "ann\0@example.com",
            "änn@example.com",
            &long,
            &longer,
        ] {
            assert_eq!(EmailAddress::parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_in_its_final_form(text in "[A-Za-z0-9.@+ -]{0,40}") {
            if let Some(email) = EmailAddress::parse(&text) {
                prop_assert_eq!(EmailAddress::parse(email.as_str()), Some(email));
            }
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = EmailAddress::parse(&text);
        }
    }

    #[test]
    fn debug_output_hides_the_address() {
        let email = EmailAddress::parse("ann@example.com").expect("an address");
        assert!(!format!("{email:?}").contains("ann"));
    }
}
