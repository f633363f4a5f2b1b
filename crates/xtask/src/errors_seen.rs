//! `cargo xtask errors-seen`: which of the error codes in the API document the tests did not provoke. To be read by people:
//! some need an outage or a race that no test makes.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::Context as _;
use serde_json::Value;

/// An operation and a code that it answers.
type Answers = BTreeSet<(String, String)>;

pub(crate) fn list(root: &Path, seen: &Path) -> anyhow::Result<()> {
    let text = fs::read_to_string(root.join("docs/reference/openapi.json"))?;
    let documented = documented(&serde_json::from_str(&text)?);
    let seen = noted(seen)?;
    let missing: Vec<_> = documented.difference(&seen).collect();
    for (operation, code) in &missing {
        println!("{operation} {code}");
    }
    println!("{} of {} were not seen", missing.len(), documented.len());
    for (operation, code) in seen.difference(&documented) {
        println!("not in the document: {operation} {code}");
    }
    Ok(())
}

/// What the servers of a test run noted, a line for each.
fn noted(folder: &Path) -> anyhow::Result<Answers> {
    let mut noted = Answers::new();
    let files = fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))?;
    for file in files {
        let text = fs::read_to_string(file?.path())?;
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        noted.extend(pairs.map(|(operation, code)| (operation.to_owned(), code.to_owned())));
    }
    Ok(noted)
}

fn documented(document: &Value) -> Answers {
    let mut documented = Answers::new();
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(_, path)| path.as_object().into_iter().flatten());
    for (_, operation) in operations {
        let id = operation["operationId"].as_str().unwrap_or_default();
        let responses = operation["responses"].as_object().into_iter().flatten();
        for (_, response) in responses {
            let mut codes = Vec::new();
            collect_codes(document, response, &mut codes);
            documented.extend(codes.into_iter().map(|code| (id.to_owned(), code)));
        }
    }
    documented
}

/// The codes of the problems that a response refers to: each is a problem and, beside it, its code.
fn collect_codes(document: &Value, value: &Value, codes: &mut Vec<String>) {
    if let Some(path) = value["$ref"].as_str() {
        let target = document.pointer(path.trim_start_matches('#'));
        return collect_codes(document, target.unwrap_or(&Value::Null), codes);
    }
    if let Some(code) = value["allOf"][1]["properties"]["code"]["enum"][0].as_str() {
        codes.push(code.to_owned());
        return;
    }
    let schema = &value["content"]["application/problem+json"]["schema"];
    let several = value["oneOf"].as_array().into_iter().flatten();
    for inner in several.chain(Some(schema).filter(|schema| schema.is_object())) {
        collect_codes(document, inner, codes);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_codes_of_an_operation_are_found_behind_its_references() {
        let problem =
            |code: &str| json!({"allOf": [{}, {"properties": {"code": {"enum": [code]}}}]});
        let one = json!({"$ref": "#/components/schemas/A"});
        let both = json!({"oneOf": [one, {"$ref": "#/components/schemas/B"}]});
        let response =
            |schema: Value| json!({"content": {"application/problem+json": {"schema": schema}}});
        let document = json!({
            "paths": {"/x": {"get": {"operationId": "get_x", "responses": {
                "200": {"content": {"application/json": {"schema": one}}},
                "400": {"$ref": "#/components/responses/One"},
                "503": {"$ref": "#/components/responses/Both"},
            }}}},
            "components": {
                "schemas": {"A": problem("A"), "B": problem("B")},
                "responses": {"One": response(one.clone()), "Both": response(both)},
            },
        });
        let found: Vec<_> = documented(&document)
            .into_iter()
            .map(|(_, code)| code)
            .collect();
        assert_eq!(found, ["A", "B"]);
    }
}
