//! How a query could go on where somebody is writing.

use super::{
    error::Span,
    fields::{Field, Kind, List},
};

/// What could stand at a place of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What an offer is written in place of.
    pub replaces: Span,
    pub offers: Vec<Offer>,
    /// What only the organization's data knows, and whoever shows the offers may add.
    pub lookup: Option<Lookup>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub text: String,
    /// What it means.
    pub about: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Values of this field that start so.
    Values { path: String, start: String },
    /// Fields in `metadata` that start so.
    Keys { start: String },
}

/// What could stand where the cursor is, in bytes; what is behind it is not looked at.
pub fn complete(list: List, text: &str, cursor: usize) -> Completion {
    let mut cursor = cursor.min(text.len());
    while !text.is_char_boundary(cursor) {
        cursor -= 1;
    }
    let place = Place::find(&text[..cursor]);
    let typed = &text[place.start..cursor];
    let (offers, lookup) = match place.path {
        _ if place.is_quoted => (Vec::new(), None),
        None => names(list, typed),
        Some(path) => values(list, &text[path.start..path.end], typed),
    };
    Completion {
        replaces: Span::new(place.start, cursor),
        offers,
        lookup,
    }
}

/// Where in a query somebody is writing.
struct Place {
    /// Where the name or value begins.
    start: usize,
    /// The field whose value it is; `None` for a name, or a text.
    path: Option<Span>,
    /// Whether it is in quotes that are not closed.
    is_quoted: bool,
}

impl Place {
    fn find(before: &str) -> Self {
        let mut place = Self {
            start: 0,
            path: None,
            is_quoted: false,
        };
        let (mut in_list, mut is_escaped) = (false, false);
        for (at, letter) in before.char_indices() {
            let behind = at + letter.len_utf8();
            if place.is_quoted {
                place.is_quoted = letter != '"' || is_escaped;
                is_escaped = letter == '\\' && !is_escaped;
                continue;
            }
            match letter {
                '"' => place.is_quoted = true,
                '(' if place.path.is_some() => (in_list, place.start) = (true, behind),
                ',' if in_list => place.start = behind,
                ')' => in_list = false,
                ':' if place.path.is_none() => {
                    place.path = Some(Span::new(place.start, at));
                    place.start = behind;
                }
                // A blank behind a comma comes before the value.
                letter if letter.is_whitespace() && in_list && place.start == at => {
                    place.start = behind;
                }
                letter if letter.is_whitespace() && !in_list => {
                    (place.start, place.path) = (behind, None);
                }
                '-' if place.path.is_none() && place.start == at => place.start = behind,
                _ => {}
            }
        }
        place
    }
}

fn names(list: List, typed: &str) -> (Vec<Offer>, Option<Lookup>) {
    if let Some(start) = typed.strip_prefix("metadata.") {
        let has_metadata = list.field("metadata").is_some();
        let start = start.to_owned();
        return (Vec::new(), has_metadata.then_some(Lookup::Keys { start }));
    }
    let lowered = typed.to_ascii_lowercase();
    let offer = |field: &Field| Offer {
        text: match field.kind {
            Kind::Metadata => format!("{}.", field.name),
            _ => format!("{}:", field.name),
        },
        about: field.about,
    };
    let starts = list
        .fields()
        .iter()
        .filter(|field| field.name.starts_with(&lowered));
    let contains = list
        .fields()
        .iter()
        .filter(|field| !field.name.starts_with(&lowered) && field.name.contains(&lowered));
    (starts.chain(contains).map(offer).collect(), None)
}

fn values(list: List, path: &str, typed: &str) -> (Vec<Offer>, Option<Lookup>) {
    let first = path.split('.').next().unwrap_or_default();
    let Some(field) = list.field(first) else {
        return (Vec::new(), None);
    };
    let offers = |offered: &[(&'static str, &'static str)]| {
        let fitting = offered.iter().filter(|(text, _)| text.starts_with(typed));
        let offer = |(text, about): &(&'static str, &'static str)| Offer {
            text: (*text).to_owned(),
            about,
        };
        fitting.map(offer).collect::<Vec<_>>()
    };
    let words = |words: &[&'static str]| {
        let words: Vec<_> = words.iter().map(|word| (*word, "")).collect();
        offers(&words)
    };
    match field.kind {
        Kind::Choice(choices) => (words(choices), None),
        Kind::Ranked(choices) => {
            let all = [offers(&[(">=", "this or above")]), words(choices)];
            (all.concat(), None)
        }
        Kind::Source => (
            offers(&[("server", "Watchbell itself"), ("key", "any API key")]),
            None,
        ),
        Kind::Time => (
            offers(&[(">=", "then or later"), ("<", "before then")]),
            None,
        ),
        Kind::Number => (
            offers(&[
                (">", "more than"),
                (">=", "this or more"),
                ("<", "less than"),
                ("<=", "this or less"),
            ]),
            None,
        ),
        Kind::Name { .. }
        | Kind::Action
        | Kind::EventId
        | Kind::RuleId
        | Kind::Text { .. }
        | Kind::Metadata
        | Kind::Any => {
            let lookup = Lookup::Values {
                path: path.to_owned(),
                start: typed.to_owned(),
            };
            (Vec::new(), Some(lookup))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is offered where the `|` is, and what it replaces.
    fn offered(list: List, marked: &str) -> (String, Vec<String>, Option<Lookup>) {
        let cursor = marked.find('|').expect("a cursor");
        let text = marked.replace('|', "");
        let completion = complete(list, &text, cursor);
        let replaced = &text[completion.replaces.start..completion.replaces.end];
        let offers = completion.offers.into_iter().map(|offer| offer.text);
        (replaced.to_owned(), offers.collect(), completion.lookup)
    }

    #[test]
    fn names_and_words_are_offered_as_they_are_written() {
        let cases: [(&str, &str, &[&str]); 9] = [
            ("se|", "se", &["severity:", "session_id:"]),
            ("-sev|", "sev", &["severity:"]),
            ("result:denied lat|ency", "lat", &["latency_ms:"]),
            ("severity:h|", "h", &["high"]),
            ("severity:(low, cri|)", "cri", &["critical"]),
            ("severity:(low,cri|", "cri", &["critical"]),
            ("source:|", "", &["server", "key"]),
            ("meta|", "meta", &["metadata."]),
            ("\"sev|", "\"sev", &[]),
        ];
        for (marked, replaced, offers) in cases {
            let found = offered(List::Events, marked);
            assert_eq!(found.0, replaced, "{marked}");
            assert_eq!(found.1, offers, "{marked}");
        }
        let every = offered(List::Deliveries, "state:failed |");
        assert_eq!(every.1.len(), List::Deliveries.fields().len());
    }

    #[test]
    fn what_only_the_data_knows_is_said_to_be_looked_up() {
        let values = |path: &str, start: &str| {
            Some(Lookup::Values {
                path: path.to_owned(),
                start: start.to_owned(),
            })
        };
        let keys = Some(Lookup::Keys {
            start: "am".to_owned(),
        });
        for (marked, lookup) in [
            ("agent_id:bil|", values("agent_id", "bil")),
            ("resource:invoice:1|", values("resource", "invoice:1")),
            ("metadata.am|", keys),
            ("metadata.region:e|", values("metadata.region", "e")),
            ("color:r|", None),
        ] {
            assert_eq!(offered(List::Events, marked).2, lookup, "{marked}");
        }
    }
}
