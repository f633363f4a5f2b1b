//! The policies of a set that can apply to a question: found by its action and its principal, which
//! most policies name in their scope.
//!
//! A policy is filed in a bucket for what its scope names. A question meets the buckets of its own
//! names and those of policies that name none; what is left out could neither apply nor fail,
//! because Cedar looks at the scope before anything else. So there is nothing to make and nothing to lock
//! when a question comes, and no more buckets than names in the policies.

use std::collections::HashMap;

use cedar_policy::{ActionConstraint, EntityUid, Policy, PrincipalConstraint};

use crate::{
    cedar_request::action_and_groups, set::Named, unrecorded_inputs::Looks, vocabulary::Vocabulary,
};

/// How many actions the scopes of a set may name together; each is a place where a policy is filed.
pub const ACTIONS_MAX: usize = 10_000;

/// Where a policy stands in its set, whose policies are in the order of their ids.
pub(crate) type Place = usize;

/// The places of all policies of a set, filed.
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

#[derive(Debug, Default)]
struct Bucket {
    /// What its policies cost together.
    cost: usize,
    /// What they look at beside the question.
    looks: Looks,
    /// In ascending order.
    policies: Vec<Place>,
}

impl Slices {
    /// Files a policy, which stands behind all that are filed already.
    pub fn add(&mut self, named: &Named, place: Place) {
        let policy = &named.policy;
        let by_action = match principal_of(policy) {
            Some(principal) => self.somebody.entry(principal).or_default(),
            None => &mut self.anybody,
        };
        match actions_of(policy) {
            None => by_action.anything.add(named, place),
            Some(actions) => {
                for action in actions {
                    let bucket = by_action.something.entry(action).or_default();
                    bucket.add(named, place);
                }
            }
        }
    }

    /// Files a policy as if it could apply to everything.
    pub fn add_unsliced(&mut self, named: &Named, place: Place) {
        self.anybody.anything.add(named, place);
    }

    /// What the policies cost that can apply. `actions` is the action and all groups that it is in.
    pub fn cost(&self, principal: &EntityUid, actions: &[EntityUid]) -> usize {
        let buckets = self.met(principal, actions);
        buckets.map(|bucket| bucket.cost).sum()
    }

    /// What the policies that can apply look at beside the question.
    pub fn look_at(&self, principal: &EntityUid, actions: &[EntityUid]) -> Looks {
        let buckets = self.met(principal, actions);
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
        .map(|bucket| bucket.policies.len())
        .sum()
    }

    /// The policies that can apply, in the order of their ids and each once. `actions` is the action and all groups that it
    /// is in.
    pub fn policies(&self, principal: &EntityUid, actions: &[EntityUid]) -> Vec<Place> {
        let buckets = self.met(principal, actions);
        let mut places: Vec<Place> = buckets
            .flat_map(|bucket| bucket.policies.iter().copied())
            .collect();
        places.sort_unstable();
        // One that names several groups of the action is in as many buckets.
        places.dedup();
        places
    }

    /// The buckets of the policies that can apply.
    fn met<'a>(
        &'a self,
        principal: &EntityUid,
        actions: &'a [EntityUid],
    ) -> impl Iterator<Item = &'a Bucket> {
        let principal = self.somebody.get(principal);
        let met = [Some(&self.anybody), principal].into_iter().flatten();
        met.flat_map(|by_action| by_action.met(actions))
    }
}

impl ByAction {
    /// The policies that can apply to an action in these groups.
    fn met<'a>(&'a self, actions: &'a [EntityUid]) -> impl Iterator<Item = &'a Bucket> {
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
    fn add(&mut self, named: &Named, place: Place) {
        // A scope may name an action twice; a policy that is there already need not be added.
        if self.policies.last() != Some(&place) {
            self.cost += named.cost;
            self.looks = self.looks.and(named.looks);
            self.policies.push(place);
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
