//! From what Cedar says of each policy to one verdict.
//!
//! In this order: a forbid denies. A policy that fails denies, because we cannot know what it would have
//! said. Without either, what no permit allows is denied. What is left is allowed, with the changes that
//! permits oblige to (`modify`), or, if a forbid asks for a person, `escalate`: but only if it would be
//! allowed with approval, so that nobody is asked in vain.

use cedar_policy::{Context, Entities, EntityUid, Request, RequestValidationError};
use domain::Timestamp;
use serde_json::Value;

use crate::{
    annotations::Annotations,
    cedar_request::{CedarRequest, entities_of},
    cost::COST_MAX,
    evaluate::Questioner,
    obligation,
    server_context::Beside,
    set::{PolicySet, Ready},
    unrecorded_inputs::Looks,
    verdict::{Decided, Effect, Failed, TOLD_MAX, Verdict, shorten},
    visible_fields::Sees,
};

impl PolicySet {
    /// Answers at a time, which policies see as `context.server.now`. `is_approved`: a person has approved this very
    /// question, so policies that only ask for that are satisfied.
    pub fn decide_at(
        &self,
        now: Timestamp,
        asked: &CedarRequest,
        payload: Option<&Value>,
        is_approved: bool,
    ) -> Decided {
        let payload = Payload::Known(payload);
        self.judged(asked, Some(now), payload, is_approved)
    }

    /// The same without a clock: a policy that asks for the time fails.
    pub fn decide(
        &self,
        asked: &CedarRequest,
        payload: Option<&Value>,
        is_approved: bool,
    ) -> Decided {
        self.judged(asked, None, Payload::Known(payload), is_approved)
    }

    /// Answers a question that was asked then and whose payload is not known any more: what must be
    /// changed in it counts as changed. Policies that look at it cannot be asked again ([`Self::look_at`]).
    pub fn decide_again(
        &self,
        then: Timestamp,
        asked: &CedarRequest,
        is_approved: bool,
    ) -> Decided {
        self.judged(asked, Some(then), Payload::Unknown, is_approved)
    }

    /// What this question costs: how many steps its policies may take for each of its bytes.
    pub fn cost_of(&self, asked: &CedarRequest) -> usize {
        let actions = self.actions_of(asked);
        actions.map_or(0, |actions| self.slices.cost(&asked.principal, actions))
    }

    /// What the answer to this question depends on beside it. With a schema that is all that is declared, whatever policies
    /// look at: a question that does not fit is denied.
    pub fn look_at(&self, asked: &CedarRequest) -> Looks {
        match &self.vocabulary {
            None => self.slices.look_at(&asked.principal, &asked.actions),
            Some(known) => {
                let action = known.actions.get(&asked.action);
                action.map(|action| action.sees.looks()).unwrap_or_default()
            }
        }
    }

    /// The action and the groups that it is in; `None` if the question is refused before any policy is asked.
    fn actions_of<'a>(&'a self, asked: &'a CedarRequest) -> Option<&'a [EntityUid]> {
        match &self.vocabulary {
            None => Some(&asked.actions),
            Some(known) => Some(&known.actions.get(&asked.action)?.names),
        }
    }

    fn judged(
        &self,
        asked: &CedarRequest,
        now: Option<Timestamp>,
        payload: Payload<'_>,
        is_approved: bool,
    ) -> Decided {
        // Only a version from before there was a bound can have such questions.
        let cost = if self.cost() > COST_MAX {
            self.cost_of(asked)
        } else {
            0
        };
        if cost > COST_MAX {
            return Decided {
                errors: vec![Failed {
                    id: String::new(),
                    error: format!(
                        "these policies cost {cost} for this question, and the limit is {COST_MAX}"
                    ),
                }],
                ..Decided::deny(
                    "The policies would take too long to evaluate, so this is denied; see `errors`.",
                )
            };
        }
        let beside = Beside {
            now,
            payload: payload.known(),
        };
        match self.ask(asked, beside) {
            Ok(said) => said.judge(payload, is_approved),
            Err(error) => Decided {
                errors: vec![Failed {
                    id: String::new(),
                    error: shorten(&error),
                }],
                ..Decided::deny(
                    "The question does not fit the schema of these policies; see `errors`.",
                )
            },
        }
    }

    /// What the policies say, or why the question is none that they could be asked.
    fn ask(&self, asked: &CedarRequest, beside: Beside<'_>) -> Result<Said<'_>, String> {
        let Some(vocabulary) = &self.vocabulary else {
            let looks = self.slices.look_at(&asked.principal, &asked.actions);
            let context = beside.context(asked, &Sees::all_of(looks))?;
            let request = request(asked, context, None)?;
            return Ok(self.said(asked, &request, &asked.actions, &asked.entities));
        };
        let action = vocabulary
            .actions
            .get(&asked.action)
            .ok_or("The schema does not define this action.")?;
        let context = beside.context(asked, &action.sees)?;
        let request = request(asked, context, Some(&vocabulary.schema))?;
        if !asked.parties.is_empty() {
            Entities::from_entities(asked.parties.iter().cloned(), Some(&vocabulary.schema))
                .map_err(|error| with_sources(&error))?;
        }
        let known = asked.parties.iter().chain([&action.entity]).cloned();
        let entities = entities_of(known).map_err(|error| with_sources(&*error))?;
        Ok(self.said(asked, &request, &action.names, &entities))
    }

    /// What those policies say that can apply to an action in these groups.
    fn said(
        &self,
        asked: &CedarRequest,
        request: &Request,
        actions: &[EntityUid],
        entities: &Entities,
    ) -> Said<'_> {
        let mut said = Said::default();
        let questioner = Questioner::new(request, entities);
        for place in self.slices.policies(&asked.principal, actions) {
            let Ready { condition, terms } = &self.policies[place];
            match questioner.holds(condition) {
                Ok(true) => said.satisfied.push(terms),
                Ok(false) => {}
                Err(error) => said.failed.push(Failed {
                    id: terms.id().to_owned(),
                    error: shorten(&error),
                }),
            }
        }
        said
    }
}

/// What an agent is about to send.
#[derive(Clone, Copy)]
enum Payload<'p> {
    Known(Option<&'p Value>),
    Unknown,
}

impl<'p> Payload<'p> {
    fn known(self) -> Option<&'p Value> {
        match self {
            Self::Known(payload) => payload,
            Self::Unknown => None,
        }
    }
}

/// The policies that apply and those that failed, in the order of their ids.
#[derive(Default)]
struct Said<'a> {
    satisfied: Vec<&'a Annotations>,
    failed: Vec<Failed>,
}

impl Said<'_> {
    fn judge(self, payload: Payload<'_>, is_approved: bool) -> Decided {
        let forbids = |is_escalating| {
            let forbids = self.satisfied.iter().copied();
            forbids.filter(move |terms| {
                terms.told.effect == Effect::Forbid && terms.is_escalating == is_escalating
            })
        };
        let plain: Vec<&Annotations> = forbids(false).collect();
        let asking: Vec<&Annotations> = forbids(true).filter(|_| !is_approved).collect();
        let mut decided = if !plain.is_empty() {
            Decided::by(Verdict::Deny, &plain, "A policy forbids this.")
        } else if !self.failed.is_empty() {
            Decided::deny("A policy could not be evaluated, so this is denied; see `errors`.")
        } else {
            let permitted = self.permitted(payload);
            match (permitted.verdict, asking.is_empty()) {
                (_, true) => permitted,
                (Verdict::Deny, false) => Decided {
                    reason: format!("{} Nobody is asked to approve it.", permitted.reason),
                    ..permitted
                },
                _ => Decided {
                    if_approved: permitted.modified_payload,
                    ..Decided::by(
                        Verdict::Escalate,
                        &asking,
                        "A policy asks for a person's approval.",
                    )
                },
            }
        };
        decided.errors_left_out = self.failed.len().saturating_sub(TOLD_MAX);
        decided.errors = self.failed;
        decided.errors.truncate(TOLD_MAX);
        decided
    }

    /// What would be answered if nothing forbade.
    fn permitted(&self, payload: Payload<'_>) -> Decided {
        let permits = self.satisfied.iter().copied();
        let permits: Vec<&Annotations> = permits
            .filter(|terms| terms.told.effect == Effect::Permit)
            .collect();
        if permits.is_empty() {
            return Decided::deny("No policy permits this.");
        }
        let obliging: Vec<&Annotations> = permits
            .iter()
            .copied()
            .filter(|terms| terms.obligation.is_some())
            .collect();
        if obliging.is_empty() {
            return Decided::by(Verdict::Allow, &permits, "A policy permits this.");
        }
        let modified = match payload {
            Payload::Known(payload) => modified(&obliging, payload).map(Some),
            Payload::Unknown => Ok(None),
        };
        match modified {
            Ok(modified_payload) => Decided {
                modified_payload,
                ..Decided::by(
                    Verdict::Modify,
                    &obliging,
                    "A policy permits this with a modified payload.",
                )
            },
            Err(reason) => Decided {
                reason,
                ..Decided::by(Verdict::Deny, &obliging, "")
            },
        }
    }
}

/// The payload with the changes of all policies, in the order of their ids.
fn modified(obliging: &[&Annotations], payload: Option<&Value>) -> Result<Value, String> {
    let Some(payload) = payload else {
        return Err("This is permitted only with a modified payload, and there is no payload. Send `payload`.".to_owned());
    };
    let mut modified = payload.clone();
    for terms in obliging {
        let Some(obligation) = &terms.obligation else {
            continue;
        };
        obligation.apply(&mut modified).map_err(|error| {
            shorten(&format!(
                "The payload cannot be modified as the policy `{}` requires: {error}.",
                terms.id()
            ))
        })?;
    }
    if obligation::fits(&modified) {
        Ok(modified)
    } else {
        Err(format!(
            "The modified payload would be longer than {} bytes.",
            obligation::MODIFIED_BYTES_MAX
        ))
    }
}

fn request(
    asked: &CedarRequest,
    context: Context,
    schema: Option<&cedar_policy::Schema>,
) -> Result<Request, String> {
    let request = Request::new(
        asked.principal.clone(),
        asked.action.clone(),
        asked.resource.clone(),
        context,
        schema,
    );
    request.map_err(|error| match error {
        // Cedar quotes the context and does not say what is wrong with it.
        RequestValidationError::InvalidContext(_) => format!(
            "the context does not have the members and types that the schema requires for {}",
            asked.action
        ),
        error => with_sources(&error),
    })
}

/// An error with what caused it, in a line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        told = format!("{told}: {error}");
        source = error.source();
    }
    told
}
