//! Which name somebody meant who wrote another one.

/// A name longer than this is not a slip of the pen; comparing takes the product of both lengths.
const NAME_CHARS_MAX: usize = 64;
/// A name that is the start of a known one is taken for it from this length on.
const START_CHARS_MIN: usize = 3;

/// The known name that is most like the one given, if one is like it at all.
pub(crate) fn nearest<'n>(
    given: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    if given.chars().count() > NAME_CHARS_MAX {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace(['-', ' ', '.'], "_");
    let given = plain(given);
    let slips_max = (given.chars().count() / 3).max(1);
    let closeness = |name: &&str| {
        let name = plain(name);
        let is_start = given.len() >= START_CHARS_MIN && name.starts_with(&given);
        if is_start { 1 } else { slips(&given, &name) }
    };
    known
        .into_iter()
        .map(|name| (closeness(&name), name))
        .filter(|(slips, _)| *slips <= slips_max)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, name)| name)
}

/// How many letters must be put in, left out or replaced to make one of the other.
fn slips(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (column, opposite) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *opposite);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_understood() {
        let known = ["event_type", "agent_id", "action", "latency_ms"];
        let cases = [
            ("event_typ", Some("event_type")),
            ("eventType", Some("event_type")),
            ("event-type", Some("event_type")),
            ("agent", Some("agent_id")),
            ("Action", Some("action")),
            ("acton", Some("action")),
            ("color", None),
            ("", None),
        ];
        for (given, expected) in cases {
            assert_eq!(nearest(given, known), expected, "{given}");
        }
    }
}
