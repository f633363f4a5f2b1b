//! One policy and one question: does its condition hold?
//!
//! Cedar's authorizer asks a whole set, and tells only the policies that its own verdict rests on: not what is permitted
//! if something forbids. We have to know that of each policy, so we ask what the authorizer asks for each of them, the
//! evaluator (docs/adr/0040-policies-are-asked-one-by-one.md). `tests/slices.rs` compares the two.

use cedar_policy::{Entities, Policy, Request};
use cedar_policy_core::{
    ast::{Expr, Literal, SlotEnv, ValueKind},
    evaluator::Evaluator,
    extensions::Extensions,
};

/// Scope and conditions of a policy, as one expression that is put together once.
#[derive(Debug)]
pub(crate) struct Condition(Expr);

impl Condition {
    pub fn of(policy: &Policy) -> Self {
        Self(policy.as_ref().condition())
    }
}

/// Puts one question to any number of policies.
pub(crate) struct Questioner<'e> {
    evaluator: Evaluator<'e>,
    /// Our policies have no slots.
    slots: SlotEnv,
}

impl<'e> Questioner<'e> {
    pub fn new(request: &Request, entities: &'e Entities) -> Self {
        let (request, entities) = (request.as_ref().clone(), entities.as_ref());
        Self {
            evaluator: Evaluator::new(request, entities, Extensions::all_available()),
            slots: SlotEnv::new(),
        }
    }

    /// Whether the policy applies, or why it cannot be evaluated.
    pub fn holds(&self, condition: &Condition) -> Result<bool, String> {
        let value = self.evaluator.interpret(&condition.0, &self.slots);
        match value.map_err(|error| error.to_string())?.value {
            ValueKind::Lit(Literal::Bool(holds)) => Ok(holds),
            _ => unreachable!("its parts are joined by `&&`, which makes a Boolean or fails"),
        }
    }
}
