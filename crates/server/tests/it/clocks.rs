//! A worker whose machine's clock is wrong keeps to the schedule: what is due is due by the journal's clock. Receivers refuse
//! what it signs, which is not held against them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use domain::Timestamp;
use serde_json::{Value, json};
use testkit::folder::TestFolder;
use testkit::{Answer, Clock, Received, Receiver, Watchbell, eventually};

use crate::commands::{run, stdout};
use crate::deployment::{Customer, DEADLINE, Deployment, event, http};

const HOUR_S: i64 = 3_600;
/// A receiver refuses what was signed longer ago than this, or later than it is.
const TOLERANCE_S: u64 = 300;
/// The first wait, as a receiver sees it: times on record are cut to milliseconds.
const FIRST_WAIT: Duration = Duration::from_millis(999);

#[tokio::test]
async fn a_clock_that_jumps_ahead_puts_off_no_retry() {
    let Some(mut stage) = Stage::set(0) else {
        return;
    };
    stage.clock.shift(HOUR_S).expect("shifted");
    stage.notices();

    let [first, second] = stage.refused_once().await;
    assert!(signed_off_by(&first) > HOUR_S / 2, "its clock is ahead");
    let waited = second.arrived - first.arrived;
    assert!(waited >= FIRST_WAIT, "{waited:?}");
}

#[tokio::test]
async fn a_clock_that_is_behind_brings_no_retry_forward() {
    let Some(mut stage) = Stage::set(-HOUR_S) else {
        return;
    };
    stage.notices();
    let [first, second] = stage.refused_once().await;
    assert!(signed_off_by(&first) < -HOUR_S / 2, "its clock is behind");
    let waited = second.arrived - first.arrived;
    assert!(waited >= FIRST_WAIT, "{waited:?}");
}

#[tokio::test]
async fn on_a_machine_that_does_everything_a_clock_that_is_ahead_puts_off_no_retry_either() {
    let Some(mut stage) = Stage::set_alone(HOUR_S) else {
        return;
    };
    stage.notices();
    let [first, second] = stage.refused_once().await;
    assert!(signed_off_by(&first) > HOUR_S / 2, "its clock is ahead");
    let waited = second.arrived - first.arrived;
    assert!(waited >= FIRST_WAIT, "{waited:?}");
}

#[tokio::test]
async fn what_receivers_refuse_because_of_our_clock_is_our_fault_and_arrives_once_it_is_right() {
    let Some(mut stage) = Stage::set(HOUR_S) else {
        return;
    };
    stage.notices();
    assert!(skew(&mut stage.worker).await > 3_000.0);
    let doctor = stage.doctor();
    assert!(doctor.contains("FAIL  clock "), "{doctor}");
    assert!(doctor.contains(" s ahead of NATS's"), "{doctor}");
    stage.receiver.answer_by(|received| {
        let is_fresh = signed_off_by(received).unsigned_abs() <= TOLERANCE_S;
        Answer::status(if is_fresh { 200 } else { 400 })
    });
    stage.alert().await;
    stage.receiver.wait_for(2, DEADLINE).await;
    stage.clock.shift(0).expect("right again");

    let delivery = eventually(DEADLINE, "it is delivered", async || {
        let deliveries = stage.customer.all_deliveries().await;
        let mut delivered = deliveries
            .into_iter()
            .filter(|one| one["state"] == "delivered");
        delivered.next()
    })
    .await;
    let id = delivery["id"].as_str().expect("an id");
    let delivery = stage.customer.delivery_in_state(id, "delivered").await;
    let log = delivery["attempt_log"].as_array().expect("attempts");
    let (last, refused) = log.split_last().expect("attempts");
    assert_eq!(last["outcome"], "delivered");
    for attempt in refused {
        assert_eq!(attempt["status"], 400);
        assert_eq!(attempt["outcome"], "our_fault", "{attempt}");
        let error = attempt["error"].as_str().expect("why");
        assert!(error.contains("clock"), "{error}");
    }
    let right = |line: &str| line.contains("agrees with NATS's again");
    stage.worker.wait_for_line(DEADLINE, right);
    let skew = skew(&mut stage.worker).await;
    assert!(skew.abs() < 2.0, "{skew}");
}

/// A worker with a clock of its own, beside those who have the right time.
struct Stage {
    // In this order: the processes end before what they use goes.
    worker: Watchbell,
    _rest: Option<Watchbell>,
    customer: Customer,
    receiver: Receiver,
    clock: Clock,
    _folder: TestFolder,
    deployment: Deployment,
}

impl Stage {
    /// A worker whose clock is off, beside others that have the right time. `None` where no clock can be shifted, which it
    /// says.
    fn set(by_s: i64) -> Option<Self> {
        let (deployment, folder, clock) = shifted(by_s)?;
        let mut rest = deployment.serve("api,index,match");
        let customer = deployment.customer(&mut rest);
        let worker = deployment.serve_by(&clock, "deliver");
        Some(Self {
            worker,
            _rest: Some(rest),
            customer,
            receiver: Receiver::start().expect("a receiver"),
            clock,
            _folder: folder,
            deployment,
        })
    }

    /// The same on a machine that does everything.
    fn set_alone(by_s: i64) -> Option<Self> {
        let (deployment, folder, clock) = shifted(by_s)?;
        let mut worker = deployment.serve_by(&clock, "api,index,match,deliver");
        Some(Self {
            customer: deployment.customer(&mut worker),
            worker,
            _rest: None,
            receiver: Receiver::start().expect("a receiver"),
            clock,
            _folder: folder,
            deployment,
        })
    }

    /// Waits until the worker has compared its clock with the journal's: before that it knows of nothing but its own.
    fn notices(&mut self) {
        let wrong = |line: &str| line.contains("ERROR") && line.contains("differs from NATS's");
        self.worker.wait_for_line(DEADLINE, wrong);
    }

    /// What an operator is told on the worker's machine.
    fn doctor(&self) -> String {
        let clock = self.clock.variables();
        let clock = clock.iter().map(|(name, value)| (&**name, &**value));
        let variables = self.deployment.variables().chain(clock);
        stdout(&run(&["doctor"], variables))
    }

    async fn alert(&self) {
        let url = self.receiver.url();
        self.customer.rule(json!({}), &url).await;
        self.customer.ingest(&event("agent-1")).await;
    }

    /// An alert whose first attempt is refused, for no fault of the clock, and the second is not.
    async fn refused_once(&self) -> [Arc<Received>; 2] {
        self.receiver.answer_sequence([500]);
        self.alert().await;
        let received = self.receiver.wait_for(2, DEADLINE).await;
        let received: [_; 2] = received.try_into().expect("two attempts");
        let log: Value = self
            .customer
            .delivery_in_state(received[0].delivery_id().expect("an id"), "delivered")
            .await;
        let signed = log["attempt_log"][0]["signed_at"].as_str();
        assert_eq!(signed, received[0].header("x-service-timestamp"));
        received
    }
}

#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn shifted(by_s: i64) -> Option<(Deployment, TestFolder, Clock)> {
    if let Some(why) = Clock::unavailable() {
        println!("not run: {why}");
        return None;
    }
    let folder = TestFolder::create().expect("a folder");
    let clock = Clock::new(folder.path()).expect("a clock");
    clock.shift(by_s).expect("shifted");
    Some((Deployment::new(), folder, clock))
}

/// How many seconds after its arrival it was signed, or before.
fn signed_off_by(received: &Received) -> i64 {
    let signed = received.header("x-service-timestamp").expect("a time");
    let signed = Timestamp::parse(signed).expect("a time");
    let arrived = received.arrived_at.duration_since(SystemTime::UNIX_EPOCH);
    let arrived_s = i64::try_from(arrived.expect("after 1970").as_secs()).expect("in range");
    signed.unix_seconds() - arrived_s
}

/// By how many seconds its clock is ahead, as it tells whoever monitors it.
async fn skew(worker: &mut Watchbell) -> f64 {
    let url = format!("{}/metrics", worker.url(DEADLINE));
    eventually(DEADLINE, "its metrics", async || {
        let text = http().get(&url).send().await.ok()?.text().await.ok()?;
        let name = "watchbell_clock_skew_seconds ";
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        value.parse().ok()
    })
    .await
}
