//! Reads JSON in the one spelling that a line may have: no spaces, and nothing escaped that need not be.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::NUMBER_MAX;

/// What is left of a line. Everything returns `None` where the line has something else.
#[derive(Clone, Copy)]
pub(super) struct Json<'l>(&'l str);

impl<'l> Json<'l> {
    /// A line is text.
    pub(super) fn of(line: &'l [u8]) -> Option<Self> {
        std::str::from_utf8(line).ok().map(Self)
    }

    /// Passes over exactly this.
    pub(super) fn skip(&mut self, expected: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    /// Passes over this if it is there, and says whether it was.
    pub(super) fn skipped(&mut self, expected: &str) -> bool {
        self.skip(expected).is_some()
    }

    /// The line ends here.
    pub(super) fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let length = self
            .0
            .bytes()
            .take_while(u8::is_ascii_digit)
            .take(17)
            .count();
        let (digits, rest) = self.0.split_at(length);
        if digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        self.0 = rest;
        digits.parse().ok().filter(|number| *number <= NUMBER_MAX)
    }

    pub(super) fn string(&mut self) -> Option<Cow<'l, str>> {
        self.skip("\"")?;
        let plain = plain_bytes(self.0);
        if self.0.as_bytes().get(plain) == Some(&b'"') {
            let (text, rest) = self.0.split_at(plain);
            self.0 = &rest[1..];
            return Some(Cow::Borrowed(text));
        }
        let mut text = String::with_capacity(self.0.len());
        loop {
            let (plain, rest) = self.0.split_at(plain_bytes(self.0));
            text.push_str(plain);
            self.0 = rest;
            if self.skipped("\"") {
                return Some(Cow::Owned(text));
            }
            text.push(self.escaped()?);
        }
    }

    /// A character that cannot stand for itself.
    fn escaped(&mut self) -> Option<char> {
        self.skip("\\")?;
        let mut rest = self.0.chars();
        let char = match rest.next()? {
            char @ ('"' | '\\') => char,
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'f' => '\u{c}',
            'r' => '\r',
            'u' => {
                let (digits, after) = rest.as_str().split_at_checked(4)?;
                rest = after.chars();
                control(digits)?
            }
            _ => return None,
        };
        self.0 = rest.as_str();
        Some(char)
    }

    /// Strings in brackets, at most `max` of them.
    pub(super) fn strings(&mut self, max: usize) -> Option<Vec<Cow<'l, str>>> {
        self.skip("[")?;
        let mut strings = Vec::new();
        if self.skipped("]") {
            return Some(strings);
        }
        while strings.len() < max {
            strings.push(self.string()?);
            if self.skipped("]") {
                return Some(strings);
            }
            self.skip(",")?;
        }
        None
    }

    /// So many bytes as are wanted, in base64.
    pub(super) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        BASE64.decode(&*self.string()?).ok()?.try_into().ok()
    }

    /// Any number of bytes, in base64.
    pub(super) fn blob(&mut self) -> Option<Vec<u8>> {
        BASE64.decode(&*self.string()?).ok()
    }
}

/// How many bytes stand for themselves.
fn plain_bytes(text: &str) -> usize {
    let special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
    let found = text.bytes().position(special);
    found.unwrap_or(text.len())
}

/// A control character that has no letter, by its four digits.
fn control(digits: &str) -> Option<char> {
    let all_known = digits
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let char = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    let has_letter = matches!(char, '\u{8}' | '\t' | '\n' | '\u{c}' | '\r');
    (all_known && char < ' ' && !has_letter).then_some(char)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn string(line: &str) -> Option<String> {
        let mut json = Json::of(line.as_bytes())?;
        let text = json.string()?;
        json.end()?;
        Some(text.into_owned())
    }

    proptest! {
        #[test]
        fn a_string_has_one_spelling(text: String) {
            let spelled = serde_json::to_string(&text).expect("a text");
            prop_assert_eq!(string(&spelled), Some(text));
        }

        #[test]
        fn what_is_read_is_spelled_as_it_was(inside in r#"([a-zé"/]|\\[a-z"\\/]|\\u00[01][0-9a-fA-F]|[\x00-\x1f])*"#) {
            let line = format!("\"{inside}\"");
            if let Some(text) = string(&line) {
                prop_assert_eq!(serde_json::to_string(&text).expect("a text"), line);
            }
        }
    }

    #[test]
    fn another_spelling_is_not_read() {
        for line in [
            r#""\/""#,
            r#""\u0041""#,
            r#""\u000a""#,
            r#""\u001F""#,
            r#""\ud800""#,
            r#""\u00"#,
            r#""\u+01f""#,
            "\"\t\"",
            "\"",
            "\"a",
            "\"\\",
            "a",
            "",
        ] {
            assert_eq!(string(line), None, "{line}");
        }
        for number in ["", "01", "-1", "9007199254740992", "99999999999999999999"] {
            assert_eq!(Json(number).number(), None, "{number}");
        }
        assert_eq!(Json("9007199254740991").number(), Some(NUMBER_MAX));
    }
}
