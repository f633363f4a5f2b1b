//! What others call things, in words that an event can hold: for questions that come in the words of other
//! programs. What is said exactly goes into `metadata`.

use super::check::is_action;

/// The longest `action`.
const ACTION_BYTES_MAX: usize = 128;

/// A name as an `action`: as it is if it is one, otherwise in this area, with `_` for what no action has.
pub fn action(area: &str, name: &str) -> String {
    if is_action(name) {
        return name.to_owned();
    }
    in_area(area, [name])
}

/// An `action` of this area, with a segment for each of these names and `_` for what no action has.
pub fn in_area<'a>(area: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let plain = |letter: char| if is_plain(letter) { letter } else { '_' };
    let mut action = area.to_owned();
    for name in names {
        action.push('.');
        let before = action.len();
        action.extend(name.chars().map(plain));
        if action.len() == before {
            action.push('_');
        }
    }
    action.truncate(ACTION_BYTES_MAX);
    // Not cut right behind a dot.
    if action.ends_with('.') {
        action.pop();
    }
    action
}

/// A text of at most this many characters, none of them NUL; `None` if it is empty.
pub fn text(text: &str, chars_max: usize) -> Option<String> {
    let not_nul = |letter| if letter == '\0' { '\u{fffd}' } else { letter };
    let short: String = text.chars().take(chars_max).map(not_nul).collect();
    (!short.is_empty()).then_some(short)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_others_become_actions() {
        for (name, expected) in [
            ("payments.refund", "payments.refund"),
            ("can_read", "access.can_read"),
            ("document:read", "access.document_read"),
            ("a..b", "access.a__b"),
            ("", "access._"),
            ("é", "access._"),
        ] {
            assert_eq!(action("access", name), expected);
        }
        assert_eq!(
            in_area("mcp", ["github", "create issue"]),
            "mcp.github.create_issue"
        );
    }

    proptest! {
        #[test]
        fn every_name_becomes_an_action(name: String, more: Vec<String>) {
            prop_assert!(is_action(&action("access", &name)));
            let names = [&name].into_iter().chain(&more).map(String::as_str);
            let dotted = in_area("mcp", names);
            prop_assert!(is_action(&dotted), "{}", dotted);
        }

        #[test]
        fn every_text_becomes_one_that_an_event_can_hold(given: String, chars_max in 1_usize..20) {
            match text(&given, chars_max) {
                Some(short) => prop_assert!(super::super::check::is_short(&short, chars_max)),
                None => prop_assert!(given.is_empty()),
            }
        }
    }
}
