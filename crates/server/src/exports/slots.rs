//! How many exports are being sent at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use domain::{OrgId, error_code::ErrorCode};

use crate::edge::Problem;

/// One that runs and one that was begun again because the first seemed lost.
const PER_ORG: u32 = 2;
/// Each holds some 10 MB, or 35 where events suddenly grow, and may keep a core busy compressing.
const PER_NODE: u32 = 8;

/// The exports that this node is sending. Cheap to clone.
#[derive(Clone, Default)]
pub struct Slots {
    taken: Arc<Mutex<HashMap<OrgId, u32>>>,
}

/// The right to send one export, given back when dropped.
pub struct Slot {
    slots: Slots,
    org: OrgId,
}

impl Slots {
    pub fn take(&self, org: OrgId) -> Result<Slot, Problem> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.get(&org).copied().unwrap_or(0) >= PER_ORG {
            let detail = format!(
                "Your organisation has {PER_ORG} exports running here. Wait until one ends, or have this \
                 one made in the background (`\"async\": true`)."
            );
            return Err(Problem::new(ErrorCode::LimitReached, detail));
        }
        if taken.values().sum::<u32>() >= PER_NODE {
            let detail = format!(
                "This node is sending {PER_NODE} exports. Ask again, or have this one made in the background \
                 (`\"async\": true`)."
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

    #[test]
    fn an_organisation_and_a_node_have_so_many_and_no_more() {
        let slots = Slots::default();
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
