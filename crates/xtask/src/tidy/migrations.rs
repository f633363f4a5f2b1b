//! A rule about migrations: the version before goes on running on the schema that they make.

use super::Finding;
use super::tree::{File, Tree};
use super::versions::leading_version;

const MIGRATIONS: &str = "crates/store/migrations/";
/// Up to here they make the schema of 0.1.0, before which there was no version.
const LAST_OF_THE_FIRST_RELEASE: u32 = 9;
/// Says in a statement that no version that may still run has any use for what it takes away.
const UNUSED: &str = "-- unused since ";

pub(super) fn contracting_migration(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.under(MIGRATIONS).filter(|file| is_later(file)) {
        let statements = statements(file);
        for statement in &statements {
            if let Some(missed) = statement.missed(&statements) {
                let message = format!(
                    "the version before would miss {missed}; first release one that does not need it, \
                     then say `{UNUSED}X.Y.Z` here"
                );
                findings.push(Finding::at_line(file, statement.line, message));
            }
        }
    }
    findings
}

fn is_later(file: &File) -> bool {
    let number = file.name().split('_').next().unwrap_or_default();
    file.extension() == Some("sql")
        && number
            .parse()
            .is_ok_and(|number: u32| number > LAST_OF_THE_FIRST_RELEASE)
}

/// A statement without its comments, in capitals, with one space between words.
#[derive(Default)]
struct Statement {
    line: usize,
    sql: String,
    is_allowed: bool,
}

/// What is written inside of `$$` counts as well.
fn statements(file: &File) -> Vec<Statement> {
    let (mut all, mut current) = (Vec::new(), Statement::default());
    for (number, line) in file.lines() {
        let sql = line.split("--").next().unwrap_or_default();
        let mut pieces = sql.split(';').peekable();
        while let Some(piece) = pieces.next() {
            for word in piece.split_whitespace() {
                if current.sql.is_empty() {
                    current.line = number;
                } else {
                    current.sql.push(' ');
                }
                current.sql.push_str(&word.to_uppercase());
            }
            if pieces.peek().is_some() {
                all.push(std::mem::take(&mut current));
            }
        }
        let is_allowed = line
            .split_once(UNUSED)
            .is_some_and(|(_, version)| leading_version(version).is_some());
        // It may stand behind the end of what it is about.
        if let Some(last) = all.last_mut().filter(|_| is_allowed && sql.contains(';')) {
            last.is_allowed = true;
        } else {
            current.is_allowed |= is_allowed;
        }
    }
    all.push(current);
    all
}

impl Statement {
    /// What the version before would miss after it.
    fn missed(&self, all: &[Self]) -> Option<&'static str> {
        if self.is_allowed {
            return None;
        }
        let sql = self.sql.as_str();
        if let Some(rest) = sql.strip_prefix("CREATE UNIQUE INDEX") {
            let table = rest.split_once(" ON ").map_or(rest, |(_, table)| table);
            let table = table.split(['(', ' ']).next().unwrap_or_default();
            let makes = format!("CREATE TABLE {table} ");
            let is_new = all.iter().any(|one| one.sql.starts_with(&makes));
            return (!is_new).then_some("that it may write the same twice");
        }
        if sql.starts_with("DROP ") && !sql.starts_with("DROP INDEX ") {
            return Some("what is dropped");
        }
        if sql.starts_with("TRUNCATE ") {
            return Some("the rows");
        }
        let (_, actions) = sql.strip_prefix("ALTER ")?.split_once(' ')?;
        actions_of(actions).find_map(missed_by)
    }
}

/// The actions of an `ALTER`, which commas outside of brackets part.
fn actions_of(sql: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    sql.split(move |letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    })
}

/// What the version before would miss after one action, which for the first one begins with the name of the table.
fn missed_by(action: &str) -> Option<&'static str> {
    const VERBS: [&str; 5] = ["ADD", "ALTER", "DROP", "RENAME", "SET"];
    const CONSTRAINTS: [&str; 6] = [
        "CONSTRAINT",
        "CHECK",
        "FOREIGN",
        "UNIQUE",
        "PRIMARY",
        "EXCLUDE",
    ];
    let words: Vec<&str> = action.split_whitespace().collect();
    let start = words.iter().position(|word| VERBS.contains(word))?;
    let mut rest = words[start + 1..].iter().copied();
    let has = |words: &str| action.contains(words);
    match words[start] {
        "RENAME" => Some("the name"),
        "DROP" => (rest.next() != Some("CONSTRAINT")).then_some("its column"),
        "ADD" => match rest.next() {
            Some(word) if CONSTRAINTS.contains(&word) => {
                (!has("NOT VALID")).then_some("its turn while all rows are checked (`NOT VALID`)")
            }
            _ => (has("NOT NULL") && !has("DEFAULT"))
                .then_some("a default for the column, which it does not write"),
        },
        "ALTER" => {
            // ALTER [COLUMN] name …
            let what: Vec<&str> = rest.skip_while(|word| *word == "COLUMN").skip(1).collect();
            match what.as_slice() {
                ["TYPE", ..] | ["SET", "DATA", "TYPE", ..] => Some("the type"),
                ["SET", "NOT", "NULL", ..] => Some("that it may leave this out"),
                ["DROP", "DEFAULT", ..] => Some("the default of what it does not write"),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn what_the_version_before_would_miss_is_found_and_what_makes_room_is_not() {
        let taking = [
            "ALTER TABLE a DROP COLUMN b;",
            "ALTER TABLE a DROP b;",
            "ALTER TABLE a RENAME b TO c;",
            "ALTER TABLE a ADD COLUMN b text NOT NULL;",
            "ALTER TABLE a ADD b text NOT NULL;",
            "ALTER TABLE a ALTER COLUMN b TYPE bigint;",
            "ALTER TABLE a ADD CONSTRAINT b CHECK (c > 0);",
            "ALTER TABLE a ADD UNIQUE (b);",
            "ALTER TABLE a ALTER b SET NOT NULL;",
            "ALTER TABLE a ADD COLUMN b text, DROP COLUMN c;",
            "CREATE UNIQUE INDEX ON a (b);",
            "TRUNCATE a;",
            "DROP VIEW a;",
            "DROP TABLE a; -- unused since then",
        ];
        let making_room = "-- Does not DROP TABLE anything.\n\
            CREATE TABLE a (b text NOT NULL);\n\
            CREATE UNIQUE INDEX ON a (b);\n\
            CREATE TYPE kind AS ENUM ('x');\n\
            ALTER TABLE a ADD COLUMN b text;\n\
            ALTER TABLE a ADD COLUMN type text;\n\
            ALTER TABLE a ADD COLUMN c text NOT NULL DEFAULT '';\n\
            ALTER TABLE a ADD CONSTRAINT d CHECK (c > 0)\n    NOT VALID;\n\
            ALTER TABLE a ALTER COLUMN d DROP NOT NULL;\n\
            ALTER TABLE a DROP COLUMN e; -- unused since 0.2.0\n\
            ALTER TABLE a -- unused since 0.2.0\n    DROP COLUMN e;\n";
        let over_lines = "ALTER TABLE a\n    ADD COLUMN b text\n    NOT NULL;\n";
        let found = places(
            contracting_migration,
            &[
                ("crates/store/migrations/0009_first.sql", &taking.join("\n")),
                (
                    "crates/store/migrations/0010_taking.sql",
                    &taking.join("\n"),
                ),
                ("crates/store/migrations/0011_room.sql", making_room),
                ("crates/store/migrations/0012_lines.sql", over_lines),
                ("crates/store/migrations/README.md", &taking.join("\n")),
            ],
        );
        let taking = (1..=taking.len())
            .map(|line| format!("crates/store/migrations/0010_taking.sql:{line}"));
        let all: Vec<_> = taking
            .chain(["crates/store/migrations/0012_lines.sql:1".to_owned()])
            .collect();
        assert_eq!(found, all);
    }
}
