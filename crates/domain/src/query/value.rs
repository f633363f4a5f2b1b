//! Reads the values of a term, as its field can hold them; what no event can hold is refused, because
//! it would silently find nothing.

use super::{
    ast::{Range, Test, Value, Wildcard},
    error::{Error, Span},
    fields::{Field, Kind},
    moment::Moment,
};
use crate::{
    EventId, RuleId,
    event::{check, source::SourcePattern},
    nearest::nearest,
    rule::pattern::{STARS_MAX, STRING_BYTES_MAX},
};

/// A value as it was written.
pub(super) struct Written {
    pub text: String,
    pub is_quoted: bool,
    pub span: Span,
}

/// What the value asks of the field; more than one thing where it stands for several words.
pub(super) fn read(field: &Field, written: &Written) -> Result<Vec<Test>, Error> {
    if !written.is_quoted {
        if written.text == "*" {
            return Ok(vec![Test::Exists]);
        }
        refuse_signs_of_others(field, written)?;
    }
    match field.kind {
        Kind::Choice(words) => word(field, words, written).map(|test| vec![test]),
        Kind::Ranked(words) => ranked(field, words, written),
        Kind::Time => range(written, Moment::parse, Moment::start, no_time)
            .map(|range| vec![Test::Time(range)]),
        Kind::Number => range(written, number, |number| number, no_number)
            .map(|range| vec![Test::Number(range)]),
        Kind::Metadata | Kind::Any => anything(written).map(|test| vec![test]),
        Kind::Name { .. }
        | Kind::Action
        | Kind::Source
        | Kind::EventId
        | Kind::RuleId
        | Kind::Text { .. } => text(field, written).map(|test| vec![test]),
    }
}

/// `=` and `!`, which other languages have.
fn refuse_signs_of_others(field: &Field, written: &Written) -> Result<(), Error> {
    let name = field.name;
    if let Some(rest) = written.text.strip_prefix('!') {
        let detail = format!("To leave something out, put a `-` in front: -{name}:{rest}.");
        return Err(Error::new(written.span, detail));
    }
    if let Some(rest) = written.text.strip_prefix('=') {
        let detail = format!("Leave out the `=`: {name}:{rest}.");
        return Err(Error::new(written.span, detail).or_write(rest));
    }
    Ok(())
}

fn word(field: &Field, words: &[&str], written: &Written) -> Result<Test, Error> {
    let text = written.text.as_str();
    if words.contains(&text) {
        return Ok(Test::Is(Value::Text(text.to_owned())));
    }
    let detail = format!("`{}` must be one of {}", field.name, words.join(", "));
    Err(match nearest(text, words.iter().copied()) {
        Some(meant) => {
            let detail = format!("{detail}; did you mean `{meant}`?");
            Error::new(written.span, detail).or_write(meant)
        }
        None => Error::new(written.span, format!("{detail}.")),
    })
}

/// A word, or those above or below it.
fn ranked(field: &Field, words: &[&'static str], written: &Written) -> Result<Vec<Test>, Error> {
    let (sign, rest) = if written.is_quoted {
        ("", written.text.as_str())
    } else {
        sign(&written.text)
    };
    let rest_written = Written {
        text: rest.to_owned(),
        is_quoted: written.is_quoted,
        span: Span::new(written.span.start + sign.len(), written.span.end),
    };
    let test = word(field, words, &rest_written)?;
    let rank = words.iter().position(|word| *word == rest).unwrap_or(0);
    let chosen = match sign {
        ">" => &words[rank + 1..],
        ">=" => &words[rank..],
        "<" => &words[..rank],
        "<=" => &words[..=rank],
        _ => return Ok(vec![test]),
    };
    if chosen.is_empty() {
        let side = if sign == ">" { "above" } else { "below" };
        let detail = format!("Nothing is {side} `{rest}`; did you mean `{sign}={rest}`?");
        return Err(Error::new(written.span, detail).or_write(format!("{sign}={rest}")));
    }
    let is = |word: &&str| Test::Is(Value::Text((*word).to_owned()));
    Ok(chosen.iter().map(is).collect())
}

/// A value, those above or below it, or those between two.
fn range<T: Copy, O: PartialOrd>(
    written: &Written,
    read: impl Fn(&str) -> Option<T>,
    order: impl Fn(T) -> O,
    refusal: impl Fn(&str, Span) -> Error,
) -> Result<Range<T>, Error> {
    let (sign, rest) = sign(&written.text);
    let start = written.span.start + sign.len();
    let one = |text: &str, start: usize| {
        // Inside quotes, an escape would move what follows; the whole is pointed at.
        let span = if written.is_quoted {
            written.span
        } else {
            Span::new(start, start + text.len())
        };
        read(text).ok_or_else(|| refusal(text, span))
    };
    if let (true, Some((low, high))) = (sign.is_empty(), rest.split_once("..")) {
        let (first, last) = (one(low, start)?, one(high, start + low.len() + 2)?);
        if order(first) > order(last) {
            let detail = "The second is before the first; swap them.";
            return Err(Error::new(written.span, detail).or_write(format!("{high}..{low}")));
        }
        return Ok(Range::Within(first, last));
    }
    let value = one(rest, start)?;
    Ok(match sign {
        ">" => Range::Above(value),
        ">=" => Range::From(value),
        "<" => Range::Below(value),
        "<=" => Range::UpTo(value),
        _ => Range::Within(value, value),
    })
}

/// What is in `metadata` may be of any kind; how it is written says which is meant.
fn anything(written: &Written) -> Result<Test, Error> {
    let text = written.text.as_str();
    if text.len() > STRING_BYTES_MAX {
        let detail = format!("A value can be at most {STRING_BYTES_MAX} bytes.");
        return Err(Error::new(written.span, detail));
    }
    if written.is_quoted {
        return Ok(Test::Is(Value::Text(text.to_owned())));
    }
    let ends = text.split_once("..");
    let is_range = ends.is_some_and(|(low, high)| number(low).is_some() && number(high).is_some());
    if is_range || !sign(text).0.is_empty() {
        return range(written, number, |number| number, no_number).map(Test::Number);
    }
    if text.contains('*') {
        return wildcard(written);
    }
    Ok(Test::Is(if reads_as_json(text) {
        Value::Word(text.to_owned())
    } else {
        Value::Text(text.to_owned())
    }))
}

fn text(field: &Field, written: &Written) -> Result<Test, Error> {
    let text = written.text.as_str();
    if !written.is_quoted && !sign(text).0.is_empty() {
        let detail = format!(
            "`{}` has no order, so it cannot be above or below something.",
            field.name
        );
        return Err(Error::new(written.span, detail));
    }
    let (holds, rule) = match field.kind {
        Kind::Name { chars_max } => (
            check::is_name(text, chars_max),
            "a name of a-z, 0-9, _".to_owned(),
        ),
        Kind::Action => (
            check::is_action(text),
            "a dotted name, such as payments.refund or payments.*".to_owned(),
        ),
        Kind::Source => (
            SourcePattern::parse(text).is_ok(),
            "`server`, `key` (any API key), or the id of an API key".to_owned(),
        ),
        Kind::EventId => (
            text.parse::<EventId>().is_ok(),
            format!("an id that starts with `{}_`", EventId::PREFIX),
        ),
        Kind::RuleId => (
            text.parse::<RuleId>().is_ok(),
            format!("an id that starts with `{}_`", RuleId::PREFIX),
        ),
        Kind::Text { chars_max } => (
            check::is_short(text, chars_max),
            format!("a text of 1 to {chars_max} characters"),
        ),
        _ => unreachable!("other kinds are read elsewhere"),
    };
    let can_be_like = matches!(
        field.kind,
        Kind::Name { .. } | Kind::Action | Kind::Text { .. }
    );
    if !written.is_quoted && text.contains('*') && can_be_like {
        if !could_be_like(field.kind, text) {
            let detail = format!("`{}` must be {rule}, with or without `*`.", field.name);
            return Err(Error::new(written.span, detail));
        }
        return wildcard(written);
    }
    if !holds {
        let detail = format!("`{}` must be {rule}.", field.name);
        return Err(Error::new(written.span, detail));
    }
    Ok(Test::Is(Value::Text(text.to_owned())))
}

/// Whether something that the field can hold is like this.
fn could_be_like(kind: Kind, text: &str) -> bool {
    let (chars_max, is_allowed): (usize, fn(char) -> bool) = match kind {
        Kind::Name { chars_max } => (
            chars_max,
            |letter| matches!(letter, 'a'..='z' | '0'..='9' | '_'),
        ),
        Kind::Action => (128, |letter| {
            letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.')
        }),
        Kind::Text { chars_max } => (chars_max, |_| true),
        _ => return false,
    };
    let mut letters = text.chars().filter(|letter| *letter != '*');
    letters.clone().count() <= chars_max && letters.all(is_allowed)
}

fn wildcard(written: &Written) -> Result<Test, Error> {
    let text = &written.text;
    let star_at =
        |place: usize| Span::new(written.span.start + place, written.span.start + place + 1);
    if let Some(place) = text.find("**") {
        let detail = "This `*` follows another; leave it out.";
        return Err(Error::new(star_at(place + 1), detail).or_write(""));
    }
    if let Some((place, _)) = text.match_indices('*').nth(STARS_MAX) {
        let detail = format!("A value can have at most {STARS_MAX} `*`.");
        return Err(Error::new(star_at(place), detail));
    }
    Ok(Test::Like(Wildcard(text.clone())))
}

/// A comparison sign, or none, and what stands behind it.
fn sign(text: &str) -> (&str, &str) {
    let bytes = match text.as_bytes() {
        [b'<' | b'>', b'=', ..] => 2,
        [b'<' | b'>', ..] => 1,
        _ => 0,
    };
    text.split_at(bytes)
}

/// A finite number as people and JSON write it.
pub(super) fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_digit = |letter: char| letter.is_ascii_digit();
    // `007` is a text.
    let has_spare_zero = digits
        .strip_prefix('0')
        .is_some_and(|rest| rest.starts_with(is_digit));
    if has_spare_zero || !digits.starts_with(is_digit) || !digits.ends_with(is_digit) {
        return None;
    }
    let number = text.parse::<f64>().ok()?;
    // Zero has one sign.
    number.is_finite().then_some(number + 0.0)
}

/// Whether it could be something else than a text.
pub(super) fn reads_as_json(text: &str) -> bool {
    matches!(text, "true" | "false" | "null") || number(text).is_some()
}

fn no_number(text: &str, span: Span) -> Error {
    let detail = if text.is_empty() {
        "A number is expected right after the sign, such as >500.".to_owned()
    } else {
        "A number is expected here, such as 500, >500 or 100..500.".to_owned()
    };
    Error::new(span, detail)
}

fn no_time(text: &str, span: Span) -> Error {
    let with_zone = format!("{text}Z");
    if Moment::parse(&with_zone).is_some() {
        let detail = format!("Say in which time zone: for UTC, write {with_zone}.");
        return Error::new(span, detail).or_write(with_zone);
    }
    let detail = "A time is expected here, such as 2026-11-15 or 2026-11-15T09:30Z.";
    Error::new(span, detail)
}
