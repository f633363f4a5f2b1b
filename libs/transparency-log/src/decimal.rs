//! Numbers as C2SP writes them: ASCII digits, no sign, no leading zero.

use crate::tree::SIZE_MAX;

/// `None` unless the text is the one way to write a number up to [`SIZE_MAX`].
pub(crate) fn parse(text: &str) -> Option<u64> {
    let is_canonical = text == "0" || !text.starts_with('0');
    let all_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok()?;
    (is_canonical && all_digits && number <= SIZE_MAX).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_spelling() {
        assert_eq!(parse("0"), Some(0));
        assert_eq!(parse("9223372036854775807"), Some(SIZE_MAX));
        for text in [
            "",
            "00",
            "01",
            "+1",
            "-1",
            " 1",
            "1 ",
            "1_0",
            "１",
            "9223372036854775808",
            "18446744073709551616",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
