//! Walks over recorded decisions, newest first: reading in pieces, judging on a thread that may be busy.

use std::{sync::Arc, time::Duration};

use domain::{OrgId, Timestamp, error_code::ErrorCode, event::Filter};
use policy::recorded::Recorded;
use runtime::error_chain::chain;
use tokio::{task::spawn_blocking, time::Instant};

use crate::{
    alerts::backtest::request::plan,
    decisions::audit_event::EVENT_TYPE,
    edge::{Problem, slots::Slot},
    exports::source::{self, Ahead, Batch, Source},
    planes::ControlPlane,
};

/// How long a walk may take; a client that waits 10 s gets what was found so far.
const BUDGET: Duration = Duration::from_secs(8);
/// How many events a piece has: judging as many takes well below a second, and a walk ends between two.
const PIECE_ROWS: u32 = 2_000;

/// What is done with decisions.
pub(super) trait Look: Send + 'static {
    fn look_at(&mut self, decision: &Recorded);

    /// One that cannot be made again.
    fn skip(&mut self);
}

/// How far a walk came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reached {
    /// `None`: all of the range was looked at. Otherwise what occurred then or later was.
    pub searched_to: Option<Timestamp>,
}

/// Looks at the decisions of a range, as far as the time allows.
pub(super) async fn walk<L: Look>(
    plane: &ControlPlane,
    org: OrgId,
    (from, to): (Timestamp, Option<Timestamp>),
    mut look: L,
    slot: Slot,
) -> Result<(L, Reached), Problem> {
    let began = Instant::now();
    let filter = Filter {
        from: Some(from),
        to,
        event_type: vec![EVENT_TYPE.to_owned()],
        ..Filter::default()
    };
    let plan = plan(plane, org, filter).await?;
    let (store, files) = (&plane.store, &plane.files);
    let source = Source::new(store.clone(), files.clone(), plan.clone());
    // The next piece is read while this one is judged.
    let mut source = Ahead::new(source.in_pieces_of(PIECE_ROWS));
    let slot = Arc::new(slot);
    while let Some(batch) = source.next().await.map_err(unreadable)? {
        let below = batch.below;
        look = judge(look, batch, Arc::clone(&slot)).await?;
        if began.elapsed() < BUDGET {
            continue;
        }
        // It stops between two milliseconds, so that whoever asks for the rest counts nothing twice.
        let at = below.time();
        let moment = plan.since(at);
        let mut rest = Source::resume(store.clone(), files.clone(), moment, below);
        while let Some(batch) = rest.next().await.map_err(unreadable)? {
            look = judge(look, batch, Arc::clone(&slot)).await?;
        }
        let is_left = plan.range.is_some_and(|range| range.oldest.time() < at);
        let searched_to = is_left.then_some(at);
        return Ok((look, Reached { searched_to }));
    }
    Ok((look, Reached { searched_to: None }))
}

/// The thread has the slot for as long as it works: a client that goes away does not free it.
async fn judge<L: Look>(mut look: L, batch: Batch, slot: Arc<Slot>) -> Result<L, Problem> {
    let judged = spawn_blocking(move || {
        for json in batch.events.iter() {
            match Recorded::read(json) {
                Ok(decision) => look.look_at(&decision),
                Err(_) => look.skip(),
            }
        }
        drop(slot);
        look
    });
    judged.await.map_err(|error| {
        tracing::error!(%error, "the comparison of recorded decisions died");
        Problem::new(ErrorCode::Internal, ErrorCode::Internal.summary())
    })
}

fn unreadable(error: source::Error) -> Problem {
    match error {
        source::Error::Store(error) => error.into(),
        other => {
            tracing::error!(error = chain(&other), "could not read recorded decisions");
            Problem::new(ErrorCode::Internal, ErrorCode::Internal.summary())
        }
    }
}
