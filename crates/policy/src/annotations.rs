//! What a policy says beside its meaning in Cedar: its id, and what its annotations ask for.

use std::collections::BTreeMap;

use cedar_policy::Policy;
use domain::fault::{Fault, FaultCode, pointer_to};

use crate::{
    obligation::Obligation,
    set::Age,
    show::{self, SHOW},
    verdict::{Determining, Effect},
};

/// How long a policy's id may be.
pub const ID_CHARS_MAX: usize = 128;

/// How long a reason may be: a sentence or two that an agent shows to a person.
pub const REASON_CHARS_MAX: usize = 500;

/// How long the annotations of a policy may be together, without its obligation: they are told with
/// every verdict, of up to twenty policies.
pub const ANNOTATIONS_BYTES_MAX: usize = 2000;

/// A policy beside its meaning in Cedar.
#[derive(Debug)]
pub(crate) struct Annotations {
    /// What is told when this policy decides.
    pub told: Determining,
    /// A forbid that a person may lift.
    pub is_escalating: bool,
    /// A permit that holds for another payload only.
    pub obligation: Option<Obligation>,
}

impl Annotations {
    /// `place` tells where the policy stands in the text, for people; `index` its number from 0.
    pub fn read(
        policy: &Policy,
        index: usize,
        age: Age,
        place: &dyn Fn() -> String,
    ) -> Result<Self, Fault> {
        let is_new = age == Age::New;
        let Some(id) = policy.annotation("id") else {
            let detail = format!(
                "The policy at {} has no id. Put @id(\"...\") before it.",
                place()
            );
            return Err(Fault::new(
                FaultCode::FieldRequired,
                format!("/policies/{index}"),
                detail,
            ));
        };
        let is_id =
            (1..=ID_CHARS_MAX).contains(&id.chars().count()) && !id.chars().any(char::is_control);
        if is_new && !is_id {
            let detail = format!(
                "The @id at {} must be 1 to {ID_CHARS_MAX} characters.",
                place()
            );
            return Err(Fault::invalid(format!("/policies/{index}"), detail));
        }
        let fault = |detail: &str| {
            Fault::invalid(
                format!("/policies{}", pointer_to(id)),
                format!("{detail} ({})", place()),
            )
        };
        let effect = match policy.effect() {
            cedar_policy::Effect::Permit => Effect::Permit,
            cedar_policy::Effect::Forbid => Effect::Forbid,
        };
        let is_escalating = match (policy.annotation("verdict"), effect) {
            (None, _) | (Some("deny"), Effect::Forbid) => false,
            (Some("escalate"), Effect::Forbid) => true,
            (Some(_), Effect::Forbid) => {
                return Err(fault("@verdict must be \"escalate\" or \"deny\"."));
            }
            (Some(_), Effect::Permit) => {
                return Err(fault(
                    "@verdict is only allowed on a forbid. Remove it, or forbid what a person must approve.",
                ));
            }
        };
        if let Some(text) = policy.annotation(SHOW).filter(|_| is_new) {
            if !is_escalating {
                return Err(fault(
                    "@show is only allowed with @verdict(\"escalate\"): it says what a person sees of a request.",
                ));
            }
            if let Some(detail) = show::fault(text) {
                return Err(fault(&detail));
            }
        }
        let obligation = match (policy.annotation("obligation"), effect) {
            (None, _) => None,
            (Some(_), Effect::Forbid) => {
                return Err(fault(
                    "@obligation is only allowed on a permit: it says with what change something is allowed.",
                ));
            }
            (Some(text), Effect::Permit) => {
                Some(Obligation::read(text).map_err(|detail| fault(&detail))?)
            }
        };
        if policy
            .annotation("reason")
            .is_some_and(|reason| is_new && reason.chars().count() > REASON_CHARS_MAX)
        {
            return Err(fault(&format!(
                "@reason may have at most {REASON_CHARS_MAX} characters."
            )));
        }
        let annotations: BTreeMap<String, String> = policy
            .annotations()
            .filter(|(name, _)| !matches!(*name, "id" | "obligation"))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let bytes: usize = annotations
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        if is_new && bytes > ANNOTATIONS_BYTES_MAX {
            return Err(fault(&format!(
                "The annotations may have at most {ANNOTATIONS_BYTES_MAX} bytes in total."
            )));
        }
        Ok(Self {
            told: Determining {
                id: id.to_owned(),
                effect,
                annotations,
            },
            is_escalating,
            obligation,
        })
    }

    pub fn id(&self) -> &str {
        &self.told.id
    }

    pub fn reason(&self) -> Option<&str> {
        let reason = self.told.annotations.get("reason").map(String::as_str);
        reason.filter(|reason| !reason.trim().is_empty())
    }
}
