//! What a schema says that policies see of what is beside a question: with one, they see what it declares and no more.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::{
    server_context::{COMMAND, PAYLOAD, SERVER},
    unrecorded_inputs::Looks,
    vocabulary::TYPES_DEPTH_MAX,
};

/// What the context of an action declares; `None`: policies about it do not look there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sees {
    pub server: Option<Declared>,
    pub payload: Option<Declared>,
}

/// How much of a value is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    /// What is no record: as it is.
    Whole,
    Items(Box<Declared>),
    Members(BTreeMap<String, Declared>),
}

impl Sees {
    /// All of what policies look at, where there is no schema.
    pub fn all_of(looks: Looks) -> Self {
        Self {
            server: looks.server.then_some(Declared::Whole),
            payload: looks.payload.then_some(Declared::Whole),
        }
    }

    /// What a schema, in Cedar's JSON, declares for each of its actions. Those within a namespace are not asked about.
    pub fn of_schema(schema: &Value) -> HashMap<String, Self> {
        let types = Types::new(schema);
        let bare = schema.get("").and_then(|bare| bare.get("actions"));
        let actions = bare.and_then(Value::as_object).into_iter().flatten();
        actions
            .map(|(name, action)| {
                let context = action.pointer("/appliesTo/context");
                let context = context.map(|context| types.declared(context, 0));
                (name.clone(), Self::of_context(context))
            })
            .collect()
    }

    /// What is declared, as far as it may not be on record.
    pub fn looks(&self) -> Looks {
        let server = self.server.as_ref();
        Looks {
            payload: self.payload.is_some(),
            command: server.is_some_and(|server| server.has(COMMAND)),
            server: server.is_some(),
        }
    }

    fn of_context(context: Option<Declared>) -> Self {
        let Some(Declared::Members(mut members)) = context else {
            return Self::default();
        };
        Self {
            server: members.remove(SERVER),
            payload: members.remove(PAYLOAD),
        }
    }
}

impl Declared {
    /// The declared part of a value. What is of another type than declared is left as it is, and refused with the
    /// question.
    pub fn part_of(&self, value: &Value) -> Value {
        match (self, value) {
            (Self::Items(item), Value::Array(values)) => {
                values.iter().map(|value| item.part_of(value)).collect()
            }
            (Self::Members(members), Value::Object(object)) => {
                let declared = members.iter().filter_map(|(name, member)| {
                    let value = object.get(name)?;
                    Some((name.clone(), member.part_of(value)))
                });
                Value::Object(declared.collect())
            }
            _ => value.clone(),
        }
    }

    /// Whether this member is declared.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::Members(members) => members.contains_key(name),
            Self::Whole | Self::Items(_) => true,
        }
    }
}

/// The types of a schema that have a name, by the last part of it.
struct Types<'a>(HashMap<&'a str, Vec<&'a Value>>);

impl<'a> Types<'a> {
    fn new(schema: &'a Value) -> Self {
        let mut types: HashMap<&str, Vec<&Value>> = HashMap::new();
        let namespaces = schema.as_object().into_iter().flat_map(Map::values);
        let named = namespaces.filter_map(|namespace| namespace.get("commonTypes")?.as_object());
        for (name, body) in named.flatten() {
            types.entry(name).or_default().push(body);
        }
        Self(types)
    }

    fn declared(&self, part: &Value, depth: usize) -> Declared {
        let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
        match (kind, part.get("attributes"), part.get("element")) {
            ("Record", attributes, _) => {
                let attributes = attributes.and_then(Value::as_object);
                let members = attributes.into_iter().flatten();
                let members =
                    members.map(|(name, part)| (name.clone(), self.declared(part, depth)));
                Declared::Members(members.collect())
            }
            ("Set", _, Some(element)) => Declared::Items(Box::new(self.declared(element, depth))),
            _ => {
                let name = part.get("name").and_then(Value::as_str).unwrap_or(kind);
                let name = name.rsplit("::").next().unwrap_or(name);
                match self.0.get(name).map(Vec::as_slice) {
                    Some([body]) if depth < TYPES_DEPTH_MAX => self.declared(body, depth + 1),
                    // Of two namespaces, or none at all: not cut, so that Cedar says whether it fits.
                    _ => Declared::Whole,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cedar_policy::SchemaFragment;
    use serde_json::json;

    use super::*;

    fn sees(schema: &str) -> HashMap<String, Sees> {
        let (fragment, _) = SchemaFragment::from_cedarschema_str(schema).expect("a schema");
        Sees::of_schema(&fragment.to_json_value().expect("JSON"))
    }

    #[test]
    fn a_schema_says_which_part_of_the_payload_policies_see() {
        let seen = sees(
            "type Money = { amount: Long, currency?: String };
             entity Agent, Resource;
             action pay appliesTo {
               principal: Agent, resource: Resource,
               context: { note?: String, server: { now: datetime }, payload: { total: Money, lines: Set<Money> } }
             };
             action look appliesTo { principal: Agent, resource: Resource, context: { note?: String } };
             action rest appliesTo { principal: Agent, resource: Resource };
             namespace Other { action pay, rest appliesTo { principal: Agent, resource: Resource, context: { payload: Long } }; }",
        );
        assert_eq!(seen["look"], Sees::default());
        assert_eq!(seen["rest"], Sees::default());
        let server = seen["pay"].server.as_ref().expect("declared");
        assert!(server.has("now") && !server.has("command"));
        let looks = Looks {
            payload: true,
            command: false,
            server: true,
        };
        assert_eq!(seen["pay"].looks(), looks);
        let payload = seen["pay"].payload.as_ref().expect("declared");
        let sent = json!({
            "total": {"amount": 5, "secret": 1}, "lines": [{"amount": 1, "x": 2}], "card": "4111",
        });
        let part = json!({"total": {"amount": 5}, "lines": [{"amount": 1}]});
        assert_eq!(payload.part_of(&sent), part);
        let odd = json!({"total": "5"});
        assert_eq!(
            payload.part_of(&odd),
            odd,
            "Cedar says that it does not fit"
        );
    }
}
