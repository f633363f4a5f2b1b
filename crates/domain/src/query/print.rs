//! Prints a query in the one way that reads back as the same query.

use std::fmt::{self, Display, Formatter, Write as _};

use super::{
    ast::{Condition, Path, Query, Range, Term, Test, Value},
    fields::Kind,
    value::reads_as_json,
};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (place, term) in self.terms.iter().enumerate() {
            if place > 0 {
                f.write_char(' ')?;
            }
            Display::fmt(term, f)?;
        }
        Ok(())
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_negated {
            f.write_char('-')?;
        }
        match &self.condition {
            Condition::Text(text) if is_plain_text(text) => f.write_str(text),
            Condition::Text(text) => quote(f, text),
            Condition::Field(path, tests) => {
                write!(f, "{path}:")?;
                if let [one] = tests.as_slice() {
                    return print_test(f, path.field.kind, one);
                }
                for (place, test) in tests.iter().enumerate() {
                    f.write_char(if place == 0 { '(' } else { ',' })?;
                    print_test(f, path.field.kind, test)?;
                }
                f.write_char(')')
            }
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.field.name)?;
        for key in &self.keys {
            f.write_char('.')?;
            if key.chars().all(is_plain) {
                f.write_str(key)?;
            } else {
                quote(f, key)?;
            }
        }
        Ok(())
    }
}

fn print_test(f: &mut Formatter<'_>, kind: Kind, test: &Test) -> fmt::Result {
    let may_be_anything = matches!(kind, Kind::Metadata | Kind::Any);
    match test {
        Test::Exists => f.write_char('*'),
        Test::Is(Value::Word(word)) => f.write_str(word),
        Test::Is(Value::Text(text)) => {
            let means_more = may_be_anything && reads_as_json(text);
            if is_plain_value(text) && !means_more {
                f.write_str(text)
            } else {
                quote(f, text)
            }
        }
        Test::Like(wildcard) => f.write_str(wildcard.as_str()),
        // Alone it would be a word, which a text can be too.
        Test::Number(Range::Within(low, high)) if may_be_anything => {
            write!(f, "{}..{}", Number(*low), Number(*high))
        }
        Test::Number(range) => print_range(f, *range, Number),
        Test::Time(range) => print_range(f, *range, |moment| moment),
    }
}

fn print_range<T: PartialEq, P: Display>(
    f: &mut Formatter<'_>,
    range: Range<T>,
    printed: impl Fn(T) -> P,
) -> fmt::Result {
    match range {
        Range::Above(value) => write!(f, ">{}", printed(value)),
        Range::From(value) => write!(f, ">={}", printed(value)),
        Range::Below(value) => write!(f, "<{}", printed(value)),
        Range::UpTo(value) => write!(f, "<={}", printed(value)),
        Range::Within(low, high) if low == high => Display::fmt(&printed(low), f),
        Range::Within(low, high) => write!(f, "{}..{}", printed(low), printed(high)),
    }
}

/// A number as people write it: `500`, not `500.0`, and `1e300`, not three hundred zeros.
struct Number(f64);

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        /// Beyond this, digits are harder to read than powers of ten.
        const DIGITS_MAX: f64 = 1e15;
        if self.0.fract() == 0.0 && self.0.abs() < DIGITS_MAX {
            write!(f, "{:.0}", self.0)
        } else {
            write!(f, "{:?}", self.0)
        }
    }
}

fn quote(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let escaped = text.replace('\\', r"\\").replace('"', "\\\"");
    write!(f, "\"{escaped}\"")
}

/// A letter that means nothing but itself, wherever it stands.
fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-')
}

fn is_plain_text(text: &str) -> bool {
    let means_more = matches!(text, "AND" | "OR" | "NOT");
    let may_stand = |letter| is_plain(letter) || matches!(letter, '.' | '/' | '@' | '#' | '+');
    text.starts_with(char::is_alphanumeric) && text.chars().all(may_stand) && !means_more
}

fn is_plain_value(text: &str) -> bool {
    let may_stand =
        |letter| is_plain(letter) || matches!(letter, '.' | '/' | '@' | '#' | '+' | ':');
    !text.is_empty() && text.chars().all(may_stand) && !text.contains("..")
}
