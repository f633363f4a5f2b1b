//! A view: a search in a list that people keep under a name.
//!
//! The search is kept as the console has it in its address: parameters, each with its values. Only its query is read
//! here, because a query that cannot be read would never find anything; what the rest means is up to whoever opens it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    event::{Filter, filter},
    fault::{Fault, FaultCode, pointer_to},
    query::{self, List},
};

/// The longest name: a line or two of a menu.
pub const NAME_CHARS_MAX: usize = 80;
/// Values of one parameter: as many as a filter takes.
pub const VALUES_MAX: usize = filter::VALUES_MAX;
/// All values together: an address in which a byte may take three, and common proxies take 8 KiB. A query may have 2 KiB.
pub const VALUES_BYTES_MAX: usize = 2 * 1024 + 512;

/// What an address can have beside the filters of its list: the time, either up to now or fixed.
const TIMES: [&str; 3] = ["last", "from", "to"];
/// What an address has at most once.
const ONCE: [&str; 6] = ["last", "from", "to", "q", "filter", "live"];

/// The parameters of a search, each with its values. What is read from the store was parsed before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Search(BTreeMap<String, Vec<String>>);

impl Search {
    /// A search in a list, or everything that is wrong with it.
    pub fn parse(list: List, given: BTreeMap<String, Vec<String>>) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        for (name, values) in &given {
            let pointer = format!("/search{}", pointer_to(name));
            if let Some(fault) = fault(list, name, values) {
                faults.push(fault.under(&pointer));
            }
        }
        let bytes: usize = given.values().flatten().map(String::len).sum();
        if bytes > VALUES_BYTES_MAX {
            let detail = format!("A search can have at most {VALUES_BYTES_MAX} bytes of values.");
            faults.push(Fault::new(FaultCode::FieldTooLong, "/search", detail));
        }
        if faults.is_empty() {
            Ok(Self(given))
        } else {
            Err(faults)
        }
    }
}

/// What the address of a list can have.
fn parameters(list: List) -> impl Iterator<Item = &'static str> {
    let (filters, others): (&[&str], &[&str]) = match list {
        List::Events => (Filter::FIELDS, &["live", "hide"]),
        List::Decisions => (&["agent_id", "action", "result", "q", "filter"], &[]),
        List::Deliveries => (
            &[
                "state",
                "rule_id",
                "url",
                "event_type",
                "cause",
                "reason",
                "event_id",
                "filter",
            ],
            &[],
        ),
    };
    let filters = filters.iter().filter(|name| !TIMES.contains(name));
    filters.chain(others).chain(&TIMES).copied()
}

/// What is wrong with a parameter, if anything is; the pointer is from the parameter on.
fn fault(list: List, name: &str, values: &[String]) -> Option<Fault> {
    if parameters(list).all(|known| known != name) {
        let known: Vec<&str> = parameters(list).collect();
        let detail = format!(
            "A search in {} has no such parameter; it has {}.",
            list.as_str(),
            known.join(", ")
        );
        return Some(Fault::new(FaultCode::FieldUnknown, "", detail));
    }
    let most = if ONCE.contains(&name) { 1 } else { VALUES_MAX };
    if values.len() > most {
        let values = if most == 1 { "value" } else { "values" };
        let detail = format!("`{name}` can have at most {most} {values}.");
        return Some(Fault::invalid("", detail));
    }
    for (place, value) in values.iter().enumerate() {
        let pointer = format!("/{place}");
        if value.is_empty() || value.contains('\0') {
            let detail = "A value must have characters, none of them NUL.";
            return Some(Fault::invalid(pointer, detail));
        }
        if name == "filter"
            && let Err(error) = query::parse(list, value)
        {
            return Some(Fault::of_query(pointer, value, &error));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(list: List, given: &[(&str, &[&str])]) -> Result<Search, Vec<String>> {
        let owned = |(name, values): &(&str, &[&str])| {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            ((*name).to_owned(), values)
        };
        let pointers = |faults: Vec<Fault>| faults.into_iter().map(|fault| fault.pointer).collect();
        Search::parse(list, given.iter().map(owned).collect()).map_err(pointers)
    }

    #[test]
    fn every_filter_of_events_can_be_kept_with_its_times_and_columns() {
        let filters = Filter::FIELDS.iter().map(|&name| match name {
            "filter" => (name, &["result:denied -severity:low"] as &[&str]),
            _ => (name, &["x"] as &[&str]),
        });
        let others: [(&str, &[&str]); 3] = [
            ("last", &["7d"]),
            ("live", &["1"]),
            ("hide", &["severity", "source"]),
        ];
        let given: Vec<_> = filters.chain(others).collect();
        assert!(parsed(List::Events, &given).is_ok());
    }

    #[test]
    fn what_a_list_does_not_have_is_refused_where_it_stands() {
        let long = "0123456789".repeat(300);
        let cases: [(List, &str, &[&str], &str); 13] = [
            (List::Events, "state", &["failed"], "/search/state"),
            (List::Events, "event", &["evt_x"], "/search/event"),
            (List::Decisions, "severity", &["high"], "/search/severity"),
            (List::Deliveries, "q", &["x"], "/search/q"),
            (List::Deliveries, "a/b", &["x"], "/search/a~1b"),
            (List::Events, "filter", &["result:"], "/search/filter/0"),
            (List::Events, "filter", &["nope:x"], "/search/filter/0"),
            (List::Events, "filter", &["a", "b"], "/search/filter"),
            (List::Events, "last", &["1h", "7d"], "/search/last"),
            (List::Events, "result", &["x"; 21], "/search/result"),
            (List::Events, "result", &["x", ""], "/search/result/1"),
            (List::Events, "result", &["\0"], "/search/result/0"),
            (List::Events, "result", &[long.as_str()], "/search"),
        ];
        for (list, name, values, pointer) in cases {
            let refused = parsed(list, &[(name, values)]);
            assert_eq!(refused, Err(vec![pointer.to_owned()]), "{list:?} {name}");
        }
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let given: [(&str, &[&str]); 3] = [("nope", &[]), ("result", &["denied"]), ("to", &[""])];
        let refused = parsed(List::Events, &given);
        let pointers = ["/search/nope", "/search/to/0"].map(str::to_owned);
        assert_eq!(refused, Err(pointers.to_vec()));
    }
}
