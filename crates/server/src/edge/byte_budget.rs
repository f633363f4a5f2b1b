//! How many bytes of events and questions an organization may send in a minute and in a day, unpacked, as they are stored. Requests are counted by
//! their number and over all nodes; this keeps a disk from being filled, and each process counts by itself. While a log is nearly full, which
//! `nearly_full` looks for, what was sent in a day also says who has had their share of it.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::{
    OrgId, Timestamp,
    error_code::ErrorCode,
    limit::retry_after_s,
    partition::{Partition, Partitions},
};

use super::Problem;
use crate::config;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How often those whose day is over are forgotten.
const FORGET_EVERY: Duration = MINUTE;
/// When to try again after a share is used up. Others may have sent as much by then; it may also take days until there is room.
const SHARE_RETRY: Duration = MINUTE;
const NO_SHARE: u64 = u64::MAX;

/// What each organization has left. Cheap to clone.
#[derive(Clone)]
pub struct ByteBudget {
    per_minute: u64,
    per_day: u64,
    used: Arc<Mutex<Known>>,
    partitions: Partitions,
    /// By partition: what one may have sent in a day, or [`NO_SHARE`] while its log has room for everybody.
    shares: Arc<[AtomicU64]>,
}

#[derive(Default)]
struct Known {
    used: HashMap<OrgId, Used>,
    forgot_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Default)]
struct Used {
    minute: Window,
    day: Window,
}

/// What was used since a window began. The next begins with the first request after its end.
#[derive(Clone, Copy, Default)]
struct Window {
    began: Option<Timestamp>,
    bytes: u64,
}

impl ByteBudget {
    pub fn new(settings: &config::Events, partitions: Partitions) -> Self {
        Self {
            per_minute: settings.bytes_per_minute_max,
            per_day: settings.bytes_per_day_max,
            used: Arc::default(),
            partitions,
            shares: partitions.all().map(|_| AtomicU64::new(NO_SHARE)).collect(),
        }
    }

    /// Counts bytes of events that are about to be stored, or says how long to wait.
    pub fn spend_on_events(&self, org: OrgId, bytes: u64, now: Timestamp) -> Result<(), Problem> {
        if self.has_had_its_share(org, now) {
            return Err(had_its_share());
        }
        self.spend(org, bytes, now)
    }

    /// Whether the organization's log is nearly full, and the organization among those who filled it.
    pub fn has_had_its_share(&self, org: OrgId, now: Timestamp) -> bool {
        let share = self.share_of(self.partitions.of(org));
        let share = share.load(Ordering::Relaxed);
        share != NO_SHARE && {
            let known = self.used.lock().unwrap_or_else(PoisonError::into_inner);
            let used = known.used.get(&org);
            used.is_some_and(|used| used.day.at(now, DAY).bytes > share)
        }
    }

    /// What each organization of a partition that sent anything has sent in its day.
    pub fn sent_to(&self, partition: Partition, now: Timestamp) -> Vec<u64> {
        let known = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let of_partition = known
            .used
            .iter()
            .filter(|(org, _)| self.partitions.of(**org) == partition);
        let bytes = of_partition.map(|(_, used)| used.day.at(now, DAY).bytes);
        bytes.filter(|bytes| *bytes > 0).collect()
    }

    /// Says what one may have sent in a day to a partition; `None`: there is room for everybody. Returns whether that is new.
    pub fn ration(&self, partition: Partition, share: Option<u64>) -> bool {
        let share = share.unwrap_or(NO_SHARE);
        let before = self.share_of(partition).swap(share, Ordering::Relaxed);
        (before == NO_SHARE) != (share == NO_SHARE)
    }

    fn share_of(&self, partition: Partition) -> &AtomicU64 {
        &self.shares[usize::from(partition.index())]
    }

    /// Counts bytes that are about to be stored, or says how long to wait. For questions: they are answered though their record
    /// finds no room, if their organization wants that.
    pub fn spend(&self, org: OrgId, bytes: u64, now: Timestamp) -> Result<(), Problem> {
        let mut known = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let forgot_at = *known.forgot_at.get_or_insert(now);
        if now.since(forgot_at) >= FORGET_EVERY {
            known.forgot_at = Some(now);
            known
                .used
                .retain(|_, used| used.day.at(now, DAY).began.is_some());
        }
        let used = known.used.entry(org).or_default();
        let (minute, day) = (used.minute.at(now, MINUTE), used.day.at(now, DAY));
        for (window, most, lasts, name) in [
            (minute, self.per_minute, MINUTE, "minute"),
            (day, self.per_day, DAY, "day"),
        ] {
            // The first of a window is taken however large it is: it has a bound of its own.
            if window.bytes > 0 && window.bytes + bytes > most {
                return Err(refused(most, name, window.left(now, lasts)));
            }
        }
        *used = Used {
            minute: minute.with(bytes, now),
            day: day.with(bytes, now),
        };
        Ok(())
    }
}

impl Window {
    /// This window, or a new one if it is over.
    fn at(self, now: Timestamp, lasts: Duration) -> Self {
        match self.began {
            Some(began) if now.since(began) < lasts => self,
            _ => Self::default(),
        }
    }

    fn with(self, bytes: u64, now: Timestamp) -> Self {
        Self {
            began: Some(self.began.unwrap_or(now)),
            bytes: self.bytes + bytes,
        }
    }

    fn left(self, now: Timestamp, lasts: Duration) -> Duration {
        let gone = self.began.map_or(Duration::ZERO, |began| now.since(began));
        lasts.saturating_sub(gone)
    }
}

fn refused(most: u64, window: &str, left: Duration) -> Problem {
    let seconds = retry_after_s(left);
    let detail = format!(
        "Your organization may send {most} bytes of events and questions per {window} to this server, uncompressed. Send the request again in {seconds} s."
    );
    Problem::new(ErrorCode::RateLimited, detail).retry_after(seconds)
}

fn had_its_share() -> Problem {
    let seconds = retry_after_s(SHARE_RETRY);
    let detail = format!(
        "The log that your organization shares with others is nearly full, and your organization sent more than its share in the last day. Nothing in this request was recorded. Keep it, send less, and send it again in {seconds} s; space is freed as events become older than 7 days, or when the operator raises `journal.events_bytes_max`."
    );
    Problem::new(ErrorCode::RateLimited, detail).retry_after(seconds)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_beyond_a_minute_or_a_day_waits_and_others_do_not() {
        let settings = config::Events {
            bytes_per_minute_max: 100,
            bytes_per_day_max: 250,
            ..config::Events::default()
        };
        let budget = ByteBudget::new(&settings, Partitions::new(1).expect("in range"));
        let org = |number| OrgId::from_uuid(Uuid::from_u128(number));
        let at = |seconds: i64| Timestamp::from_unix_millis(1_794_735_000_000 + seconds * 1_000);
        assert!(budget.spend(org(1), 60, at(0)).is_ok());
        assert!(budget.spend(org(1), 60, at(1)).is_err(), "the minute's");
        assert!(
            budget.spend(org(1), 40, at(2)).is_ok(),
            "what was refused was not counted"
        );
        assert!(budget.spend(org(2), 100, at(2)).is_ok(), "another's");
        assert!(budget.spend(org(1), 100, at(60)).is_ok(), "a new minute");
        assert!(budget.spend(org(1), 60, at(120)).is_err(), "the day's");
        assert!(budget.spend(org(1), 50, at(180)).is_ok());
        assert!(budget.spend(org(1), 100, at(86_400)).is_ok(), "a new day");
        assert!(
            budget.spend(org(3), 500, at(0)).is_ok(),
            "one that is too large by itself"
        );
    }
}
