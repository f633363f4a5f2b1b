//! What is wrong with a JSON body that could not be read: the fields that it lacks, all at once and each with a pointer,
//! or where reading stopped. Which fields are required is asked of the schema in the API document, so the server and the
//! document agree.

use std::collections::HashMap;

use domain::{
    error_code::ErrorCode,
    fault::{Fault, pointer_to},
};
use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema, schema::ArrayItems},
};

use super::Problem;

/// How much of a parser's complaint is passed on: it may quote all that it complains about.
const REASON_CHARS_MAX: usize = 200;
/// How many missing fields are named: a list of empty objects lacks as many as there is room for.
const FAULTS_MAX: usize = 100;
/// How serde begins the complaint about a field that is not there.
const MISSING: &str = "missing field `";

/// The problem of a body that is not a `T`.
pub(super) fn unreadable<T: ToSchema>(json: &[u8], error: &serde_json::Error) -> Problem {
    let reason: String = error.to_string().chars().take(REASON_CHARS_MAX).collect();
    let missing = reason
        .strip_prefix(MISSING)
        .and_then(|text| text.split('`').next());
    let Some(first) = missing else {
        let detail = format!("The body could not be read: {reason}.");
        return Problem::new(ErrorCode::InvalidBody, detail);
    };
    let body = serde_json::from_slice(json).unwrap_or_default();
    let mut faults = missing_of::<T>(&body);
    if faults.is_empty() {
        faults.push(Fault::required(first));
    }
    Problem::invalid(faults)
}

fn missing_of<T: ToSchema>(body: &Value) -> Vec<Fault> {
    let mut named = Vec::new();
    T::schemas(&mut named);
    let mut search = Search {
        named: named.into_iter().collect(),
        faults: Vec::new(),
    };
    search.look(&T::schema(), body, "");
    search.faults.truncate(FAULTS_MAX);
    search.faults
}

struct Search {
    /// The schemas that others refer to.
    named: HashMap<String, RefOr<Schema>>,
    faults: Vec<Fault>,
}

impl Search {
    fn look(&mut self, schema: &RefOr<Schema>, value: &Value, pointer: &str) {
        if self.faults.len() >= FAULTS_MAX {
            return;
        }
        match (schema, value) {
            (RefOr::Ref(reference), _) => {
                let name = reference.ref_location.rsplit('/').next();
                if let Some(schema) = name.and_then(|name| self.named.get(name)).cloned() {
                    self.look(&schema, value, pointer);
                }
            }
            (RefOr::T(Schema::Object(object)), Value::Object(fields)) => {
                let lacks = |name: &&String| !fields.contains_key(*name);
                let missing = object.required.iter().filter(lacks);
                let faults = missing.map(|name| Fault::required(name).under(pointer));
                self.faults.extend(faults);
                for (name, schema) in &object.properties {
                    if let Some(value) = fields.get(name) {
                        self.look(schema, value, &format!("{pointer}{}", pointer_to(name)));
                    }
                }
            }
            (RefOr::T(Schema::Array(array)), Value::Array(items)) => {
                if let ArrayItems::RefOrSchema(schema) = &array.items {
                    for (index, item) in items.iter().enumerate() {
                        self.look(schema, item, &format!("{pointer}/{index}"));
                    }
                }
            }
            (RefOr::T(Schema::AllOf(all)), _) => {
                for schema in &all.items {
                    self.look(schema, value, pointer);
                }
            }
            // What may be null is described as one of two. Of several others it is not known which one is meant.
            (RefOr::T(Schema::OneOf(one)), Value::Object(_)) => {
                let mut references = one
                    .items
                    .iter()
                    .filter(|item| matches!(item, RefOr::Ref(_)));
                if let (Some(only), None) = (references.next(), references.next()) {
                    self.look(only, value, pointer);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, ToSchema)]
    #[expect(dead_code, reason = "is only read")]
    struct Outer {
        name: String,
        note: Option<String>,
        one: Inner,
        #[serde(default)]
        many: Vec<Inner>,
        maybe: Option<Inner>,
    }

    #[derive(Debug, Deserialize, ToSchema)]
    #[expect(dead_code, reason = "is only read")]
    struct Inner {
        #[serde(rename = "a/b")]
        first: u32,
        second: u32,
    }

    fn problem(body: &Value) -> Problem {
        let json = body.to_string();
        let error = serde_json::from_str::<Outer>(&json).expect_err("something is wrong");
        unreadable::<Outer>(json.as_bytes(), &error)
    }

    #[test]
    fn every_missing_field_is_named_wherever_it_stands() {
        let inner = json!({"a/b": 1, "second": 2});
        let cases = [
            (json!({}), vec!["/name", "/one"]),
            (
                json!({"name": "a", "one": {}}),
                vec!["/one/a~1b", "/one/second"],
            ),
            (
                json!({"one": inner, "many": [inner, {"second": 1}], "maybe": {"a/b": 1}}),
                vec!["/name", "/many/1/a~1b", "/maybe/second"],
            ),
        ];
        for (body, pointers) in cases {
            let problem = problem(&body);
            assert_eq!(problem.code(), ErrorCode::ValidationFailed, "{body}");
            let found: Vec<&str> = problem.errors().iter().map(|one| &*one.pointer).collect();
            assert_eq!(found, pointers, "{body}");
        }
    }

    #[test]
    fn what_lacks_nothing_and_is_wrong_is_told_as_the_parser_does() {
        for body in [
            json!([]),
            json!({"name": 7}),
            json!({"name": "a", "one": 1}),
        ] {
            assert_eq!(problem(&body).code(), ErrorCode::InvalidBody, "{body}");
        }
    }

    #[test]
    fn not_more_are_named_than_there_is_room_for() {
        let inner = json!({"a/b": 1, "second": 2});
        let body = json!({"name": "a", "one": inner, "many": vec![json!({}); 1_000]});
        assert_eq!(problem(&body).errors().len(), FAULTS_MAX);
    }
}
