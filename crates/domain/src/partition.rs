//! Which journal partition an organization's records live in.

use crate::OrgId;

/// How many partitions the journal was installed with; never changes afterwards, because an
/// organization's events would then be split over two orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitions(u16);

/// One partition, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition(u16);

impl Partitions {
    /// Each partition is two streams and a handful of tasks per node; more than this buys nothing.
    pub const MOST: u16 = 256;

    /// `None` unless `count` is between 1 and [`Self::MOST`].
    pub fn new(count: u16) -> Option<Self> {
        (1..=Self::MOST).contains(&count).then_some(Self(count))
    }

    pub fn count(self) -> u16 {
        self.0
    }

    pub fn all(self) -> impl Iterator<Item = Partition> {
        (0..self.0).map(Partition)
    }

    /// The last eight bytes of an organization's id are random, so they are the hash.
    pub fn of(self, org: OrgId) -> Partition {
        let (_, random) = org.uuid().as_u64_pair();
        let index = random % u64::from(self.0);
        Partition(u16::try_from(index).expect("a remainder of a u16 fits a u16"))
    }
}

impl Partition {
    pub fn index(self) -> u16 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    proptest! {
        #[test]
        fn every_organization_has_one_partition_among_all(id: u128, count in 1u16..=Partitions::MOST) {
            let partitions = Partitions::new(count).expect("in range");
            let partition = partitions.of(OrgId::from_uuid(Uuid::from_u128(id)));
            prop_assert!(partitions.all().any(|one| one == partition));
        }
    }

    #[test]
    fn the_assignment_never_changes() {
        let org = OrgId::from_uuid(Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_002a));
        assert_eq!(Partitions::new(8).expect("in range").of(org).index(), 2);
    }
}
