//! A query about events, made ready once for all the events that it judges.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};

use super::{ast::Query, error::Error, fields::List, matcher::Matcher, parser::parse};
use crate::{EventId, event::EventView};

/// A query, the one text that it is printed as, and what judges events by it. Cheap to clone.
#[derive(Clone)]
pub struct EventQuery(Arc<Prepared>);

struct Prepared {
    query: Query,
    printed: String,
    matcher: Matcher,
}

impl EventQuery {
    /// `None` if the text asks for all events.
    pub fn parse(text: &str) -> Result<Option<Self>, Error> {
        parse(List::Events, text).map(Self::of)
    }

    /// `None` if it asks for all events, or for none because it is about deliveries.
    pub(crate) fn of(query: Query) -> Option<Self> {
        if query.terms.is_empty() {
            return None;
        }
        let matcher = Matcher::new(&query)?;
        let printed = query.to_string();
        Some(Self(Arc::new(Prepared {
            query,
            printed,
            matcher,
        })))
    }

    pub fn query(&self) -> &Query {
        &self.0.query
    }

    pub fn as_str(&self) -> &str {
        &self.0.printed
    }

    /// Whether an event, as stored, is asked for.
    pub fn matches(&self, id: EventId, json: &str, event: &EventView<'_>) -> bool {
        self.0.matcher.matches(id, json, event)
    }
}

/// What is printed alike is the same query.
impl PartialEq for EventQuery {
    fn eq(&self, other: &Self) -> bool {
        self.0.printed == other.0.printed
    }
}

impl Eq for EventQuery {}

impl fmt::Debug for EventQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventQuery").field(&self.0.printed).finish()
    }
}

impl Serialize for EventQuery {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.printed)
    }
}
