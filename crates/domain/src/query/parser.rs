//! Reads a query, term by term.

use super::{
    COST_MAX, TERMS_MAX, TEXT_BYTES_MAX, VALUES_MAX,
    ast::{Condition, Path, Query, Term, Test},
    error::{Error, Span},
    fields::{Field, Kind, List},
    lexer::Lexer,
    value::{self, Written},
};
use crate::{
    event::{check, filter::TEXT_CHARS_MAX},
    rule::pattern::{DEPTH_MAX, STRING_BYTES_MAX},
};

/// Reads a query about these things, or says where it is wrong. An empty text asks for all of them.
pub fn parse(list: List, text: &str) -> Result<Query, Error> {
    // First of all, so that nothing below works on more than that.
    if text.len() > TEXT_BYTES_MAX {
        let detail = format!("A query can be at most {TEXT_BYTES_MAX} bytes.");
        return Err(Error::new(Span::new(0, text.len()), detail));
    }
    if let Some(place) = text.find('\0') {
        let span = Span::new(place, place + 1);
        return Err(Error::new(span, "A query cannot contain NUL.").or_write(""));
    }
    let mut lexer = Lexer::new(text);
    let mut terms: Vec<Term> = Vec::new();
    loop {
        lexer.skip_blanks();
        if lexer.peek().is_none() {
            break;
        }
        let term = term(list, &mut lexer)?;
        if !lexer.is_at_blank_or_end() {
            return Err(not_apart(&lexer));
        }
        if terms.len() == TERMS_MAX {
            let detail = format!("A query can have at most {TERMS_MAX} terms.");
            return Err(Error::new(term.span, detail));
        }
        refuse_second(&terms, &term)?;
        terms.push(term);
    }
    let query = Query { list, terms };
    refuse_dear(&query)?;
    // Escapes and times may take more letters than were written, and what is printed must read back.
    if query.to_string().len() > TEXT_BYTES_MAX {
        let detail = format!("Written out, this query is longer than {TEXT_BYTES_MAX} bytes.");
        return Err(Error::new(Span::new(0, text.len()), detail));
    }
    Ok(query)
}

fn term(list: List, lexer: &mut Lexer<'_>) -> Result<Term, Error> {
    let start = lexer.at();
    let is_negated = lexer.eat('-');
    if lexer.is_at_blank_or_end() {
        let detail = "Put what to leave out right after the `-`: -result:success.";
        return Err(Error::new(lexer.since(start), detail));
    }
    let condition = match lexer.peek() {
        Some('-') => {
            return Err(Error::new(lexer.next_letter(), "One `-` is enough.").or_write(""));
        }
        Some('!') => {
            let detail = "To leave something out, put a `-` in front.";
            return Err(Error::new(lexer.next_letter(), detail).or_write("-"));
        }
        Some('(' | ')' | ',') => return Err(not_apart(lexer)),
        Some('"') => quoted_text(list, lexer)?,
        _ => field_or_text(list, lexer)?,
    };
    Ok(Term {
        is_negated,
        condition,
        span: lexer.since(start),
    })
}

fn quoted_text(list: List, lexer: &mut Lexer<'_>) -> Result<Condition, Error> {
    let start = lexer.at();
    let text = lexer.quoted()?;
    if lexer.peek() == Some(':') {
        let detail = "The name of a field is written without quotes: result:denied.";
        return Err(Error::new(lexer.since(start), detail));
    }
    searched(list, text, lexer.since(start))
}

fn field_or_text(list: List, lexer: &mut Lexer<'_>) -> Result<Condition, Error> {
    let name = name(lexer)?;
    if lexer.peek() == Some(':') {
        let path = path(list, &name)?;
        lexer.eat(':');
        let tests = tests(path.field, lexer)?;
        return Ok(Condition::Field(path, tests));
    }
    if name.has_quotes {
        let detail = "A `:` and a value are expected after the name of a field.";
        return Err(Error::new(Span::at(lexer.at()), detail));
    }
    let word = lexer.read_since(name.span.start);
    refuse_words_of_others(list, word, name.span)?;
    searched(list, word.to_owned(), name.span)
}

/// What may be the name of a field.
struct Name {
    keys: Vec<String>,
    has_quotes: bool,
    span: Span,
}

/// Reads `result`, `metadata.amount` or `metadata."order id".total`, up to what ends it.
fn name(lexer: &mut Lexer<'_>) -> Result<Name, Error> {
    let start = lexer.at();
    let mut keys: Vec<String> = lexer.name().split('.').map(str::to_owned).collect();
    let mut has_quotes = false;
    while lexer.peek() == Some('"') && keys.len() > 1 && keys.last().is_some_and(String::is_empty) {
        keys.pop();
        keys.push(lexer.quoted()?);
        has_quotes = true;
        let place = lexer.at();
        let more = lexer.name();
        match more.strip_prefix('.') {
            Some(more) => keys.extend(more.split('.').map(str::to_owned)),
            None if more.is_empty() => break,
            None => {
                let detail = "A `.` or a `:` is expected after a key in quotes.";
                return Err(Error::new(Span::at(place), detail));
            }
        }
    }
    Ok(Name {
        keys,
        has_quotes,
        span: lexer.since(start),
    })
}

fn path(list: List, name: &Name) -> Result<Path, Error> {
    let (first, keys) = name.keys.split_first().expect("a text has a first part");
    let start = name.span.start;
    if first.is_empty() {
        let detail = "The name of a field is expected here, such as result:denied.";
        return Err(Error::new(Span::at(start), detail));
    }
    let first_span = Span::new(start, start + first.len());
    let field = list
        .field(first)
        .ok_or_else(|| unknown_field(list, first, first_span))?;
    let refusal = |detail: String| Err(Error::new(name.span, detail));
    match field.kind {
        Kind::Metadata if keys.is_empty() => {
            refusal("Name a field in `metadata`: metadata.amount:500.".to_owned())
        }
        Kind::Metadata if keys.iter().any(String::is_empty) => {
            refusal("A key is missing: write metadata.amount or metadata.order.total.".to_owned())
        }
        Kind::Metadata if keys.len() + 1 > DEPTH_MAX => refusal(format!(
            "A field can be at most {DEPTH_MAX} levels deep, including `metadata`."
        )),
        Kind::Metadata if keys.iter().any(|key| key.len() > STRING_BYTES_MAX) => {
            refusal(format!("A key can be at most {STRING_BYTES_MAX} bytes."))
        }
        Kind::Metadata => Ok(Path {
            field,
            keys: keys.to_vec(),
        }),
        _ if !keys.is_empty() => refusal(format!(
            "`{first}` has no fields inside; only `metadata` has."
        )),
        _ => Ok(Path {
            field,
            keys: Vec::new(),
        }),
    }
}

fn unknown_field(list: List, name: &str, span: Span) -> Error {
    let shown: String = name.chars().take(SHOWN_CHARS_MAX).collect();
    let refusal = format!("`{shown}` is not a field of {}", list.one());
    if let Some(meant) = list.meant(name) {
        let detail = format!("{refusal}; did you mean `{meant}`?");
        return Error::new(span, detail).or_write(meant);
    }
    let own = match list {
        List::Events | List::Decisions => {
            format!(
                " If it is your own field, write metadata.{shown}. To search for text with a `:`, put it in quotes."
            )
        }
        List::Deliveries => {
            let names: Vec<&str> = list.fields().iter().map(|field| field.name).collect();
            format!(" Fields: {}.", names.join(", "))
        }
    };
    Error::new(span, format!("{refusal}.{own}"))
}

/// How much of what somebody wrote is repeated to them.
const SHOWN_CHARS_MAX: usize = 64;

fn tests(field: &Field, lexer: &mut Lexer<'_>) -> Result<Vec<Test>, Error> {
    if lexer.is_at_blank_or_end() {
        let detail = format!(
            "A value of `{}` is expected right after the `:`.",
            field.name
        );
        return Err(Error::new(Span::at(lexer.at()), detail));
    }
    let open = lexer.next_letter();
    let mut tests = Vec::new();
    if !lexer.eat('(') {
        add(&mut tests, field, &written(field, lexer)?)?;
        return Ok(tests);
    }
    loop {
        lexer.skip_blanks();
        if lexer.peek().is_none() {
            return Err(Error::new(open, "This `(` is not closed; write a `)`."));
        }
        add(&mut tests, field, &written(field, lexer)?)?;
        lexer.skip_blanks();
        if lexer.eat(')') {
            return Ok(tests);
        }
        if lexer.peek().is_some() && !lexer.eat(',') {
            let detail = "A `,` or a `)` is expected here; put a value that has spaces in quotes.";
            return Err(Error::new(Span::at(lexer.at()), detail));
        }
    }
}

fn written(field: &Field, lexer: &mut Lexer<'_>) -> Result<Written, Error> {
    let start = lexer.at();
    let is_quoted = lexer.peek() == Some('"');
    let text = if is_quoted {
        lexer.quoted()?
    } else {
        lexer.word().to_owned()
    };
    if !is_quoted && text.is_empty() {
        let detail = format!(
            "A value of `{}` is expected here; write {}:(a,b) for alternatives.",
            field.name, field.name
        );
        return Err(Error::new(Span::at(start), detail));
    }
    Ok(Written {
        text,
        is_quoted,
        span: lexer.since(start),
    })
}

fn add(tests: &mut Vec<Test>, field: &Field, written: &Written) -> Result<(), Error> {
    for test in value::read(field, written)? {
        if tests.contains(&test) {
            continue;
        }
        if tests.len() == VALUES_MAX {
            let detail = format!("A term can list at most {VALUES_MAX} values.");
            return Err(Error::new(written.span, detail));
        }
        tests.push(test);
    }
    Ok(())
}

fn searched(list: List, text: String, span: Span) -> Result<Condition, Error> {
    if list == List::Deliveries {
        let detail = "Deliveries have no text to search; name a field, such as state:failed.";
        return Err(Error::new(span, detail));
    }
    if !check::is_short(&text, TEXT_CHARS_MAX) {
        let detail = format!("Text to search for must be 1 to {TEXT_CHARS_MAX} characters.");
        return Err(Error::new(span, detail));
    }
    Ok(Condition::Text(text))
}

/// What would be searched for as text, though it was meant otherwise.
fn refuse_words_of_others(list: List, word: &str, span: Span) -> Result<(), Error> {
    let detail = match word {
        "AND" | "&&" => "Leave this out: all terms must match anyway.",
        "OR" | "||" => {
            "Alternatives are values of one field, as in result:(denied,error); ask once for each if the fields differ."
        }
        "NOT" => "To leave something out, put a `-` in front: -result:success.",
        _ => return refuse_comparison(list, word, span),
    };
    let detail = format!("{detail} To search for this word, put it in quotes.");
    Err(Error::new(span, detail))
}

/// `metadata.amount>500`, `result=denied`, `result!=success`.
fn refuse_comparison(list: List, word: &str, span: Span) -> Result<(), Error> {
    let Some(place) = word.find(['=', '<', '>', '!']) else {
        return Ok(());
    };
    let (name, rest) = word.split_at(place);
    let first = name.split('.').next().unwrap_or_default();
    if list.field(first).is_none() {
        return Ok(());
    }
    let value = rest.trim_start_matches(['=', '!']);
    let minus = if rest.starts_with("!=") { "-" } else { "" };
    let instead = format!("{minus}{name}:{value}");
    let detail = format!(
        "A `:` is expected after the name of a field: write {instead}. To search for this text, put it in quotes."
    );
    Err(Error::new(span, detail).or_write(instead))
}

/// An event has one value of most fields, so two terms that want one each would find nothing.
fn refuse_second(terms: &[Term], term: &Term) -> Result<(), Error> {
    let Some(field) = single_valued(term) else {
        return Ok(());
    };
    if !terms
        .iter()
        .any(|before| single_valued(before) == Some(field))
    {
        return Ok(());
    }
    let detail = format!(
        "`{name}` is asked for twice, and all terms must match; for alternatives, write {name}:(a,b).",
        name = field.name
    );
    Err(Error::new(term.span, detail))
}

/// The field of a term that only one value of it can pass.
fn single_valued(term: &Term) -> Option<&'static Field> {
    match &term.condition {
        Condition::Field(path, _) if !term.is_negated && !path.field.can_hold_twice() => {
            Some(path.field)
        }
        _ => None,
    }
}

fn refuse_dear(query: &Query) -> Result<(), Error> {
    let cost = query.cost();
    let dearest = query.terms.iter().max_by_key(|term| term.cost());
    match dearest {
        Some(dearest) if cost > COST_MAX => {
            let detail = format!(
                "This query takes {cost} cost units, and {COST_MAX} are allowed; this term takes {}. Text to search for \
                 takes 128; a value takes 1, one with `*` 16, and in `metadata` eight times that.",
                dearest.cost()
            );
            Err(Error::new(dearest.span, detail))
        }
        _ => Ok(()),
    }
}

/// Something stands where a blank or the end is expected.
fn not_apart(lexer: &Lexer<'_>) -> Error {
    let detail = match lexer.peek() {
        Some(')') => "This `)` closes nothing.",
        Some('(') => "Parentheses list the values of a field: write result:(denied,error).",
        Some(',') => {
            "A comma separates values in parentheses: write result:(denied,error). To search for a comma, put the text \
             in quotes."
        }
        _ => "A space is expected here, between two terms.",
    };
    Error::new(lexer.next_letter(), detail)
}
