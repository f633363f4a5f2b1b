//! How many long answers of one kind are being sent at a time: exports, backtests, streams, and requests that wait.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use domain::{OrgId, error_code::ErrorCode};

use super::Problem;

/// How many there may be.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub per_org: u32,
    pub per_node: u32,
    /// What they are, in a sentence: "your organization has 2 ... running here".
    pub what: &'static str,
    /// What else one can do than wait.
    pub instead: &'static str,
}

/// The long answers that this node is sending. Cheap to clone.
#[derive(Clone)]
pub struct Slots {
    bounds: Bounds,
    taken: Arc<Mutex<HashMap<OrgId, u32>>>,
}

/// The right to send one, given back when dropped.
pub struct Slot {
    slots: Slots,
    org: OrgId,
}

impl Slots {
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            taken: Arc::default(),
        }
    }

    pub fn take(&self, org: OrgId) -> Result<Slot, Problem> {
        let Bounds {
            per_org,
            per_node,
            what,
            instead,
        } = self.bounds;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.get(&org).copied().unwrap_or(0) >= per_org {
            let detail = format!(
                "Your organization already has {per_org} {what} running on this node. Wait until \
                 one ends{instead}."
            );
            return Err(Problem::new(ErrorCode::LimitReached, detail));
        }
        if taken.values().sum::<u32>() >= per_node {
            let detail = format!(
                "This node already has {per_node} {what} running. Try again later{instead}."
            );
            return Err(Problem::new(ErrorCode::Overloaded, detail));
        }
        *taken.entry(org).or_default() += 1;
        Ok(Slot {
            slots: self.clone(),
            org,
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let taken = &self.slots.taken;
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.org) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.org);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        per_org: 2,
        per_node: 8,
        what: "answers",
        instead: "",
    };

    #[test]
    fn an_organization_and_a_node_have_so_many_and_no_more() {
        let slots = Slots::new(BOUNDS);
        let org = |number| OrgId::from_uuid(Uuid::from_u128(number));
        let code = |taken: Result<Slot, Problem>| taken.err().map(|problem| problem.code());
        let first = slots.take(org(0)).expect("a slot");
        let _second = slots.take(org(0)).expect("a slot");
        assert_eq!(code(slots.take(org(0))), Some(ErrorCode::LimitReached));
        drop(first);
        let mut held = vec![slots.take(org(0)).expect("it was given back")];
        for number in 1..=6 {
            held.push(slots.take(org(number)).expect("a slot"));
        }
        assert_eq!(code(slots.take(org(7))), Some(ErrorCode::Overloaded));
        drop(held);
        assert!(slots.take(org(7)).is_ok());
    }
}
