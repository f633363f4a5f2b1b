//! Takes erased events out of the archive: a day's file is written again without them.
//!
//! First there is the new file, then it is noted in the place of the old one, then the old one goes. A crash in between leaves
//! a file that nobody reads; one that still has something erased is found by the next try, which deletes it.

use std::collections::BTreeSet;

use archive::{Bucket, without};
use domain::{Day, EventId, OrgId};
use store::{Store, erasures::FilesOfDay, events::archive::ArchivedFile};

use super::worker::Error;
use crate::events::archive::{self as archiving, Erased};

/// Takes what an organization erased of a day out of the day's files. Whoever does the same for another organization, or
/// erasure, waits: it would take our new file, which is not noted yet, for one that nobody reads.
pub(super) async fn clean(
    store: &Store,
    bucket: &Bucket,
    org: OrgId,
    day: Day,
) -> Result<(), Error> {
    let mut of_day = store.files_of_day(day).await?;
    let erased = store.all_erased_of_day(org, day).await?;
    for file in of_day.noted().await? {
        let noted = (&*file.file, file.events);
        if without::has_any(bucket, noted, org, &erased).await? {
            replace(&mut of_day, bucket, &file, (org, &erased)).await?;
        }
    }
    let erased = Erased::from([(org, erased)]);
    Ok(archiving::delete_unused(&mut of_day, bucket, &erased).await?)
}

async fn replace(
    of_day: &mut FilesOfDay,
    bucket: &Bucket,
    old: &ArchivedFile,
    (org, erased): (OrgId, &BTreeSet<EventId>),
) -> Result<(), Error> {
    let noted = (&*old.file, old.events);
    let rest = without::rest(bucket, noted, org, erased).await?;
    let new = match rest.range {
        Some(range) => {
            let name = archiving::name(old.day, range, rest.events);
            let finished = without::rewrite(bucket, noted, (org, erased), &name).await?;
            if finished.events != rest.events {
                bucket.delete(&name).await?;
                return Err(Error::NotWhole(name));
            }
            Some(ArchivedFile {
                day: old.day,
                file: name,
                events: finished.events,
                bytes: finished.bytes,
                sha256: finished.sha256,
            })
        }
        None => None,
    };
    if of_day.replace(old, new.as_ref()).await? {
        bucket.delete(&old.file).await?;
        return Ok(());
    }
    if let Some(new) = new {
        bucket.delete(&new.file).await?;
    }
    Err(Error::NotNoted(old.file.clone()))
}
