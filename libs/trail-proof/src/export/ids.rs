//! Ids as people see them: a prefix that says the kind, and a UUID in Crockford's base32 (`evt_01j9z…`).

use crate::leaf::Kind;

/// Crockford's alphabet: no i, l, o, u, so that ids survive being read aloud.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// 128 bits at five bits a digit.
const DIGITS: usize = 26;

/// What an id names; `None` if the text is no id of an event or an attempt.
pub fn decode(text: &str) -> Option<(Kind, [u8; 16])> {
    let (prefix, digits) = text.split_once('_')?;
    let kind = match prefix {
        "evt" => Kind::Event,
        "att" => Kind::Attempt,
        _ => return None,
    };
    // 26 digits have 130 bits: the first has two that an id has not.
    if digits.len() != DIGITS || digits.as_bytes()[0] > b'7' {
        return None;
    }
    let value = digits.bytes().try_fold(0_u128, |value, digit| {
        let five_bits = ALPHABET.iter().position(|letter| *letter == digit)?;
        Some(value << 5 | five_bits as u128)
    })?;
    Some((kind, value.to_be_bytes()))
}

/// The text of an id.
pub fn encode(kind: Kind, id: [u8; 16]) -> String {
    let prefix = match kind {
        Kind::Event => "evt_",
        Kind::Attempt => "att_",
    };
    let value = u128::from_be_bytes(id);
    let digit = |place: usize| ALPHABET[(value >> (5 * place) & 31) as usize];
    let digits = (0..DIGITS).rev().map(|place| char::from(digit(place)));
    prefix.chars().chain(digits).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_id_reads_back_as_it_was_written(is_event: bool, id: [u8; 16]) {
            let kind = if is_event { Kind::Event } else { Kind::Attempt };
            prop_assert_eq!(decode(&encode(kind, id)), Some((kind, id)));
        }

        #[test]
        fn an_id_has_one_text(digits in "[0-9a-z]{26}") {
            let text = format!("evt_{digits}");
            if let Some((kind, id)) = decode(&text) {
                prop_assert_eq!(encode(kind, id), text);
            }
        }
    }

    #[test]
    fn what_is_no_id_is_not_read() {
        let zeros = "0".repeat(DIGITS);
        assert!(decode(&format!("evt_{zeros}")).is_some());
        for text in [
            format!("rul_{zeros}"),
            format!("evt_8{}", &zeros[1..]),
            format!("evt_u{}", &zeros[1..]),
            format!("evt_{zeros}0"),
            format!("evt_é{}", &zeros[2..]),
            "evt_".to_owned(),
            zeros,
        ] {
            assert_eq!(decode(&text), None, "{text}");
        }
    }
}
