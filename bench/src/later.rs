//! Deliveries that wait for their next attempt, a million of them: what they cost worker and journal, how
//! late they are made, and that a crash of both forgets none.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use async_nats::jetstream;
use domain::{
    DeliveryId, EventId, OrgId, RuleId, Timestamp,
    delivery::{Cause, Trigger},
    partition::Partitions,
};
use futures::{TryStreamExt as _, stream};
use journal::{
    Journal, Options,
    record::{Job, Matched},
};
use testkit::{Arrival, Receiver, own};
use uuid::Uuid;

use crate::{
    Arguments, Verdict, events, fleet, process,
    server::{Server, Settings},
};

/// As many endpoints as the retries are spread over.
const ENDPOINTS: usize = 100;
/// Retries that fall due while they are watched, and over how long.
const WATCHED: usize = 60_000;
const WATCHED_MS: i64 = 60_000;
/// Time to put them in the journal before the first is due.
const LEAD_MS: i64 = 30_000;
const PUBLISHED_AT_ONCE: usize = 512;
/// What a deployment has unless its operator says otherwise.
const NAMESPACE: &str = "watchbell";
const PARTITIONS: u16 = 8;
const HOUR_MS: i64 = 3_600_000;
/// What we aim at (issue 6), and what only something broken comes to.
const AIM_S: f64 = 1.0;
const CEILING_S: f64 = 120.0;
const DEADLINE: Duration = Duration::from_secs(600);

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let mut engines = own::durable_engines()?;
    let settings = Settings::prepare(&arguments.binary()?, &engines)?;
    let mut worker = settings.serve("deliver")?;
    let receiver = Receiver::start_light()?;
    let mut waiting = Waiting::new(&engines.nats.url(), &receiver).await?;
    let memory = |worker: &Server, nats: u32| -> anyhow::Result<String> {
        let (worker, nats) = (
            process::memory_mib(worker.pid())?,
            process::memory_mib(nats)?,
        );
        Ok(format!("worker {worker:.0} MiB, NATS {nats:.0} MiB"))
    };

    let before = memory(&worker, engines.nats.pid()?)?;
    let tomorrow = events::now() + 24 * HOUR_MS;
    let started = Instant::now();
    let held = arguments.pending;
    waiting
        .add(held, |number| tomorrow + number % HOUR_MS)
        .await?;
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let rate = held as f64 / started.elapsed().as_secs_f64();
    let after = memory(&worker, engines.nats.pid()?)?;
    println!("{held} retries scheduled at {rate:.0}/s: {before} -> {after}");

    let spread = waiting.watch(&receiver, async || Ok(())).await?;
    println!("{WATCHED} due within {} s, {spread}", WATCHED_MS / 1_000);
    println!("meanwhile: {}", memory(&worker, engines.nats.pid()?)?);

    let mut back = 0.0;
    let again = waiting
        .watch(&receiver, async || {
            worker.kill();
            engines.nats.kill();
            let started = Instant::now();
            engines.nats.restart()?;
            worker = settings.serve("deliver")?;
            back = started.elapsed().as_secs_f64();
            Ok(())
        })
        .await?;
    println!("worker and NATS killed while they fell due, back after {back:.1} s: {again}");
    println!("afterwards: {}", memory(&worker, engines.nats.pid()?)?);
    let kept = waiting.kept().await?;
    // What is not settled yet is there beside them.
    ensure!(kept >= held as u64, "{kept} of {held} are still scheduled");
    println!("{kept} of {held} are still scheduled");
    let mut verdict = Verdict::default();
    verdict.at_most("retries late, p99 s", spread.p99_s, AIM_S, CEILING_S);
    Ok(verdict)
}

/// What was scheduled, and when it is due.
struct Waiting {
    journal: Journal,
    streams: jetstream::Context,
    urls: Vec<String>,
    /// Deliveries made so far; each has a number of its own.
    made: u128,
}

/// How late those that were watched arrived.
struct Late {
    p50_s: f64,
    p99_s: f64,
    max_s: f64,
    early: usize,
    twice: usize,
}

impl Waiting {
    async fn new(nats: &str, receiver: &Receiver) -> anyhow::Result<Self> {
        let options = Options {
            url: nats.to_owned(),
            namespace: NAMESPACE.to_owned(),
            partitions: Partitions::new(PARTITIONS).context("partitions")?,
            replicas: 1,
            events_bytes_max: None,
        };
        Ok(Self {
            journal: Journal::connect(&options).await?,
            streams: jetstream::new(async_nats::connect(nats).await?),
            urls: (0..ENDPOINTS)
                .map(|number| receiver.url_of(&format!("/{number}")))
                .collect(),
            made: 0,
        })
    }

    /// Schedules retries as a worker does; when each delivery is due.
    async fn add(
        &mut self,
        count: usize,
        due: impl Fn(i64) -> i64,
    ) -> anyhow::Result<HashMap<String, i64>> {
        let jobs = (0..count).map(|number| {
            self.made += 1;
            let due = due(i64::try_from(number)?);
            Ok(self.job(self.made, Timestamp::from_unix_millis(due)))
        });
        let jobs: Vec<Job> = jobs.collect::<anyhow::Result<_>>()?;
        stream::iter(jobs.iter().map(Ok))
            .try_for_each_concurrent(PUBLISHED_AT_ONCE, |job| {
                self.journal.deliver_later(None, job)
            })
            .await?;
        let due = |job: &Job| (job.matched.delivery.to_string(), job.due_at.unix_millis());
        Ok(jobs.iter().map(due).collect())
    }

    /// The second attempt of a delivery whose first was refused just now.
    fn job(&self, number: u128, due_at: Timestamp) -> Job {
        let place = usize::try_from(number % ENDPOINTS as u128).unwrap_or(0);
        let matched = Matched {
            org: OrgId::from_uuid(Uuid::from_u128(number % 16)),
            delivery: DeliveryId::from_uuid(Uuid::from_u128(number)),
            event: EventId::from_uuid(Uuid::from_u128(number)),
            rule: RuleId::from_uuid(Uuid::from_u128(number % ENDPOINTS as u128)),
            rule_name: "Endpoint".to_owned(),
            event_type: "tool_call".to_owned(),
            url: self.urls[place].clone(),
            matched_at: Timestamp::from_unix_millis(events::now()),
            cause: Cause::Match,
        };
        Job {
            attempt: 2,
            trigger: Trigger::Retry,
            step: 1,
            due_at,
            ..Job::first(matched, fleet::example())
        }
    }

    /// Schedules retries that fall due soon, lets something happen when half of them are, and waits until
    /// each has arrived.
    async fn watch(
        &mut self,
        receiver: &Receiver,
        happens: impl AsyncFnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Late> {
        receiver.clear();
        let begin = events::now() + LEAD_MS;
        let count = i64::try_from(WATCHED)?;
        let due = self
            .add(WATCHED, |number| begin + number * WATCHED_MS / count)
            .await?;
        receiver.wait_for_count(WATCHED / 2, DEADLINE).await;
        happens().await?;
        // A delivery that was sent twice counts once, so more may be needed.
        let started = Instant::now();
        let arrived = loop {
            let arrived = first_arrivals(&receiver.arrivals());
            if due.keys().all(|id| arrived.contains_key(id.as_str())) {
                break arrived;
            }
            let missing = WATCHED
                - due
                    .keys()
                    .filter(|id| arrived.contains_key(id.as_str()))
                    .count();
            ensure!(
                started.elapsed() < DEADLINE,
                "{missing} of {WATCHED} never came"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        let mut late: Vec<f64> = due
            .iter()
            .map(|(id, due)| seconds(arrived[id.as_str()] - due))
            .collect();
        late.sort_by(f64::total_cmp);
        Ok(Late {
            p50_s: fleet::percentile(&late, 50),
            p99_s: fleet::percentile(&late, 99),
            max_s: fleet::percentile(&late, 100),
            early: late.iter().filter(|late| **late < 0.0).count(),
            twice: receiver.count() - WATCHED,
        })
    }

    /// Messages that are still in the queue.
    async fn kept(&self) -> anyhow::Result<u64> {
        let mut kept = 0;
        for partition in 0..PARTITIONS {
            let name = format!("{NAMESPACE}_DELIVERIES_{partition}");
            kept += self
                .streams
                .get_stream(name)
                .await?
                .cached_info()
                .state
                .messages;
        }
        Ok(kept)
    }
}

/// When each delivery arrived first, in milliseconds since 1970.
fn first_arrivals(arrivals: &[Arrival]) -> HashMap<String, i64> {
    let (now, now_ms) = (Instant::now(), events::now());
    let mut first = HashMap::new();
    for arrival in arrivals {
        let ago = now.saturating_duration_since(arrival.at).as_millis();
        let at = now_ms - i64::try_from(ago).unwrap_or(0);
        first.entry(arrival.delivery_id.to_string()).or_insert(at);
    }
    first
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1e3
}

impl std::fmt::Display for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "late p50 {:.3} s, p99 {:.3} s, at most {:.3} s; {} early, {} came twice",
            self.p50_s, self.p99_s, self.max_s, self.early, self.twice
        )
    }
}
