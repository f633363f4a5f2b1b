//! Texts as literals of SQL, for COPY, which takes no parameters.

use std::fmt::{self, Display, Write as _};

/// Shows a text as a literal that means exactly this text.
///
/// It is of the kind `E'…'`, which PostgreSQL reads in one way, whatever `standard_conforming_strings`
/// says: a quote is doubled, a backslash is doubled, and every other character is itself. The connection
/// speaks UTF-8, in which no character hides one of the two. NUL, which no text of PostgreSQL has and
/// which would end the statement, is written so that PostgreSQL refuses it, as it would as a parameter.
pub(crate) struct Literal<'t>(pub &'t str);

impl Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("E'")?;
        for character in self.0.chars() {
            match character {
                '\'' => f.write_str("''")?,
                '\\' => f.write_str("\\\\")?,
                '\0' => f.write_str("\\000")?,
                other => f.write_char(other)?,
            }
        }
        f.write_char('\'')
    }
}

/// Shows texts as a literal array.
pub(crate) struct Literals<'t, T>(pub &'t [T]);

impl<T: AsRef<str>> Display for Literals<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ARRAY[")?;
        for (number, text) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_char(',')?;
            }
            Literal(text.as_ref()).fmt(f)?;
        }
        // An empty array has no type of its own.
        f.write_str("]::text[]")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_in_a_text_ends_its_literal() {
        for (text, literal) in [
            ("", "E''"),
            ("plain", "E'plain'"),
            ("o'clock", "E'o''clock'"),
            ("'; DROP TABLE x; --", "E'''; DROP TABLE x; --'"),
            ("\\", "E'\\\\'"),
            ("\\'", "E'\\\\'''"),
            ("$$ /* \" */ :x ?", "E'$$ /* \" */ :x ?'"),
            ("ünï\u{2019}\n", "E'ünï\u{2019}\n'"),
            ("\0", "E'\\000'"),
        ] {
            assert_eq!(Literal(text).to_string(), literal, "{text:?}");
        }
        assert_eq!(Literals::<&str>(&[]).to_string(), "ARRAY[]::text[]");
        assert_eq!(
            Literals(&["a", "'"]).to_string(),
            "ARRAY[E'a',E'''']::text[]"
        );
    }

    /// Reads a literal as PostgreSQL does, up to its closing quote, and returns what follows as well.
    fn read(literal: &str) -> Option<(String, &str)> {
        let mut rest = literal.strip_prefix("E'")?.chars();
        let mut text = String::new();
        loop {
            match rest.next()? {
                '\'' => match rest.as_str().strip_prefix('\'') {
                    Some(behind) => {
                        text.push('\'');
                        rest = behind.chars();
                    }
                    None => return Some((text, rest.as_str())),
                },
                '\\' => text.push(rest.next().filter(|next| *next == '\\')?),
                other => text.push(other),
            }
        }
    }

    proptest! {
        #[test]
        fn every_text_reads_back_and_nothing_follows_it(text in "(['\\\\$;-]|[^\0]){0,20}") {
            let literal = Literal(&text).to_string();
            prop_assert_eq!(read(&literal), Some((text, "")));
        }
    }
}
