//! What leaves stand for: rows of the database, or of the archive's files if their day has left it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use archive::{Bucket, days};
use domain::{
    AttemptId, Day, EventId, OrgId,
    event::{EventView, reserved::DECISION},
};
use serde::Deserialize;
use store::Store;
use trail_proof::leaf::{Kind, LEAF_BYTES, Leaf, Salt};
use uuid::Uuid;

use super::{
    Error,
    retention::{Kept, Retention},
    selection::Selection,
};

/// Where records are.
pub(super) struct Records {
    pub(super) store: Store,
    pub(super) bucket: Bucket,
    pub(super) org: OrgId,
    pub(super) kept: Kept,
}

/// What is written of a leaf.
pub(super) enum Record {
    Shown {
        kind: Kind,
        record: Committed,
        /// What it was decided by, if it is a decision.
        policies: Vec<PolicyNamed>,
    },
    /// The filter does not ask for it.
    Withheld,
    /// It was erased, and this event says so.
    Erased(EventId),
    /// It is past its retention.
    Gone,
    /// It should be there, and is not.
    Missing,
}

/// What a leaf commits to.
pub(super) struct Committed {
    pub(super) stored: String,
    pub(super) salt: Salt,
}

/// The policies that a decision says it was made by.
#[derive(Deserialize)]
pub(super) struct PolicyNamed {
    #[serde(rename = "policy_version")]
    pub(super) version: u32,
    #[serde(rename = "policy_digest")]
    pub(super) digest: String,
}

/// As much as is read of a decision.
#[derive(Deserialize)]
struct Decided {
    #[serde(flatten)]
    enforced: PolicyNamed,
    shadow: Option<PolicyNamed>,
}

/// Events, by their ids.
type Found = HashMap<EventId, store::transparency::Record>;

type Leaves<'l> = Vec<(&'l [u8; LEAF_BYTES], Record)>;

impl Records {
    /// What leaves stand for, in their order.
    pub(super) async fn of<'l>(
        &self,
        leaves: &[&'l [u8; LEAF_BYTES]],
        selection: &Selection,
    ) -> Result<Leaves<'l>, Error> {
        let read: Vec<Option<Leaf>> = leaves.iter().map(|leaf| Leaf::decode(*leaf).ok()).collect();
        let (mut events, mut attempts) = (Vec::new(), Vec::new());
        for leaf in read.iter().flatten() {
            match leaf.kind {
                Kind::Event if selection.may_have(leaf) => events.push(event_id(leaf)),
                Kind::Attempt if selection.has_attempt(leaf) => attempts.push(attempt_id(leaf)),
                Kind::Event | Kind::Attempt => {}
            }
        }
        let wanted = events;
        let mut events = self.store.events_by_id(self.org, &wanted).await?;
        let lost: Vec<EventId> = wanted
            .into_iter()
            .filter(|id| !events.contains_key(id))
            .collect();
        let mut erased = self.store.erased_events(self.org, &lost).await?;
        let archived = self.add_archived(&lost, &erased, &mut events).await?;
        // What was erased while the archive was searched is not in the archive any more.
        let lost: Vec<EventId> = lost
            .into_iter()
            .filter(|id| !events.contains_key(id) && !erased.contains_key(id))
            .collect();
        erased.extend(self.store.erased_events(self.org, &lost).await?);
        let mut attempts = self.store.attempts_by_id(self.org, &attempts).await?;
        let retention = Retention {
            kept: self.kept,
            archived,
            // After all was searched: nothing of it can have been dropped at a later time.
            now: self.store.now().await?,
        };
        let record = |leaf: &Option<Leaf>| match leaf {
            // What this version cannot read it does not show.
            None => Record::Withheld,
            Some(leaf) if leaf.kind == Kind::Event => {
                let id = event_id(leaf);
                match erased.get(&id) {
                    Some(by) => Record::Erased(*by),
                    None => event(leaf, events.remove(&id), selection, &retention),
                }
            }
            Some(leaf) => {
                let found = attempts.remove(&attempt_id(leaf));
                attempt(leaf, found, selection, &retention)
            }
        };
        Ok(leaves
            .iter()
            .copied()
            .zip(read.iter().map(record))
            .collect())
    }

    /// Adds those of these events that are in the archive, and returns which of their days have a file there. What was erased
    /// may be there for a while, and is not looked for.
    async fn add_archived(
        &self,
        ids: &[EventId],
        erased: &HashMap<EventId, EventId>,
        found: &mut Found,
    ) -> Result<BTreeSet<Day>, Error> {
        let mut by_day: BTreeMap<Day, Vec<EventId>> = BTreeMap::new();
        for id in ids.iter().filter(|id| !erased.contains_key(*id)) {
            by_day.entry(Day::of(id.time())).or_default().push(*id);
        }
        let mut days_with_files = BTreeSet::new();
        for (day, ids) in by_day {
            for file in self.store.archived_files(day, day).await? {
                days_with_files.insert(day);
                let noted = (&*file.file, file.events);
                let archived = days::find(&self.bucket, noted, self.org, &ids).await?;
                for (id, archived) in archived {
                    // What was archived first was there first.
                    found.entry(id).or_insert(store::transparency::Record {
                        stored: archived.event,
                        salt: archived.salt.map(Salt),
                    });
                }
            }
        }
        Ok(days_with_files)
    }
}

fn event(
    leaf: &Leaf,
    found: Option<store::transparency::Record>,
    selection: &Selection,
    retention: &Retention,
) -> Record {
    if !selection.may_have(leaf) {
        return Record::Withheld;
    }
    let Some(store::transparency::Record { stored, salt }) = found else {
        // Nobody can say whether the filter would ask for it.
        return lost(retention.may_have_dropped_event(leaf));
    };
    let view = EventView::parse(&stored).unwrap_or_default();
    if !selection.has_event(event_id(leaf), &stored, &view) {
        return Record::Withheld;
    }
    let Some(salt) = salt else {
        return Record::Missing;
    };
    let policies = policies(&view);
    Record::Shown {
        kind: Kind::Event,
        record: Committed { stored, salt },
        policies,
    }
}

fn attempt(
    leaf: &Leaf,
    found: Option<store::transparency::Record>,
    selection: &Selection,
    retention: &Retention,
) -> Record {
    if !selection.has_attempt(leaf) {
        return Record::Withheld;
    }
    match found {
        Some(store::transparency::Record {
            stored,
            salt: Some(salt),
        }) => Record::Shown {
            kind: Kind::Attempt,
            record: Committed { stored, salt },
            policies: Vec::new(),
        },
        Some(store::transparency::Record { salt: None, .. }) => Record::Missing,
        None => lost(retention.may_have_dropped_attempt(leaf)),
    }
}

fn lost(may_be_dropped: bool) -> Record {
    if may_be_dropped {
        Record::Gone
    } else {
        Record::Missing
    }
}

fn policies(view: &EventView<'_>) -> Vec<PolicyNamed> {
    if view.text("event_type").as_deref() != Some(DECISION) {
        return Vec::new();
    }
    let metadata = view.field("metadata");
    let decided = metadata.and_then(|json| serde_json::from_str::<Decided>(json.get()).ok());
    decided.map_or_else(Vec::new, |decided| {
        [decided.enforced]
            .into_iter()
            .chain(decided.shadow)
            .collect()
    })
}

fn event_id(leaf: &Leaf) -> EventId {
    EventId::from_uuid(Uuid::from_bytes(leaf.id))
}

fn attempt_id(leaf: &Leaf) -> AttemptId {
    AttemptId::from_uuid(Uuid::from_bytes(leaf.id))
}
