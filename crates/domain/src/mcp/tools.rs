//! The tools that a server offers, as it lists them.

use serde_json::{Map, Value};

/// A page of a list of tools.
#[derive(Debug)]
pub struct Tools<'a> {
    items: &'a [Value],
    /// Whether there are more pages.
    pub goes_on: bool,
}

/// What a model reads of a tool, and by which it is known: what changes beside it (icons, `_meta`) changes nothing that it does.
const FINGERPRINTED: [&str; 6] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
];

impl<'a> Tools<'a> {
    /// The tools in the result of `tools/list`.
    pub fn of(result: &'a Value) -> Option<Self> {
        let Value::Array(items) = result.get("tools")? else {
            return None;
        };
        Some(Self {
            items,
            goes_on: result.get("nextCursor").is_some_and(Value::is_string),
        })
    }

    /// The name of each, and what makes it the tool that it is.
    pub fn definitions(&self) -> impl Iterator<Item = (&'a str, Value)> {
        self.items.iter().filter_map(|tool| {
            let name = tool.get("name")?.as_str()?;
            let parts = FINGERPRINTED.into_iter().filter_map(|part| {
                let value = tool.get(part)?;
                Some((part.to_owned(), value.clone()))
            });
            Some((name, Value::Object(parts.collect::<Map<_, _>>())))
        })
    }
}
