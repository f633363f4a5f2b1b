//! The tools that a server offers, as it lists them.

use serde_json::{Map, Value};

use super::json::{self, SameName};

/// A page of a list of tools.
#[derive(Debug)]
pub struct Tools<'a> {
    items: &'a [Value],
    /// Whether there are more pages.
    pub goes_on: bool,
}

/// What changes nothing that a tool does, or that a model reads of it. By all the rest it is known, also by what this revision has no
/// name for.
const BESIDE: [&str; 2] = ["icons", "_meta"];

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

    /// The name of each, and what makes it the tool that it is; without a name it is none.
    pub fn definitions(&self) -> impl Iterator<Item = (&'a str, Value)> {
        self.items.iter().map(|tool| {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let parts = tool.as_object().into_iter().flatten();
            let parts = parts.filter(|(part, _)| !BESIDE.contains(&part.as_str()));
            let parts = parts.map(|(part, value)| (part.clone(), value.clone()));
            (name, Value::Object(parts.collect::<Map<_, _>>()))
        })
    }
}

/// An answer that lists tools, without those in places that are hidden. None if it is no such answer.
pub fn without_tools(message: &[u8], is_hidden: impl Fn(usize) -> bool) -> Option<Vec<u8>> {
    let mut message = json::read(message, SameName::AsSpelled).ok()?;
    let tools = message.get_mut("result")?.get_mut("tools")?;
    let mut place = 0;
    tools.as_array_mut()?.retain(|_| {
        place += 1;
        !is_hidden(place - 1)
    });
    Some(message.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_known_by_what_a_model_reads_of_it() {
        let list = |tool: Value| json!({"tools": [tool, {"name": "b"}], "nextCursor": "2"});
        let one = list(json!({"name": "a", "description": "A", "inputSchema": {}, "icons": [1]}));
        let other = list(json!({"name": "a", "description": "A", "inputSchema": {}, "_meta": {}}));
        let changed = list(json!({"name": "a", "description": "B", "inputSchema": {}}));
        let more =
            list(json!({"name": "a", "description": "A", "inputSchema": {}, "Description": "B"}));
        let definitions = |list: &Value| {
            let tools = Tools::of(list).expect("a list");
            assert!(tools.goes_on);
            let definitions = tools.definitions();
            definitions
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Vec<_>>()
        };
        assert_eq!(definitions(&one), definitions(&other));
        assert_ne!(definitions(&one), definitions(&changed));
        assert_ne!(definitions(&one), definitions(&more));
        assert!(Tools::of(&json!({"tools": {}})).is_none());
    }

    #[test]
    fn a_list_loses_what_is_hidden_and_nothing_else() {
        let list = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [1, 2, 3], "ttlMs": 5}});
        let without =
            without_tools(list.to_string().as_bytes(), |place| place != 1).expect("a list");
        let without: Value = serde_json::from_slice(&without).expect("JSON");
        let expected = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [2], "ttlMs": 5}});
        assert_eq!(without, expected);
        assert_eq!(without_tools(b"{}", |_| true), None);
    }
}
