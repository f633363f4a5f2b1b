//! Which records an export shows.

use domain::{
    EventId, Timestamp,
    event::{AHEAD_MAX, EventView, Filter},
};
use trail_proof::leaf::Leaf;

/// What a filter asks for. It is about events: with anything but times in it, no attempt is shown.
pub(super) struct Selection {
    filter: Filter,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    has_attempts: bool,
}

impl Selection {
    pub(super) fn of(filter: Filter) -> Self {
        let folded = filter.folded();
        let (from, to) = (folded.from, folded.to);
        let beside_times = Filter {
            from: None,
            to: None,
            ..folded
        };
        Self {
            has_attempts: beside_times == Filter::default(),
            filter,
            from,
            to,
        }
    }

    /// As the file says it; `None` if it shows everything.
    pub(super) fn text(&self) -> Option<String> {
        let is_everything = self.filter == Filter::default();
        let text = || serde_json::to_string(&self.filter).expect("a filter is plain JSON");
        (!is_everything).then(text)
    }

    /// What is shown was received no earlier. It may have been received at any time later.
    pub(super) fn received_since(&self) -> Option<Timestamp> {
        self.from.map(|from| from.minus(AHEAD_MAX))
    }

    pub(super) fn has_event(&self, id: EventId, json: &str, view: &EventView<'_>) -> bool {
        self.filter.matches(id, json, view)
    }

    /// Whether an event may be shown, as far as its time tells.
    pub(super) fn may_have(&self, leaf: &Leaf) -> bool {
        let at = Timestamp::from_unix_millis(leaf.occurred_ms);
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at < to)
    }

    pub(super) fn has_attempt(&self, leaf: &Leaf) -> bool {
        self.has_attempts && self.may_have(leaf)
    }
}
