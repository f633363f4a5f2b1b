//! Moves a day of the trail into a file, so that it can leave the database and still be exported.
//!
//! The file is written, read back as far as its footer, and only then noted; a crash before leaves a file
//! that nobody reads. What arrives for the day later goes into a file of its own, because the name says
//! what is inside. No two tries write to the same name: one that hung while the day was dropped cannot
//! replace the file that has it.

use std::collections::{BTreeMap, BTreeSet};

use archive::{
    Bucket, Events,
    days::{self, DayWriter, Salt},
    without,
};
use domain::{
    Day, EventId, OrgId, Timestamp,
    event::{EventView, Filter},
};
use runtime::{error_chain::chain, random};
use store::{
    Store,
    erasures::FilesOfDay,
    events::{archive::ArchivedFile, export::Position},
    partitions::DayContent,
};

/// What organizations erased of a day.
pub(crate) type Erased = BTreeMap<OrgId, BTreeSet<EventId>>;

/// Random bytes in a file's name; no two tries draw the same.
const ATTEMPT_BYTES: usize = 8;

/// Why a day was not archived by this try.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error("{file} has {found} events, but {written} were written")]
    NotWhole {
        file: String,
        written: u64,
        found: u64,
    },
    #[error("{day} had {held} events, but only {found} were found when it was written")]
    Shrunk { day: Day, held: u64, found: u64 },
    #[error("events of {day} were erased while its file was written")]
    Erased { day: Day },
    #[error("the recorded lengths of events do not match their text")]
    Inconsistent,
}

/// A day that is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// Whoever drops the day must find exactly this in it, while nobody can write to it: if not, more arrived meanwhile, and the
    /// day has to be archived again.
    pub content: DayContent,
    pub file: ArchivedFile,
}

/// Writes what the database holds of a day, of all organizations, into a file; `None` if it holds nothing.
/// Doing it again changes nothing.
pub async fn archive_day(
    store: &Store,
    files: &Bucket,
    day: Day,
    now: Timestamp,
) -> Result<Option<Archived>, Error> {
    let erased = store.erased_count_of_day(day).await?;
    if erased > 0
        && let Err(error) = delete_all_unused(store, files, day).await
    {
        // An erasure says so to its owner; what is archived now is not of less use for it.
        tracing::warn!(
            error = chain(&error),
            day = %day,
            "could not look into all files of the archive that are not in use"
        );
    }
    let Some(held) = store.day_held(day).await? else {
        return Ok(None);
    };
    let content = content(day, (held.oldest, held.newest), held.events);
    let noted = store.archived_files(day, day).await?;
    for file in noted {
        // Something erased is in the place of what the database has more.
        if file.file.starts_with(&content) && !has_erased(store, files, &file).await? {
            let events = held.events;
            let content = DayContent { events, erased };
            return Ok(Some(Archived { content, file }));
        }
    }
    let name = name(day, (held.oldest, held.newest), held.events);
    let mut writer = DayWriter::create(files, &name).await?;
    let mut org = None;
    while let Some(next) = store.next_org_of_day(day, org).await? {
        write_org(store, &mut writer, day, next).await?;
        org = Some(next);
    }
    let finished = writer.finish().await?;
    let found = days::count(files, &name).await?;
    let bytes = files.length(&name).await?;
    if found != finished.events || bytes != finished.bytes {
        return Err(Error::NotWhole {
            file: name,
            written: finished.events,
            found,
        });
    }
    // Somebody dropped the day meanwhile: what it had is in that one's file, and not all of it here. Or an organization
    // was deleted, which the next try does not find any more.
    if finished.events < held.events {
        files.delete(&name).await?;
        return Err(Error::Shrunk {
            day,
            held: held.events,
            found: finished.events,
        });
    }
    let file = ArchivedFile {
        day,
        file: name,
        events: finished.events,
        bytes: finished.bytes,
        sha256: finished.sha256,
    };
    if !store.save_archived(&file, erased, now).await? {
        files.delete(&file.file).await?;
        return Err(Error::Erased { day });
    }
    tracing::info!(day = %day, events = file.events, bytes = file.bytes, "archived a day");
    let events = file.events;
    let content = DayContent { events, erased };
    Ok(Some(Archived { content, file }))
}

/// Also what a try left that was killed after it had finished a file and before it noted it, if an erasure did not see that file.
async fn delete_all_unused(store: &Store, bucket: &Bucket, day: Day) -> Result<(), Error> {
    let mut of_day = store.files_of_day(day).await?;
    let erased = store.erased_of_day(day).await?;
    delete_unused(&mut of_day, bucket, &erased).await
}

/// Deletes files of a day that have something erased and are not noted, so that nobody reads them: of a try to archive the day
/// that did not end, or replaced before. `erased` is asked for before.
pub(crate) async fn delete_unused(
    of_day: &mut FilesOfDay,
    bucket: &Bucket,
    erased: &Erased,
) -> Result<(), Error> {
    let files = bucket.list(&folder(of_day.day())).await?;
    // In this order: what is there and not noted now is not noted later, as it has what was erased before.
    let noted = of_day.noted().await?;
    for name in files {
        if noted.iter().any(|file| file.file == name) {
            continue;
        }
        match delete_if_it_has(bucket, &name, erased).await {
            // Whoever wrote it deleted it.
            Ok(()) | Err(archive::Error::Missing(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

async fn delete_if_it_has(
    bucket: &Bucket,
    name: &str,
    erased: &Erased,
) -> Result<(), archive::Error> {
    let events = days::count(bucket, name).await?;
    if has_any(bucket, (name, events), erased).await? {
        bucket.delete(name).await?;
    }
    Ok(())
}

/// Whether a file has something that was erased, of any organization.
async fn has_erased(store: &Store, bucket: &Bucket, file: &ArchivedFile) -> Result<bool, Error> {
    let erased = store.erased_of_day(file.day).await?;
    Ok(has_any(bucket, (&file.file, file.events), &erased).await?)
}

async fn has_any(
    bucket: &Bucket,
    file: (&str, u64),
    erased: &Erased,
) -> Result<bool, archive::Error> {
    for (org, ids) in erased {
        if without::has_any(bucket, file, *org, ids).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Where the files of a day are.
pub(crate) fn folder(day: Day) -> String {
    format!("archive/audit_events/day={day}")
}

/// How the name of a file begins that has these events.
fn content(day: Day, (oldest, newest): (EventId, EventId), events: u64) -> String {
    format!("{}/{oldest}-{newest}-{events}-", folder(day))
}

/// The name of a file of these events, like no other.
pub(crate) fn name(day: Day, range: (EventId, EventId), events: u64) -> String {
    let attempt = hex::encode(random::bytes::<ATTEMPT_BYTES>());
    format!("{}{attempt}.parquet", content(day, range, events))
}

/// What hides each of the events.
async fn salts_of(store: &Store, org: OrgId, events: &Events) -> Result<Vec<Salt>, Error> {
    let id = |json: &str| EventView::parse(json).ok()?.text("id")?.parse().ok();
    let ids: Vec<Option<EventId>> = events.iter().map(id).collect();
    let known: Vec<EventId> = ids.iter().copied().flatten().collect();
    let salts = store.salts_of(org, &known).await?;
    let salt = |id: Option<EventId>| salts.get(&id?).map(|salt| salt.0);
    Ok(ids.into_iter().map(salt).collect())
}

async fn write_org(
    store: &Store,
    writer: &mut DayWriter,
    day: Day,
    org: OrgId,
) -> Result<(), Error> {
    let all = Filter::default();
    let mut at = Position::new(day.first_id(), day.next().first_id(), None);
    loop {
        let piece = store.export_events(org, &all, at).await?;
        let events = Events::from_text(piece.text, piece.lengths);
        let events = events.ok_or(Error::Inconsistent)?;
        let salts = salts_of(store, org, &events).await?;
        writer.write(org, events, salts).await?;
        if piece.is_last {
            return Ok(());
        }
        at = piece.reached;
    }
}
