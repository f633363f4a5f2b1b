//! The glossary is kept: no file, folder or type is named by a word that it retired.

use super::tree::{File, Tree};
use super::{Finding, OWN_EXAMPLES};

const GLOSSARY: &str = "docs/reference/words.md";
const RETIRED: &str = "## Retired words";
/// What comes before the name of a type, in Rust and in TypeScript.
const TYPES: [&str; 7] = [
    "struct",
    "enum",
    "trait",
    "type",
    "union",
    "interface",
    "class",
];

pub(super) fn retired_word(tree: &Tree) -> Vec<Finding> {
    let retired = retired(tree);
    let is_retired = |name: &str| parts(name).into_iter().find(|part| retired.contains(part));
    let mut findings = Vec::new();
    let others = tree.source();
    for file in others.filter(|file| !file.path.starts_with(OWN_EXAMPLES)) {
        let mut names = file.folder().split('/').chain([file.stem()]);
        if let Some(word) = names.find_map(is_retired) {
            findings.push(Finding::in_file(file, say_instead(&word)));
        }
        for (number, line) in file.lines() {
            if let Some(word) = declared_type(line).and_then(is_retired) {
                findings.push(Finding::at_line(file, number, say_instead(&word)));
            }
        }
    }
    findings
}

fn say_instead(word: &str) -> String {
    format!("`{word}` is retired; {GLOSSARY} says what to say instead")
}

/// The words of the last table: `| told, tell | audit event |`.
fn retired(tree: &Tree) -> Vec<String> {
    let glossary = tree.get(GLOSSARY).map_or("", |file: &File| &file.text);
    let Some((_, retired)) = glossary.split_once(RETIRED) else {
        return Vec::new();
    };
    let rows = retired.lines().filter(|line| line.starts_with("| "));
    // The first row is the head of the table.
    let words = rows.skip(1).filter_map(|row| row.split('|').nth(1));
    let words = words.flat_map(|words| words.split(','));
    words.map(|word| word.trim().to_owned()).collect()
}

fn declared_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    words.by_ref().take(3).find(|word| TYPES.contains(word))?;
    let name = words.next()?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    Some(&name[..end.unwrap_or(name.len())])
}

/// `TailQuery` and `tail_query` are `tail` and `query`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if letter.is_uppercase() && was_lower || !letter.is_alphanumeric() {
            parts.push(String::new());
        }
        was_lower = letter.is_lowercase();
        if letter.is_alphanumeric() {
            let part = parts.last_mut().expect("there is one");
            part.extend(letter.to_lowercase());
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_retired_word_names_no_file_folder_or_type() {
        let glossary = "# Words\n\n| told | not here |\n\n## Retired words\n\n| word | say instead |\n|---|---|\n| told, tell | publish |\n";
        let found = places(
            retired_word,
            &[
                (GLOSSARY, glossary),
                ("a/src/tell.rs", ""),
                ("a/src/tell/mod.rs", ""),
                ("a/src/intelligence.rs", "struct Retold;\nlet told = 1;\n"),
                (
                    "a/src/rules.rs",
                    "/// One.\npub(crate) struct RuleTold<'a> {\n",
                ),
                ("console/src/list.ts", "export interface Told {\n"),
            ],
        );
        let expected = [
            "a/src/tell.rs",
            "a/src/tell/mod.rs",
            "a/src/rules.rs:2",
            "console/src/list.ts:1",
        ];
        assert_eq!(found, expected);
    }
}
