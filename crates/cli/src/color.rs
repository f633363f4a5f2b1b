//! Which words stand out at a terminal: green for what went well, red for what did not, yellow for what waits.
//!
//! `console` leaves colors out where standard output is no terminal or `NO_COLOR` is set.

use console::{StyledObject, style};

/// The columns and names whose values are such words. What people name themselves keeps its color.
const COLORED: [&str; 7] = [
    "after", "before", "met", "outcome", "result", "state", "status",
];

/// A value as it is shown under this name.
pub(crate) fn value(name: &str, text: &str) -> String {
    if COLORED.contains(&name) {
        word(text).to_string()
    } else {
        text.to_owned()
    }
}

/// A word of the API's, or a text that begins with one, such as `failed (exhausted)`.
pub(crate) fn word(text: &str) -> StyledObject<&str> {
    let shown = style(text);
    match text.split([' ', ':', ',']).next().unwrap_or_default() {
        "active" | "allow" | "allowed" | "approved" | "current" | "delivered" | "enabled"
        | "success" | "verified" | "yes" => shown.green(),
        "canceled" | "denied" | "deny" | "disabled" | "dropped" | "error" | "expired"
        | "failed" | "FAILED" | "no" | "REFUSED" | "revoked" | "timed_out" | "violation" => {
            shown.red()
        }
        "escalate" | "escalated" | "held" | "modified" | "modify" | "paused" | "pending"
        | "scheduled" | "shadow" | "snoozed" | "staged" | "suppressed" | "unverified" => {
            shown.yellow()
        }
        _ => shown,
    }
}

/// The name of a column.
pub(crate) fn heading(text: &str) -> String {
    style(text).bold().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_a_word_of_ours_has_a_color() {
        let colored = |text| word(text).force_styling(true).to_string();
        assert_eq!(colored("denied"), "\u{1b}[31mdenied\u{1b}[0m");
        assert_eq!(
            colored("failed (exhausted)"),
            "\u{1b}[31mfailed (exhausted)\u{1b}[0m"
        );
        assert_eq!(colored("something"), "something");
        assert_eq!(value("name", "denied"), "denied");
    }
}
