//! What operations are called.

use utoipa::Modify;

/// Names operations by what they do: `list_audit_events`, `get_alert_rule`, `alert_rule_backtest`. The macro names them by
/// their functions, several of which are called `show` or `list`; generators of clients take those for the same operation.
pub(super) struct OperationIds;

impl Modify for OperationIds {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let paths: Vec<String> = openapi.paths.paths.keys().cloned().collect();
        for (path, item) in &mut openapi.paths.paths {
            let of_one = format!("{path}/{{");
            let has_many = paths.iter().any(|other| other.starts_with(&of_one));
            let operations = [
                (if has_many { "list" } else { "get" }, &mut item.get),
                (if has_many { "create" } else { "" }, &mut item.post),
                ("replace", &mut item.put),
                ("update", &mut item.patch),
                ("delete", &mut item.delete),
            ];
            for (verb, operation) in operations {
                if let Some(operation) = operation {
                    operation.operation_id = Some(operation_id(verb, path));
                }
            }
        }
    }
}

/// The verb and the words of the path, each in the singular if one of its kind is meant. What is not to list, get, make
/// or change something has its verb at the end of the path.
fn operation_id(verb: &str, path: &str) -> String {
    let segments: Vec<&str> = path
        .split('/')
        .filter(|one| !matches!(*one, "" | "v1"))
        .collect();
    let mut words = Vec::from_iter((!verb.is_empty()).then(|| verb.to_owned()));
    for (index, segment) in segments.iter().enumerate() {
        let next = segments.get(index + 1);
        let is_one = next.map_or(verb == "create", |next| next.starts_with('{'));
        match segment {
            parameter if parameter.starts_with('{') => {}
            many if is_one => words.push(singular(many)),
            other => words.push((*other).to_owned()),
        }
    }
    let id = words
        .join("_")
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    id.replace("__", "_")
}

fn singular(word: &str) -> String {
    match (word.strip_suffix("ies"), word.strip_suffix('s')) {
        (Some(stem), _) => format!("{stem}y"),
        (None, Some(stem)) => stem.to_owned(),
        (None, None) => word.to_owned(),
    }
}
