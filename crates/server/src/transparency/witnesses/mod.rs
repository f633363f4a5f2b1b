//! Has the checkpoints of transparency logs cosigned by the witnesses of `transparency.witnesses`, as C2SP's tlog-witness
//! describes.
//!
//! ```text
//! sequencer ── signs a checkpoint: PostgreSQL has it, and it is shown
//!      ┆
//! collector ── sees that; one process at a time, whichever it is (collector, turn)
//!      └── a round for the log: its newest checkpoint, with a proof from what each witness cosigned last, to all of them at
//!          once (round, exchange)
//!             ├── a cosignature that verifies is kept beside the checkpoint as soon as it comes (store/transparency)
//!             └── anything else is noted, counted, and asked again later (not_cosigned)
//! ```
//!
//! The collector looks at what PostgreSQL has and moves it toward all being cosigned; nothing is handed to it. So signing waits
//! for nobody, and whatever a crash interrupts is found again. What a witness remembers can be more or less than we believe, after
//! a crash or if one is started from an old folder: it answers 409 with what it has, and gets the proof from there.
//!
//! What a witness that is away, slow or lying can cost is its own cosignature. An exchange with it has a time limit and a limit on
//! what is read; a log is asked about once a second at most, with its newest checkpoint only; a witness that does not answer is
//! tried by one log at a time, ever less often; and a cosignature counts only if it is by the configured key and of the checkpoint
//! that was sent. The URLs are the operator's and may be private, so nothing vets them, but no redirect is followed.
//!
//! What readers are shown meanwhile: [`published`](super::published).

mod collector;
mod exchange;
pub(crate) mod list;
mod not_cosigned;
mod round;
mod turn;

pub(crate) use self::{
    collector::{Collector, SILENT_AFTER},
    round::Tools,
};
