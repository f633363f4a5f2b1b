//! Takes erased events out of the archive: a day's file is written again without them.
//!
//! First there is the new file, then it is noted in the place of the old one, then the old one goes. A crash in between leaves
//! a file that nobody reads; one that still has something erased is found by the next try, which deletes it.

use std::collections::BTreeSet;

use archive::{Bucket, days, without};
use domain::{Day, EventId, OrgId};
use store::{Store, events::archive::ArchivedFile};

use super::worker::Error;
use crate::events::archive as archiving;

/// How often a day is begun again because somebody else replaced a file of it meanwhile. Each of those is another erasure,
/// of which an organization has few at a time.
const ROUNDS_MAX: usize = 100;

/// Takes what an organization erased of a day out of the day's files.
pub(super) async fn clean(
    store: &Store,
    bucket: &Bucket,
    org: OrgId,
    day: Day,
) -> Result<(), Error> {
    let erased = store.all_erased_of_day(org, day).await?;
    for _ in 0..ROUNDS_MAX {
        if clean_once(store, bucket, (org, day), &erased).await? {
            return Ok(());
        }
    }
    Err(Error::Contended(day))
}

/// `false` if somebody else replaced a file first.
async fn clean_once(
    store: &Store,
    bucket: &Bucket,
    (org, day): (OrgId, Day),
    erased: &BTreeSet<EventId>,
) -> Result<bool, Error> {
    let files = bucket.list(&archiving::folder(day)).await?;
    // In this order: what is there and not noted now is not noted later, as it has what was erased before.
    let noted = store.archived_files(day, day).await?;
    for name in &files {
        if let Some(file) = noted.iter().find(|file| file.file == *name) {
            let has_some = without::has_any(bucket, (name, file.events), org, erased).await?;
            if has_some && !replace(store, bucket, file, (org, erased)).await? {
                return Ok(false);
            }
        } else {
            delete_if_it_has_any(bucket, name, (org, erased)).await;
        }
    }
    Ok(true)
}

/// `false` if somebody else replaced it first.
async fn replace(
    store: &Store,
    bucket: &Bucket,
    old: &ArchivedFile,
    (org, erased): (OrgId, &BTreeSet<EventId>),
) -> Result<bool, Error> {
    let noted = (&*old.file, old.events);
    let rest = without::rest(bucket, noted, org, erased).await?;
    let Some((oldest, newest)) = rest.range else {
        let is_ours = store.replace_archived(old, None).await?;
        bucket.delete(&old.file).await?;
        return Ok(is_ours);
    };
    let name = archiving::name(old.day, (oldest, newest), rest.events);
    let finished = without::rewrite(bucket, noted, (org, erased), &name).await?;
    if finished.events != rest.events {
        bucket.delete(&name).await?;
        return Err(Error::NotWhole(name));
    }
    let new = ArchivedFile {
        day: old.day,
        file: name,
        events: finished.events,
        bytes: finished.bytes,
        sha256: finished.sha256,
    };
    let is_ours = store.replace_archived(old, Some(&new)).await?;
    let useless = if is_ours { &old.file } else { &new.file };
    bucket.delete(useless).await?;
    Ok(is_ours)
}

/// A file that nobody reads: of a try to archive the day that did not end, or replaced before.
async fn delete_if_it_has_any(
    bucket: &Bucket,
    name: &str,
    (org, erased): (OrgId, &BTreeSet<EventId>),
) {
    let delete = async {
        let events = days::count(bucket, name).await?;
        if without::has_any(bucket, (name, events), org, erased).await? {
            bucket.delete(name).await?;
        }
        Ok::<(), archive::Error>(())
    };
    if let Err(error) = delete.await {
        tracing::warn!(
            error = runtime::error_chain::chain(&error),
            file = name,
            "could not look into a file of the archive that is not in use"
        );
    }
}
