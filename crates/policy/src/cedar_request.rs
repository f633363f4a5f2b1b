//! A question in Cedar's terms.

use std::{collections::HashSet, sync::LazyLock};

use cedar_policy::{
    Entities, Entity, EntityId, EntityTypeName, EntityUid, entities_errors::EntitiesError,
};
use cedar_policy_core::{
    ast::{self, PartialValue},
    entities::{self, NoEntitiesSchema, TCComputation},
    extensions::Extensions,
};
use domain::fault::{Fault, FaultCode};
use serde_json::Value;

use crate::{
    command::Commands,
    payload::seen_bytes,
    question::{ACTION, AGENT, Party, Question, is_type},
    server_context,
    value::{Pairs, Reader},
};

/// Twice what an action of the trail may have; its groups are made from it, so it must have an end.
pub const ACTION_BYTES_MAX: usize = 256;

/// A question in Cedar's terms, made once however many sets are asked.
#[derive(Clone, Debug)]
pub struct CedarRequest {
    pub(crate) principal: EntityUid,
    pub(crate) action: EntityUid,
    pub(crate) resource: EntityUid,
    /// What the asker says of the circumstances; what is beside it is added for each set (`beside.rs`).
    pub(crate) context: Pairs,
    /// The shell commands in it.
    pub(crate) commands: Commands,
    /// Who is asked about, as far as more than a name is known of them.
    pub(crate) parties: Vec<Entity>,
    /// The action and the groups that its name says it is in, for sets without a schema.
    pub(crate) actions: Vec<EntityUid>,
    /// The parties and the action in its groups, for sets without a schema.
    pub(crate) entities: Entities,
}

impl CedarRequest {
    /// A question as somebody asks it: what only the server says (`context.server`, `context.payload`) must not be in
    /// it.
    pub fn by_somebody(question: &Question) -> Result<Self, Vec<Fault>> {
        let faults = server_context::faults(&question.context);
        if faults.is_empty() {
            Self::new(question)
        } else {
            Err(faults)
        }
    }

    /// How many bytes policies see beside the question, at the most: of the payload, and of the commands in both.
    pub fn seen_bytes_with(&self, payload: Option<&Value>) -> usize {
        let commands = self.commands.with_payload(payload).seen_bytes();
        commands + payload.map_or(0, seen_bytes)
    }

    /// Whether the payload tells of commands that the question itself does not.
    pub fn has_commands_in(&self, payload: Option<&Value>) -> bool {
        payload.is_some() && self.commands.with_payload(payload).seen() != self.commands.seen()
    }

    /// What has no meaning in Cedar is refused, never left out: a policy must not be passed because
    /// something was dropped. The pointers of faults are those of a [`Question`].
    pub fn new(question: &Question) -> Result<Self, Vec<Fault>> {
        let mut reader = Reader::default();
        let context = reader.pairs(&question.context, "/context");
        let principal = entity_of(&question.principal, "/principal", &mut reader);
        let resource = entity_of(&question.resource, "/resource", &mut reader);
        if let Some(fault) = fault_of_action(&question.action) {
            reader.faults.push(fault);
        }
        let (Some(principal), Some(resource), true) =
            (principal, resource, reader.faults.is_empty())
        else {
            return Err(reader.faults);
        };

        let actions = action_and_groups(&question.action);
        let mut parties = Vec::new();
        for party in [&principal, &resource] {
            parties.extend(party.entity());
        }
        let groups = actions[1..].iter().cloned().collect();
        let action = Entity::new_no_attrs(actions[0].clone(), groups);
        let known = parties.iter().cloned().chain([action]);
        let entities = entities_of(known).map_err(|_same_name| {
            let detail = "The principal and the resource have the same type and id, but different \
                          properties. Give both the same properties, or leave them out of one.";
            vec![Fault::invalid("/resource/properties", detail)]
        })?;
        Ok(Self {
            principal: principal.uid,
            action: actions[0].clone(),
            resource: resource.uid,
            context,
            commands: Commands::of_question(question),
            parties,
            actions,
            entities,
        })
    }
}

/// A party with its attributes, if it has any. Cedar treats one that it knows only by name as one
/// without attributes.
struct Named {
    uid: EntityUid,
    attributes: Option<Pairs>,
}

impl Named {
    fn entity(&self) -> Option<Entity> {
        let attributes = self.attributes.as_ref()?.iter().cloned();
        let attributes = attributes.map(|(name, value)| (name.into(), PartialValue::Value(value)));
        let (uid, nobody) = (self.uid.clone().into(), HashSet::new);
        let entity =
            ast::Entity::new_with_attr_partial_value(uid, attributes, nobody(), nobody(), []);
        Some(entity.into())
    }
}

/// Entities each of which names all groups that it is in, so that Cedar need not look for the groups of groups.
pub(crate) fn entities_of(
    known: impl IntoIterator<Item = Entity>,
) -> Result<Entities, Box<EntitiesError>> {
    let known = known.into_iter().map(|entity| entity.as_ref().clone());
    let entities = entities::Entities::from_entities(
        known,
        None::<&NoEntitiesSchema>,
        TCComputation::AssumeAlreadyComputed,
        Extensions::all_available(),
    )?;
    Ok(entities.into())
}

fn entity_of(party: &Party, pointer: &str, reader: &mut Reader) -> Option<Named> {
    let attributes = (!party.properties.is_empty())
        .then(|| reader.pairs(&party.properties, &format!("{pointer}/properties")));
    match type_name(&party.kind) {
        Some(name) => Some(Named {
            uid: EntityUid::from_type_name_and_id(name, EntityId::new(&party.id)),
            attributes,
        }),
        None => {
            let detail = "`type` must be an identifier, like `Agent` or `Shop::Order`: letters, digits \
                          and `_`, not beginning with a digit, at most 128 bytes. `Action` and \
                          Cedar's keywords are reserved.";
            reader
                .faults
                .push(Fault::invalid(format!("{pointer}/type"), detail));
            None
        }
    }
}

/// A type by its name. The usual ones are at hand, because Cedar's parser takes microseconds.
pub(crate) fn type_name(text: &str) -> Option<EntityTypeName> {
    static AGENT_TYPE: LazyLock<EntityTypeName> = LazyLock::new(|| known(AGENT));
    static RESOURCE_TYPE: LazyLock<EntityTypeName> = LazyLock::new(|| known("Resource"));
    match text {
        AGENT => Some(AGENT_TYPE.clone()),
        "Resource" => Some(RESOURCE_TYPE.clone()),
        _ => {
            let is_path =
                text.len() <= crate::question::TYPE_BYTES_MAX && text.split("::").all(is_type);
            is_path.then(|| text.parse().ok()).flatten()
        }
    }
}

fn known(text: &str) -> EntityTypeName {
    text.parse().expect("a name of ours is an identifier")
}

fn fault_of_action(action: &str) -> Option<Fault> {
    if action.is_empty() {
        return Some(Fault::required("action"));
    }
    (action.len() > ACTION_BYTES_MAX).then(|| {
        let detail = format!("`action` must be at most {ACTION_BYTES_MAX} bytes.");
        Fault::new(FaultCode::FieldTooLong, "/action", detail)
    })
}

/// The action itself, then the groups that its name says it is in: `payments.refund.partial` is in
/// `payments.refund` and in `payments`.
pub(crate) fn action_and_groups(action: &str) -> Vec<EntityUid> {
    static ACTION_TYPE: LazyLock<EntityTypeName> = LazyLock::new(|| known(ACTION));
    let dots = action.rmatch_indices('.').map(|(at, _)| &action[..at]);
    std::iter::once(action)
        .chain(dots.filter(|group| !group.is_empty()))
        .map(|name| EntityUid::from_type_name_and_id(ACTION_TYPE.clone(), EntityId::new(name)))
        .collect()
}
