//! Applies dead letters once what was wrong is right, and says what they hold.

use journal::{Journal, dead_letters::Numbered, salt::MessageSalt, streams::Log};
use runtime::error_chain::chain;
use store::Store;

use crate::{
    apply_log::{Error, Sink},
    dead_letters::Unfit,
    deliveries::log::recorder::Recorder,
    events::indexer::Index,
};

/// What became of a dead letter that was applied again.
#[derive(Debug)]
pub(crate) enum Redriven {
    Applied,
    /// It cannot be applied yet, and stays.
    StillFails(String),
}

/// Applies a letter's records straight to the store, which notes that: should we die before the letter is removed,
/// it is not applied again.
pub(crate) async fn redrive(
    journal: &Journal,
    store: &Store,
    numbered: &Numbered,
) -> Result<Redriven, Error> {
    let letter = &numbered.letter;
    let redriven = match journal.log_named(&letter.log) {
        Some(Log::Events(_)) => write::<Index>(store, numbered).await?,
        Some(Log::Outcomes(_)) => write::<Recorder>(store, numbered).await?,
        None => Redriven::StillFails(format!("there is no log {}", letter.log)),
    };
    if matches!(redriven, Redriven::Applied) {
        journal.remove_dead_letter(numbered.number).await?;
    }
    Ok(redriven)
}

async fn write<S: Sink>(store: &Store, numbered: &Numbered) -> Result<Redriven, Error> {
    let records: Result<Vec<_>, Unfit> =
        match S::read(&numbered.letter.payload, MessageSalt::random()) {
            Err(error @ journal::Error::Corrupt { .. }) => {
                return Ok(Redriven::StillFails(error.to_string()));
            }
            records => records?.into_iter().collect(),
        };
    let records = match records {
        Ok(records) => records,
        Err(unfit) => return Ok(Redriven::StillFails(unfit.reason)),
    };
    let mut sink = S::open(store).await?;
    match sink.redrive(&numbered.place, &records).await {
        Ok(()) => Ok(Redriven::Applied),
        Err(error) if error.refuses_data() => Ok(Redriven::StillFails(chain(&error))),
        Err(error) => Err(error.into()),
    }
}

/// The ids of what a letter holds, for people; none if it cannot be read.
pub(crate) fn ids(journal: &Journal, numbered: &Numbered) -> Vec<String> {
    let message = &numbered.letter.payload;
    match journal.log_named(&numbered.letter.log) {
        Some(Log::Events(_)) => names_in::<Index>(message),
        Some(Log::Outcomes(_)) => names_in::<Recorder>(message),
        None => Vec::new(),
    }
}

fn names_in<S: Sink>(message: &[u8]) -> Vec<String> {
    let records = S::read(message, MessageSalt::random()).unwrap_or_default();
    let what = |record: Result<S::Record<'_>, Unfit>| match record {
        Ok(record) => S::unfit(&record, String::new()).what,
        Err(unfit) => unfit.what,
    };
    records.into_iter().map(what).collect()
}
