//! A password as somebody chose it, on its way to the hash.

mod pieces;

use std::fmt;

use super::EmailAddress;
use crate::fault::Fault;
use pieces::fewest_pieces;

/// Long passwords stand up to guessing; which characters they have does not matter (NIST SP 800-63B).
pub const CHARS_MIN: usize = 12;
/// Longer than anybody types; hashing more would be work that a stranger can order.
pub const CHARS_MAX: usize = 128;
/// What is put together from fewer common words, rows and repetitions is among the first that are tried: NIST SP 800-63B
/// asks to refuse what is commonly used. A word and a year are two, and a character that nothing else explains is one.
const PIECES_MIN: usize = 6;

/// A password that may be used. It has no `Display`, and `Debug` hides it.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// A password for the person with this address.
    pub fn parse(text: String, email: &EmailAddress) -> Result<Self, Fault> {
        let words = email.as_str().split(|one: char| !one.is_alphanumeric());
        let words: Vec<&str> = words.collect();
        let password = Self::parse_with(text, &words)?;
        if password.is_address(email) {
            return Err(Fault::invalid(
                "/password",
                "`password` must not be the email address.",
            ));
        }
        Ok(password)
    }

    /// A password for somebody who is not known yet.
    pub fn parse_alone(text: String) -> Result<Self, Fault> {
        Self::parse_with(text, &[])
    }

    fn parse_with(text: String, known: &[&str]) -> Result<Self, Fault> {
        let chars = text.chars().count();
        if !(CHARS_MIN..=CHARS_MAX).contains(&chars) || text.contains('\0') {
            return Err(Fault::invalid(
                "/password",
                format!(
                    "`password` must be {CHARS_MIN} to {CHARS_MAX} characters, none of them NUL."
                ),
            ));
        }
        if fewest_pieces(&text, known) < PIECES_MIN {
            return Err(Fault::invalid(
                "/password",
                "`password` is one of those that attackers try first: common words, names, years, rows of keys and \
                 repetitions. Add something of your own.",
            ));
        }
        Ok(Self(text))
    }

    /// Whether it is nothing but the person's address, which is no secret.
    fn is_address(&self, email: &EmailAddress) -> bool {
        self.0.trim().eq_ignore_ascii_case(email.as_str())
    }

    /// The password itself, for the hash.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Password, Fault> {
        let email = EmailAddress::parse("ann.lee@example.com").expect("an address");
        Password::parse(text.to_owned(), &email)
    }

    #[test]
    fn length_counts_in_characters_and_nothing_else_is_asked_for() {
        for text in [
            "twelve chars",
            "äöü ßéñ ëçø å",
            &"many words ".repeat(12)[..128],
        ] {
            assert!(parsed(text).is_ok(), "{text}");
        }
        for text in ["", "eleven char", &"x".repeat(129), "nul\0 in the middle"] {
            let fault = parsed(text).expect_err(text);
            assert_eq!(fault.pointer, "/password");
            assert!(text.is_empty() || !fault.detail.contains(text));
        }
    }

    #[test]
    fn what_everybody_tries_first_is_no_password() {
        for text in [
            "123456789012",
            "aaaaaaaaaaaa",
            "Password1234",
            "qwertyuiop123",
            "P@ssw0rd2026!",
            "annlee-annlee",
            "watchbell-2026",
        ] {
            let fault = parsed(text).expect_err(text);
            assert_eq!(fault.pointer, "/password");
            assert!(!fault.detail.contains(text));
        }
    }

    #[test]
    fn the_address_is_no_password() {
        assert!(parsed("Ann.Lee@example.com").is_err());
        assert!(parsed("ann.lee@example.com!").is_ok());
    }

    #[test]
    fn debug_output_hides_the_password() {
        let password = parsed("correct horse").expect("a password");
        assert_eq!(format!("{password:?}"), "Password(..)");
    }
}
