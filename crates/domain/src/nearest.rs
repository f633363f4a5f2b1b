//! The known name that a misspelt one was probably meant to be.

/// A name longer than this is compared with none: the work grows with both lengths.
const NAME_CHARS_MAX: usize = 64;

/// The known name that takes the fewest changes of a character, if those are few beside its length.
pub(crate) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    if name.chars().count() > NAME_CHARS_MAX {
        return None;
    }
    let by_distance = known.iter().map(|known| (distance(name, known), *known));
    let (distance, nearest) = by_distance.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + nearest.len() / 4).then_some(nearest)
}

/// How many characters must be put in, taken out or replaced to make one text of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, character) in one.chars().enumerate() {
        let mut diagonal = index;
        row[0] = index + 1;
        for (column, wanted) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(character != *wanted);
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
    fn a_misspelt_name_finds_what_was_meant_and_another_word_finds_nothing() {
        let known = ["name", "description", "enabled", "match", "url"];
        let cases = [
            ("nmae", Some("name")),
            ("Name", Some("name")),
            ("desciption", Some("description")),
            ("mtch", Some("match")),
            ("enable", Some("enabled")),
            ("colour", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, &known), expected, "{name}");
        }
        assert_eq!(nearest(&"name".repeat(100), &known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
