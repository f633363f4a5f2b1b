//! Deliveries and their attempts: written by the recorder, read by people.
//!
//! [`log`] applies what the journal says, by the statements of [`write`] and [`state`], and counts what is [`new_rows`]; [`read`] and [`list`] (with [`terms`]) show
//! it, and [`overview`] and [`recent_failures`] count it. [`balance`] holds the rows against what was decided, [`recover`] finds what is to be sent again, and
//! [`overdue`] what should have been.

pub mod balance;
pub mod list;
mod log;
mod new_rows;
pub mod overdue;
pub mod overview;
mod read;
pub mod recent_failures;
pub mod recover;
mod state;
mod terms;
mod write;

use domain::{AttemptId, DeliveryId, EventId, OrgId, RuleId, Timestamp};
use trail_proof::leaf::Salt;

pub use log::{DeliveryLog, Outcomes};
pub use state::{StateUpdate, UpdateSource};

/// One delivery as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub org: OrgId,
    pub id: DeliveryId,
    pub event: EventId,
    pub rule: RuleId,
    pub rule_name: String,
    pub event_type: String,
    pub url: String,
    pub state: String,
    /// Why it is held, failed or canceled.
    pub reason: Option<String>,
    pub attempts: u32,
    pub matched_at: Timestamp,
    pub next_at: Option<Timestamp>,
    pub cause: String,
    /// How many alerts that were kept back it stands for.
    pub suppressed: u32,
    /// The round of attempts it is in, if somebody asked for it again.
    pub round: Option<Round>,
}

/// A delivery that somebody asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Since when it is due.
    pub at: Timestamp,
    /// The number of the first attempt.
    pub from: u32,
}

impl Delivery {
    /// Whether an attempt of the present round is on record.
    pub fn was_attempted(&self) -> bool {
        self.attempts >= self.round.map_or(1, |round| round.from)
    }
}

/// One attempt on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub org: OrgId,
    pub delivery: DeliveryId,
    pub id: AttemptId,
    /// Hides it from those who have only its leaf in the transparency log; `None` if it was recorded before there was one.
    pub salt: Option<Salt>,
    pub number: u32,
    pub trigger: String,
    pub due_at: Timestamp,
    pub started_at: Timestamp,
    pub finished_at: Timestamp,
    pub phases: Phases,
    pub signed_at: Timestamp,
    /// The secrets it was signed with: `deployment`, or ids.
    pub secrets: Vec<String>,
    pub url: String,
    pub remote_address: Option<String>,
    pub tls: Option<String>,
    pub body_sha256: String,
    pub body_bytes: u32,
    pub status: Option<u16>,
    pub outcome: String,
    pub error: Option<String>,
    pub answer_headers: Vec<(String, String)>,
    pub answer: String,
    pub clock_skew_s: Option<i32>,
    pub retry_after_s: Option<u32>,
    /// Where the delivery stood after it; `None` if that was not kept yet.
    pub state: Option<String>,
    pub reason: Option<String>,
    pub next_at: Option<Timestamp>,
}

/// When the phases of an attempt were over, in microseconds from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    pub resolved_us: Option<u32>,
    pub connected_us: Option<u32>,
    pub secured_us: Option<u32>,
    pub sent_us: Option<u32>,
    pub answered_us: Option<u32>,
}

/// A number as PostgreSQL keeps it.
fn to_int(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn from_int(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
