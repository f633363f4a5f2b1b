//! The tools that a server offers, as it lists them.

use serde_json::{Map, Value};

use super::json;

/// A page of a list of tools.
#[derive(Debug)]
pub struct Tools<'a> {
    items: &'a [Value],
    /// Whether there are more pages.
    pub goes_on: bool,
}

/// What a model reads of a tool, and by which it is known: what changes beside it (icons, `_meta`) changes nothing that it does.
const KNOWN_BY: [&str; 6] = [
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

    /// The name of each, and what makes it the tool that it is; without a name it is none.
    pub fn definitions(&self) -> impl Iterator<Item = (&'a str, Value)> {
        self.items.iter().map(|tool| {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let parts = KNOWN_BY.into_iter().filter_map(|part| {
                let value = tool.get(part)?;
                Some((part.to_owned(), value.clone()))
            });
            (name, Value::Object(parts.collect::<Map<_, _>>()))
        })
    }
}

/// An answer that lists tools, without those in these places. None if it is no such answer.
pub fn without_tools(message: &[u8], hidden: &[usize]) -> Option<Vec<u8>> {
    let mut message = json::read(message).ok()?;
    let tools = message.get_mut("result")?.get_mut("tools")?;
    let mut place = 0;
    tools.as_array_mut()?.retain(|_| {
        place += 1;
        !hidden.contains(&(place - 1))
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
        assert!(Tools::of(&json!({"tools": {}})).is_none());
    }

    #[test]
    fn a_list_loses_what_is_hidden_and_nothing_else() {
        let list = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [1, 2, 3], "ttlMs": 5}});
        let without = without_tools(list.to_string().as_bytes(), &[0, 2]).expect("a list");
        let without: Value = serde_json::from_slice(&without).expect("JSON");
        let expected = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [2], "ttlMs": 5}});
        assert_eq!(without, expected);
        assert_eq!(without_tools(b"{}", &[0]), None);
    }
}
