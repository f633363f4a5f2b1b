//! Finds what an erasure is to erase next: in the database and in the archive.

use std::collections::{BTreeMap, HashMap, VecDeque};

use archive::{Bucket, days};
use domain::{
    Day, EventId, OrgId,
    event::{EventView, Filter, Source as Writer, reserved::ERASURE},
};
use store::{
    Store,
    erasures::{ClaimedErasure, Look, What},
};

use super::{trail_event::EVENTS_MAX, worker::Error};
use crate::exports::{
    plan::{Plan, Range},
    source::Source,
};

/// Where events are looked for.
#[derive(Clone)]
pub(super) struct Places {
    pub(super) store: Store,
    /// `None`: `files.url` is not set.
    pub(super) files: Option<Bucket>,
}

/// The events that a filter asks for, from where a job is.
pub(super) struct Search {
    source: Source,
    /// Found and not handed out yet, newest first, and whether each is an erasure itself.
    waiting: VecDeque<(EventId, bool)>,
    /// What is left behind those is below this.
    below: Option<EventId>,
    is_over: bool,
}

impl Places {
    /// What comes next of a job. Of one with a filter, the search goes on where it was as long as `search` is kept.
    pub(super) async fn look(
        &self,
        job: &ClaimedErasure,
        search: &mut Option<Search>,
    ) -> Result<Look, Error> {
        let mut look = Look {
            ids_seen: job.ids_seen,
            below: job.below,
            ..Look::default()
        };
        let found = match &job.what {
            What::Ids(ids) => {
                let until = ids.len().min(job.ids_seen + EVENTS_MAX);
                let wanted = ids.get(job.ids_seen..until).unwrap_or_default();
                look.ids_seen = until;
                look.is_last = until == ids.len();
                let are_erasures = self.by_id(job.org, wanted).await?;
                let (found, lost): (Vec<EventId>, Vec<EventId>) =
                    wanted.iter().partition(|id| are_erasures.contains_key(id));
                look.not_found = lost;
                found
                    .into_iter()
                    .map(|id| (id, are_erasures[&id]))
                    .collect()
            }
            What::Filter(filter, range) => {
                let search = match search {
                    Some(search) => search,
                    None => search.insert(self.begin(job, filter, *range)?),
                };
                let found = search.next().await?;
                look.below = found.last().map(|(id, _)| *id);
                if search.waiting.is_empty() {
                    look.below = search.below;
                    look.is_last = search.is_over;
                }
                found
            }
        };
        self.sort(job.org, found, &mut look).await?;
        Ok(look)
    }

    fn begin(
        &self,
        job: &ClaimedErasure,
        filter: &str,
        range: Option<(EventId, EventId)>,
    ) -> Result<Search, Error> {
        let filter: Filter =
            serde_json::from_str(filter).map_err(|error| Error::Unreadable(error.to_string()))?;
        let plan = Plan {
            org: job.org,
            filter,
            range: range.map(|(newest, oldest)| Range { newest, oldest }),
            without: None,
        };
        let below = job.below.unwrap_or_else(|| plan.above());
        let source = Source::resume(self.store.clone(), self.files.clone(), plan, below);
        Ok(Search {
            source: source.with_erased(),
            waiting: VecDeque::new(),
            below: job.below,
            is_over: false,
        })
    }

    /// Tells apart what is to be erased, what was before (and whether it is gone), and what must stay.
    async fn sort(
        &self,
        org: OrgId,
        found: Vec<(EventId, bool)>,
        look: &mut Look,
    ) -> Result<(), Error> {
        let ids: Vec<EventId> = found.iter().map(|(id, _)| *id).collect();
        let in_question: Vec<EventId> = [&ids[..], &look.not_found].concat();
        let erased = self.store.erased_events(org, &in_question).await?;
        look.not_found.retain(|id| !erased.contains_key(id));
        look.already_erased = erased.len() as u64;
        for (id, is_erasure) in found {
            if erased.contains_key(&id) {
                look.again.push(id);
            } else if is_erasure {
                look.kept += 1;
            } else {
                look.events.push(id);
            }
        }
        Ok(())
    }

    /// Those of these events that there are, and whether each is an erasure itself.
    async fn by_id(&self, org: OrgId, ids: &[EventId]) -> Result<HashMap<EventId, bool>, Error> {
        let live = self.store.events_by_id(org, ids).await?;
        let mut found: HashMap<EventId, bool> = live
            .iter()
            .map(|(id, record)| (*id, is_erasure(&record.stored)))
            .collect();
        let mut by_day: BTreeMap<Day, Vec<EventId>> = BTreeMap::new();
        for id in ids.iter().filter(|id| !found.contains_key(*id)) {
            by_day.entry(Day::of(id.time())).or_default().push(*id);
        }
        for (day, ids) in by_day {
            for file in self.store.archived_files(day, day).await? {
                let bucket = self.files.as_ref().ok_or(Error::NoFiles)?;
                let noted = (&*file.file, file.events);
                let archived = days::find(bucket, noted, org, &ids).await?;
                let archived = archived.into_iter();
                found.extend(archived.map(|(id, event)| (id, is_erasure(&event.event))));
            }
        }
        Ok(found)
    }
}

impl Search {
    /// The next events, at most as many as one event of ours tells of.
    async fn next(&mut self) -> Result<Vec<(EventId, bool)>, Error> {
        while self.waiting.len() < EVENTS_MAX && !self.is_over {
            let Some(batch) = self.source.next().await? else {
                self.is_over = true;
                break;
            };
            self.below = Some(batch.below);
            for json in batch.events.iter() {
                let view = EventView::parse(json).unwrap_or_default();
                let id = view.text("id").and_then(|id| id.parse().ok());
                let id = id.ok_or_else(|| Error::Unreadable("an event has no id".to_owned()))?;
                self.waiting.push_back((id, is_erasure(json)));
            }
        }
        let count = self.waiting.len().min(EVENTS_MAX);
        Ok(self.waiting.drain(..count).collect())
    }
}

fn is_erasure(json: &str) -> bool {
    let view = EventView::parse(json).unwrap_or_default();
    // Before the type was reserved, clients could send some of their own.
    view.text("event_type").as_deref() == Some(ERASURE)
        && view
            .text("source")
            .is_some_and(|source| source == Writer::Server.to_string())
}
