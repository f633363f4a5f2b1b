//! What questions may be about, if a version says so by a schema.

use std::collections::HashMap;

use cedar_policy::{Entity, EntityUid, Schema, SchemaFragment, ffi::DetailedError};
use domain::fault::Fault;
use serde_json::{Map, Value};

use crate::{
    set::{Age, faults_of},
    visible_fields::Sees,
};

/// How deep the types of a schema may be made of others.
pub const TYPES_DEPTH_MAX: usize = 16;

/// How many types and attributes a schema may have if every name is replaced by what it stands for.
/// Cedar does that, and twenty-five lines that each use the one before twice would be a minute's work.
pub const TYPES_MAX: usize = 20_000;

/// A schema as it was read.
pub(crate) struct Declaration {
    pub schema: Schema,
    /// By action, what policies see beside a question.
    sees: HashMap<String, Sees>,
}

/// A schema, and what we need of it for every question.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    pub schema: Schema,
    /// The actions, each with the groups that it is in.
    pub actions: HashMap<EntityUid, InGroups>,
}

#[derive(Debug)]
pub(crate) struct InGroups {
    pub entity: Entity,
    /// The action itself, and all its groups.
    pub names: Vec<EntityUid>,
    /// What policies about it see beside a question.
    pub sees: Sees,
}

impl Vocabulary {
    pub fn new(declaration: Declaration) -> Result<Self, Vec<Fault>> {
        let Declaration { schema, sees } = declaration;
        let entities = schema.action_entities().map_err(|error| {
            let detail = format!("The actions are not valid: {error}.");
            vec![Fault::invalid("/schema", detail)]
        })?;
        let actions = entities.iter().map(|entity| {
            let uid = entity.uid();
            let groups = entities.ancestors(&uid).into_iter().flatten().cloned();
            let in_groups = InGroups {
                entity: entity.clone(),
                // One within a namespace may have the same name.
                sees: sees.get(uid.id().unescaped()).cloned().unwrap_or_default(),
                names: std::iter::once(uid.clone()).chain(groups).collect(),
            };
            (uid, in_groups)
        });
        let actions = actions.collect();
        Ok(Self { schema, actions })
    }
}

/// Reads a schema, whose length and nesting were looked at before.
pub(crate) fn read(text: &str, age: Age) -> Result<Declaration, Vec<Fault>> {
    let faults = |error: &DetailedError| faults_of(error, "/schema", text);
    let (fragment, _warnings) = SchemaFragment::from_cedarschema_str(text)
        .map_err(|error| faults(&DetailedError::from(&error)))?;
    let json = fragment.clone().to_json_value();
    let json = json.map_err(|error| faults(&DetailedError::from(&error)))?;
    let size = Types::new(&json).size(&json, 0);
    if age == Age::New && size.is_none_or(|size| size.parts > TYPES_MAX) {
        let detail = format!(
            "The types are too large once every name is replaced by what it stands for: they may have at most \
             {TYPES_MAX} parts, be nested at most {TYPES_DEPTH_MAX} deep, and not contain themselves."
        );
        return Err(vec![Fault::invalid("/schema", detail)]);
    }
    let schema: Schema = fragment
        .try_into()
        .map_err(|error: cedar_policy::SchemaError| faults(&DetailedError::from(&error)))?;
    // Cedar has read it, so no type is made of itself.
    let sees = Sees::of_schema(&json);
    Ok(Declaration { schema, sees })
}

/// The named types of a schema, with how large they are once that is known. Names of different
/// namespaces are not told apart: the larger sum is on the safe side.
struct Types<'a> {
    bodies: HashMap<&'a str, Vec<&'a Value>>,
    sizes: HashMap<&'a str, Size>,
}

/// How large a part of a schema is with all it stands for.
#[derive(Clone, Copy, Default)]
struct Size {
    parts: usize,
    /// How many names have to be replaced, one within the other.
    height: usize,
}

impl Size {
    fn add(&mut self, within: Self) {
        self.parts = self.parts.saturating_add(within.parts);
        self.height = self.height.max(within.height);
    }
}

impl<'a> Types<'a> {
    fn new(schema: &'a Value) -> Self {
        let mut bodies: HashMap<&str, Vec<&Value>> = HashMap::new();
        let namespaces = schema.as_object().into_iter().flat_map(Map::values);
        let types = namespaces.filter_map(|namespace| namespace.get("commonTypes")?.as_object());
        for (name, body) in types.flatten() {
            bodies.entry(name).or_default().push(body);
        }
        Self {
            bodies,
            sizes: HashMap::new(),
        }
    }

    /// Nothing if names within names go too deep.
    fn size(&mut self, part: &'a Value, depth: usize) -> Option<Size> {
        let mut size = Size {
            parts: 1,
            height: 0,
        };
        match part {
            Value::String(name) => size.add(self.size_of_type(name, depth)?),
            Value::Array(parts) => {
                for part in parts {
                    size.add(self.size(part, depth)?);
                }
            }
            Value::Object(members) => {
                for part in members.values() {
                    size.add(self.size(part, depth)?);
                }
            }
            _ => {}
        }
        Some(size)
    }

    fn size_of_type(&mut self, name: &str, depth: usize) -> Option<Size> {
        let name = name.rsplit("::").next().unwrap_or(name);
        let Some((&name, bodies)) = self.bodies.get_key_value(name) else {
            return Some(Size::default());
        };
        if let Some(size) = self.sizes.get(name) {
            return Some(*size);
        }
        if depth == TYPES_DEPTH_MAX {
            return None;
        }
        let mut size = Size::default();
        for body in bodies.clone() {
            size.add(self.size(body, depth + 1)?);
        }
        size.height += 1;
        self.sizes.insert(name, size);
        (size.height <= TYPES_DEPTH_MAX).then_some(size)
    }
}
