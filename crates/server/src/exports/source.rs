//! Reads what is in an export, newest first: day by day, from the database and from the archive.
//!
//! A day that is only in the database is read in pieces (`store/events/export.rs`). A day that has files is read
//! from those and from the database together, because what arrives late for such a day is there: both
//! are in the same order, so they are merged, and an event that is in two of them is taken once. What was erased may be in a
//! file until an erasure comes to it, and is left out.

use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
};

use archive::{Bucket, Events, days};
use domain::{
    Day, EventId,
    event::{EventView, Filter},
};
use futures::{Stream, TryStreamExt as _};
use store::{
    Store,
    events::{archive::ArchivedFile, export::Position},
};
use tokio::task::JoinSet;

use super::plan::Plan;

/// How many bytes of merged events make a batch.
const MERGED_BYTES: usize = 1024 * 1024;

/// Why an export could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error("some days of the trail are in files, and files.url is not set")]
    NoFiles,
    #[error("read {what}: {problem}")]
    Inconsistent { what: &'static str, problem: String },
}

/// Some of the events, none if a piece had none that match.
pub struct Batch {
    pub events: Events,
    /// What is left is below this.
    pub below: EventId,
}

/// An export being read.
pub struct Source {
    store: Store,
    files: Option<Bucket>,
    plan: Plan,
    at: At,
    /// Rows that a piece of the database looks at, if the store would look at more.
    rows_max: u32,
    /// Whether what was erased and is still in a file is left out.
    leaves_out_erased: bool,
}

enum At {
    /// Everything below this is left.
    Below(EventId),
    /// In the midst of a day that is only in the database.
    Live(Position),
    /// The database has no more of a day.
    LiveEnd(Position),
    /// In the midst of a day that has files.
    Merging(Box<Merge>),
    End,
}

impl Source {
    pub fn new(store: Store, files: Option<Bucket>, plan: Plan) -> Self {
        let below = plan.above();
        Self::resume(store, files, plan, below)
    }

    /// One that goes on where another was.
    pub fn resume(store: Store, files: Option<Bucket>, plan: Plan, below: EventId) -> Self {
        Self {
            store,
            files,
            plan,
            at: At::Below(below),
            rows_max: u32::MAX,
            leaves_out_erased: true,
        }
    }

    /// The same with what was erased and is still in a file, for who erases it there.
    #[must_use]
    pub fn with_erased(self) -> Self {
        Self {
            leaves_out_erased: false,
            ..self
        }
    }

    /// The same in smaller batches, for who may only stop between two.
    #[must_use]
    pub fn in_pieces_of(self, rows_max: u32) -> Self {
        Self { rows_max, ..self }
    }

    /// The next events; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Batch>, Error> {
        loop {
            self.at = match std::mem::replace(&mut self.at, At::End) {
                At::End => return Ok(None),
                At::Below(below) => match self.plan.day_below(below) {
                    None => At::End,
                    Some(position) => {
                        let noted = files_of(&self.store, position).await?;
                        if noted.is_empty() {
                            At::Live(position)
                        } else {
                            self.merge(position, &noted).await?
                        }
                    }
                },
                At::LiveEnd(position) => {
                    // A day that left the database meanwhile is in files by now, and looked empty.
                    let noted = files_of(&self.store, position).await?;
                    if noted.is_empty() {
                        At::Below(position.from)
                    } else {
                        self.merge(position, &noted).await?
                    }
                }
                At::Live(position) => return self.live(position).await.map(Some),
                At::Merging(mut merge) => {
                    let merged = merge
                        .next(&self.store, self.files.as_ref(), &self.plan)
                        .await?;
                    let below = merge.below();
                    self.at = if merge.is_over() {
                        At::Below(merge.first)
                    } else {
                        At::Merging(merge)
                    };
                    let events = self.left(merged).await?;
                    return Ok(Some(Batch { events, below }));
                }
            };
        }
    }

    async fn merge(&mut self, position: Position, noted: &[ArchivedFile]) -> Result<At, Error> {
        let merge = Merge::open(&self.plan, self.files.as_ref(), position, noted).await?;
        Ok(At::Merging(Box::new(merge)))
    }

    /// What is left of merged events without those that were erased. An organization that never erased anything has none looked
    /// up.
    async fn left(&mut self, merged: Vec<(EventId, String)>) -> Result<Events, Error> {
        let org = self.plan.org;
        let erased = if self.leaves_out_erased && self.store.has_erasures(org).await? {
            let ids: Vec<EventId> = merged.iter().map(|(id, _)| *id).collect();
            self.store.erased_events(org, &ids).await?
        } else {
            HashMap::new()
        };
        let mut events = Events::default();
        for (id, json) in &merged {
            if !erased.contains_key(id) {
                events.push(json);
            }
        }
        Ok(events)
    }

    async fn live(&mut self, position: Position) -> Result<Batch, Error> {
        let position = position.at_most(self.rows_max);
        let piece = self
            .store
            .export_events(self.plan.org, &self.plan.filter, position)
            .await?;
        let events = events(piece.text, piece.lengths)?;
        let reached = piece.reached;
        self.at = if piece.is_last {
            At::LiveEnd(reached)
        } else {
            At::Live(reached)
        };
        // Also at the end: what is left of the day may turn out to be in files.
        Ok(Batch {
            events,
            below: reached.below,
        })
    }
}

/// The files that a position's day has by now.
async fn files_of(store: &Store, position: Position) -> Result<Vec<ArchivedFile>, Error> {
    let day = Day::of(position.from.time());
    Ok(store.archived_files(day, day).await?)
}

fn events(text: String, lengths: Vec<u32>) -> Result<Events, Error> {
    Events::from_text(text, lengths).ok_or(Error::Inconsistent {
        what: "events",
        problem: "their recorded lengths do not match their text".to_owned(),
    })
}

/// A day that is read from several places at once.
struct Merge {
    /// The files in the order they were made in, then the database: what was sent again after the day
    /// had left is in a later one, and does not replace what was accepted.
    feeds: Vec<Feed>,
    /// The names of those that are files. One may be taken away or replaced, as an erasure does, and another come.
    files: Vec<String>,
    /// Whether those were all when the database had no more.
    is_settled: bool,
    /// The day's first id that is wanted.
    first: EventId,
    below: EventId,
}

/// Events from one place, newest first.
struct Feed {
    waiting: VecDeque<(EventId, String)>,
    rest: Rest,
}

enum Rest {
    Live(Position),
    File(Pin<Box<dyn Stream<Item = Result<Events, archive::Error>> + Send>>),
    Nothing,
}

impl Merge {
    async fn open(
        plan: &Plan,
        bucket: Option<&Bucket>,
        position: Position,
        noted: &[ArchivedFile],
    ) -> Result<Self, Error> {
        let bucket = bucket.ok_or(Error::NoFiles)?;
        let mut feeds = Vec::new();
        for file in noted {
            let rows = days::read(bucket, (&file.file, file.events), plan.org).await?;
            feeds.push(Feed::new(Rest::File(Box::pin(rows))));
        }
        feeds.push(Feed::new(Rest::Live(position)));
        Ok(Self {
            feeds,
            files: names(noted),
            is_settled: false,
            first: position.from,
            below: position.below,
        })
    }

    async fn next(
        &mut self,
        store: &Store,
        bucket: Option<&Bucket>,
        plan: &Plan,
    ) -> Result<Vec<(EventId, String)>, Error> {
        let (mut merged, mut bytes) = (Vec::new(), 0);
        while bytes < MERGED_BYTES {
            for feed in &mut self.feeds {
                feed.fill(store, plan).await?;
            }
            if !self.is_settled && self.live_has_ended() {
                // What was left of the database may have gone into another file meanwhile.
                let position = Position::new(self.first, self.below, plan.without);
                let noted = files_of(store, position).await?;
                if names(&noted) != self.files {
                    *self = Self::open(plan, bucket, position, &noted).await?;
                    continue;
                }
                self.is_settled = true;
            }
            let newest = self.feeds.iter().filter_map(Feed::newest).max();
            let Some(newest) = newest.filter(|newest| *newest >= self.first) else {
                self.feeds.clear();
                break;
            };
            // The same event from each place that has it; the first one's bytes were there first.
            let same = self.feeds.iter_mut().filter_map(|feed| feed.take(newest));
            let Some(json) = same.reduce(|first, _| first) else {
                break;
            };
            if newest < self.below && is_wanted(&plan.filter, newest, &json) {
                bytes += json.len();
                merged.push((newest, json));
            }
            self.below = self.below.min(newest);
        }
        Ok(merged)
    }

    /// What is left is below this.
    fn below(&self) -> EventId {
        if self.is_over() {
            self.first
        } else {
            self.below
        }
    }

    fn live_has_ended(&self) -> bool {
        let live = self.feeds.last();
        live.is_some_and(|live| matches!(live.rest, Rest::Nothing))
    }

    fn is_over(&self) -> bool {
        self.feeds.is_empty()
    }
}

fn names(noted: &[ArchivedFile]) -> Vec<String> {
    noted.iter().map(|file| file.file.clone()).collect()
}

fn is_wanted(filter: &Filter, id: EventId, json: &str) -> bool {
    let view = EventView::parse(json).unwrap_or_default();
    filter.matches(id, json, &view)
}

impl Feed {
    fn new(rest: Rest) -> Self {
        Self {
            waiting: VecDeque::new(),
            rest,
        }
    }

    fn newest(&self) -> Option<EventId> {
        self.waiting.front().map(|(id, _)| *id)
    }

    fn take(&mut self, id: EventId) -> Option<String> {
        let is_it = self.newest() == Some(id);
        is_it
            .then(|| self.waiting.pop_front())
            .flatten()
            .map(|(_, json)| json)
    }

    /// Makes sure that something waits, unless there is no more.
    async fn fill(&mut self, store: &Store, plan: &Plan) -> Result<(), Error> {
        while self.waiting.is_empty() {
            let more = match &mut self.rest {
                Rest::Nothing => return Ok(()),
                Rest::Live(position) => {
                    let all = Filter::default();
                    let piece = store.export_events(plan.org, &all, *position).await?;
                    self.rest = if piece.is_last {
                        Rest::Nothing
                    } else {
                        Rest::Live(piece.reached)
                    };
                    events(piece.text, piece.lengths)?
                }
                Rest::File(rows) => match rows.try_next().await? {
                    Some(events) => events,
                    None => {
                        self.rest = Rest::Nothing;
                        return Ok(());
                    }
                },
            };
            for json in more.iter() {
                self.waiting.push_back((id_of(json)?, json.to_owned()));
            }
        }
        Ok(())
    }
}

fn id_of(json: &str) -> Result<EventId, Error> {
    let view = EventView::parse(json).ok();
    let id = view.and_then(|view| view.text("id")?.parse().ok());
    id.ok_or_else(|| Error::Inconsistent {
        what: "an archived event",
        problem: "it has no id".to_owned(),
    })
}

/// A source that is one batch ahead: the next is read while this one is sent.
pub struct Ahead {
    /// At most one, and gone when this is dropped.
    reading: JoinSet<(Source, Result<Option<Batch>, Error>)>,
}

impl Ahead {
    pub fn new(source: Source) -> Self {
        let mut ahead = Self {
            reading: JoinSet::new(),
        };
        ahead.read_on(source);
        ahead
    }

    pub async fn next(&mut self) -> Result<Option<Batch>, Error> {
        match self.reading.join_next().await {
            None => Ok(None),
            Some(Ok((source, read))) => {
                if let Ok(Some(_)) = &read {
                    self.read_on(source);
                }
                read
            }
            Some(Err(error)) => Err(Error::Inconsistent {
                what: "an export",
                problem: error.to_string(),
            }),
        }
    }

    fn read_on(&mut self, mut source: Source) {
        self.reading.spawn(async move {
            let read = source.next().await;
            (source, read)
        });
    }
}
