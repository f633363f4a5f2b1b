//! A rule about migrations: the version before goes on running on the schema that they make.

use super::Finding;
use super::tree::{File, Tree};

const MIGRATIONS: &str = "crates/store/migrations/";
/// Up to here they make the schema of 0.1.0, before which there was no version.
const LAST_OF_THE_FIRST_RELEASE: u32 = 9;
/// What takes away from those who do not know of it, with what they would miss.
const TAKES_AWAY: [(&str, &str); 7] = [
    ("DROP TABLE", "its table"),
    ("DROP COLUMN", "its column"),
    ("DROP DEFAULT", "the default of what it does not write"),
    ("RENAME ", "the name"),
    ("SET NOT NULL", "that it may leave this out"),
    ("SET DATA TYPE", "the type"),
    (" TYPE ", "the type"),
];
/// Says of a line that no version that may still run has any use for it.
const UNUSED: &str = "-- unused since ";

pub(super) fn contracting_migration(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.under(MIGRATIONS).filter(|file| is_later(file)) {
        for (number, line) in file.lines() {
            if line.contains(UNUSED) {
                continue;
            }
            if let Some(missed) = missed(line.split("--").next().unwrap_or_default()) {
                let message = format!(
                    "the version before would miss {missed}; first release one that does not need it, \
                     then say `{UNUSED}X.Y.Z` here"
                );
                findings.push(Finding::at_line(file, number, message));
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

/// What the version before would miss after this line of SQL.
fn missed(sql: &str) -> Option<&'static str> {
    let sql = sql.to_uppercase();
    let has = |words: &str| sql.contains(words);
    if has("ADD COLUMN") && has("NOT NULL") && !has("DEFAULT") {
        return Some("a default for the column, which it does not write");
    }
    let is_constraint = has("ADD CONSTRAINT") || has("ADD CHECK") || has("ADD FOREIGN KEY");
    if is_constraint && !has("NOT VALID") {
        return Some("its turn while all rows are checked (`NOT VALID`)");
    }
    let found = TAKES_AWAY.iter().find(|(words, _)| has(words));
    found.map(|(_, missed)| *missed)
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn what_the_version_before_would_miss_is_found_and_what_makes_room_is_not() {
        let taking = "ALTER TABLE a DROP COLUMN b;\n\
            ALTER TABLE a RENAME b TO c;\n\
            ALTER TABLE a ADD COLUMN b text NOT NULL;\n\
            ALTER TABLE a ALTER COLUMN b TYPE bigint;\n\
            ALTER TABLE a ADD CONSTRAINT b CHECK (c > 0);\n\
            ALTER TABLE a ALTER COLUMN b SET NOT NULL;\n";
        let making_room = "-- Does not DROP TABLE anything.\n\
            CREATE TABLE a (b text NOT NULL);\n\
            ALTER TABLE a ADD COLUMN b text;\n\
            ALTER TABLE a ADD COLUMN c text NOT NULL DEFAULT '';\n\
            ALTER TABLE a ADD CONSTRAINT d CHECK (c > 0) NOT VALID;\n\
            ALTER TABLE a DROP COLUMN e; -- unused since 0.2.0\n";
        let found = places(
            contracting_migration,
            &[
                ("crates/store/migrations/0009_first.sql", taking),
                ("crates/store/migrations/0010_taking.sql", taking),
                ("crates/store/migrations/0011_room.sql", making_room),
                ("crates/store/migrations/README.md", taking),
            ],
        );
        let all: Vec<_> = (1..=6)
            .map(|line| format!("crates/store/migrations/0010_taking.sql:{line}"))
            .collect();
        assert_eq!(found, all);
    }
}
