//! The policies of a set that can apply to a question: found by its action and its principal, which
//! most policies name in their scope.
//!
//! A policy is filed in a bucket for what its scope names. A question is put to the buckets of its own
//! names and to those of policies that name none; what is left out could neither apply nor fail,
//! because Cedar looks at the scope before anything else. Every bucket is ready to be asked, so there
//! is nothing to make and nothing to lock when a question comes, and no more buckets than names in the
//! policies.

use std::collections::HashMap;

use cedar_policy::{
    ActionConstraint, Authorizer, Effect, Entities, EntityUid, Policy, PrincipalConstraint,
    Request, Response,
};

use crate::{
    cedar_request::action_and_groups, set::Named, unrecorded_inputs::Looks, vocabulary::Vocabulary,
};

/// How many actions the scopes of a set may name together; each is a place where a policy is filed, and
/// takes about a kilobyte.
pub const ACTIONS_MAX: usize = 10_000;

/// All policies of a set, filed.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    anybody: ByAction,
    /// Policies about one principal.
    somebody: HashMap<EntityUid, ByAction>,
}

#[derive(Debug, Default)]
struct ByAction {
    anything: Bucket,
    /// By an action, or a group of them.
    something: HashMap<EntityUid, Bucket>,
}

/// Cedar tells the policies that decided and no others: not what is permitted if something forbids.
/// We must know both, so permits and forbids are asked apart.
#[derive(Debug, Default)]
struct Bucket {
    /// What its policies cost together.
    cost: usize,
    /// What they look at beside the question.
    looks: Looks,
    permits: Option<cedar_policy::PolicySet>,
    forbids: Option<cedar_policy::PolicySet>,
}

impl Slices {
    /// Files a policy. Its id must be new.
    pub fn add(&mut self, named: &Named) {
        let policy = &named.policy;
        let by_action = match principal_of(policy) {
            Some(principal) => self.somebody.entry(principal).or_default(),
            None => &mut self.anybody,
        };
        match actions_of(policy) {
            None => by_action.anything.add(named),
            Some(actions) => {
                for action in actions {
                    by_action.something.entry(action).or_default().add(named);
                }
            }
        }
    }

    /// Files a policy as if it could apply to everything.
    pub fn add_unsliced(&mut self, named: &Named) {
        self.anybody.anything.add(named);
    }

    /// What the policies cost that can apply. `actions` is the action and all groups that it is in.
    pub fn cost(&self, principal: &EntityUid, actions: &[EntityUid]) -> usize {
        let principal = self.somebody.get(principal);
        let met = [Some(&self.anybody), principal].into_iter().flatten();
        met.map(|by_action| by_action.cost(actions)).sum()
    }

    /// What the policies that can apply look at beside the question.
    pub fn look_at(&self, principal: &EntityUid, actions: &[EntityUid]) -> Looks {
        let principal = self.somebody.get(principal);
        let met = [Some(&self.anybody), principal].into_iter().flatten();
        let buckets = met.flat_map(|by_action| by_action.met(actions));
        buckets.fold(Looks::default(), |looks, bucket| looks.and(bucket.looks))
    }

    /// What no question costs more than.
    pub fn cost_max(&self, vocabulary: Option<&Vocabulary>) -> usize {
        let dearest = |by_action: &ByAction| match vocabulary {
            Some(known) => known
                .actions
                .values()
                .map(|action| by_action.cost(&action.names))
                .max()
                .unwrap_or(0),
            None => by_action
                .something
                .keys()
                .map(|action| by_action.cost(&action_and_groups(action.id().unescaped())))
                .max()
                .unwrap_or(by_action.anything.cost),
        };
        let somebody = self.somebody.values().map(dearest).max();
        dearest(&self.anybody) + somebody.unwrap_or(0)
    }

    /// How many policies are filed, those in several places as often.
    pub fn places(&self) -> usize {
        let all = std::iter::once(&self.anybody).chain(self.somebody.values());
        all.flat_map(|by_action| {
            std::iter::once(&by_action.anything).chain(by_action.something.values())
        })
        .map(Bucket::len)
        .sum()
    }

    /// What Cedar says of the policies that can apply. `actions` is the action and all groups that it
    /// is in.
    pub fn ask(
        &self,
        request: &Request,
        actions: &[EntityUid],
        entities: &Entities,
        mut answer: impl FnMut(&Response),
    ) {
        let authorizer = Authorizer::new();
        let principal = request
            .principal()
            .and_then(|principal| self.somebody.get(principal));
        for by_action in [Some(&self.anybody), principal].into_iter().flatten() {
            for bucket in by_action.met(actions) {
                for policies in [&bucket.permits, &bucket.forbids].into_iter().flatten() {
                    answer(&authorizer.is_authorized(request, policies, entities));
                }
            }
        }
    }
}

impl ByAction {
    /// The policies that can apply to an action in these groups.
    fn met(&self, actions: &[EntityUid]) -> impl Iterator<Item = &Bucket> {
        let named = actions
            .iter()
            .filter_map(|action| self.something.get(action));
        std::iter::once(&self.anything).chain(named)
    }

    fn cost(&self, actions: &[EntityUid]) -> usize {
        self.met(actions).map(|bucket| bucket.cost).sum()
    }
}

impl Bucket {
    fn len(&self) -> usize {
        let sets = [&self.permits, &self.forbids].into_iter().flatten();
        sets.map(cedar_policy::PolicySet::num_of_policies).sum()
    }

    fn add(&mut self, named: &Named) {
        let policy = &named.policy;
        let policies = match policy.effect() {
            Effect::Permit => &mut self.permits,
            Effect::Forbid => &mut self.forbids,
        };
        let policies = policies.get_or_insert_default();
        // A scope may name an action twice; a policy that is there already need not be added.
        if policies.policy(policy.id()).is_none() {
            self.cost += named.cost;
            self.looks = self.looks.and(named.looks);
            // The meaning is shared by all copies; the text, which would be copied, is left behind.
            let added = policies.add(Policy::from(policy.as_ref().clone()));
            added.expect("a policy without slots, whose id is not there yet");
        }
    }
}

/// How many actions and groups a policy names.
pub(crate) fn actions_named(policy: &Policy) -> usize {
    actions_of(policy).map_or(0, |actions| actions.len())
}

/// Whether a policy names neither a principal nor an action, so that every question meets it.
pub(crate) fn is_unsliceable(policy: &Policy) -> bool {
    principal_of(policy).is_none() && actions_of(policy).is_none()
}

/// The one principal that a policy is about. No principal of ours is in a group, so to be in one is to
/// be it.
fn principal_of(policy: &Policy) -> Option<EntityUid> {
    match policy.principal_constraint() {
        PrincipalConstraint::Eq(principal)
        | PrincipalConstraint::In(principal)
        | PrincipalConstraint::IsIn(_, principal) => Some(principal),
        PrincipalConstraint::Any | PrincipalConstraint::Is(_) => None,
    }
}

/// The actions and groups that a policy is about.
fn actions_of(policy: &Policy) -> Option<Vec<EntityUid>> {
    match policy.action_constraint() {
        ActionConstraint::Any => None,
        ActionConstraint::In(actions) => Some(actions),
        ActionConstraint::Eq(action) => Some(vec![action]),
    }
}
