//! How many nodes there are, as far as this one can tell: what a limit is divided by while Redis is away.

use std::num::NonZeroU32;

use crate::redis::NODE_GONE_AFTER;

/// Redis counts the nodes that it has heard of. After it lost its data, or nobody reached it for a
/// while, those are fewer than there are, until each node has beaten once more: a Redis that goes away
/// again at once would leave each with too large a share. So fewer are believed only after the time in
/// which every node that lives is heard of.
#[derive(Debug)]
pub(crate) struct Census {
    known: NonZeroU32,
    believes_fewer_from_us: u64,
}

impl Default for Census {
    fn default() -> Self {
        Self {
            known: NonZeroU32::MIN,
            believes_fewer_from_us: 0,
        }
    }
}

impl Census {
    /// Redis may not have heard of all nodes yet.
    pub(crate) fn doubt(&mut self, now_us: u64) {
        let wait_us = u64::try_from(NODE_GONE_AFTER.as_micros()).unwrap_or(u64::MAX);
        self.believes_fewer_from_us = now_us.saturating_add(wait_us);
    }

    /// Redis has heard of so many. Returns how many there are: at least this one.
    pub(crate) fn hear(&mut self, nodes: u32, now_us: u64) -> NonZeroU32 {
        let heard = NonZeroU32::new(nodes).unwrap_or(NonZeroU32::MIN);
        if heard > self.known || now_us >= self.believes_fewer_from_us {
            self.known = heard;
        }
        self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_nodes_are_believed_only_when_all_had_time_to_be_heard() {
        let mut census = Census::default();
        assert_eq!(census.hear(3, 0).get(), 3);
        assert_eq!(census.hear(2, 1).get(), 2, "one is gone");
        census.doubt(1_000_000);
        assert_eq!(census.hear(1, 1_000_000).get(), 2);
        assert_eq!(census.hear(4, 2_000_000).get(), 4, "more are at once");
        assert_eq!(census.hear(3, 5_999_999).get(), 4);
        assert_eq!(census.hear(3, 6_000_000).get(), 3);
        assert_eq!(census.hear(0, 6_000_000).get(), 1, "this one lives");
    }
}
