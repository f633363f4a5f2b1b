//! Two workers of deliveries share the work, and never send the same delivery at the same time.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use testkit::{Answer, Receiver, Watchbell, eventually};

use crate::deployment::{Customer, DEADLINE, Deployment, http};
use crate::in_hand::{Excuses, until_nothing_is_queued};
use crate::pace::{Acknowledged, Alarm, lags};

const ENDPOINTS: usize = 8;
const ALERTS: usize = 60;
/// How long each send is in flight.
const ANSWERED_AFTER: Duration = Duration::from_millis(100);
/// A delivery that a killed worker had in hand is handed out again after 16 s.
const HANDED_OUT_AGAIN: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_share_the_work_and_send_nothing_twice() {
    let mut stage = Stage::set().await;
    let raised = stage.raise().await;
    lags(&raised, &stage.receiver, DEADLINE).await;
    until_nothing_is_queued(&stage.deployment).await;

    let (sends, overlaps) = sends(&stage.receiver);
    let [one, two] = &mut stage.workers;
    let (one, two) = (sent_by(one).await, sent_by(two).await);
    println!(
        "{} deliveries: {one} by one worker, {two} by the other",
        raised.len()
    );
    assert_eq!(sends, raised.len(), "none was sent twice");
    assert_eq!(overlaps, 0);
    assert!(one > 0 && two > 0, "both took part: {one}, {two}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_is_killed_leaves_its_deliveries_to_the_other_which_never_overlaps_it() {
    let mut stage = Stage::set().await;
    let raised = stage.raise().await;
    stage
        .receiver
        .wait_for_count(raised.len() / 4, DEADLINE)
        .await;
    stage.workers[0].kill();
    let mut excuses = Excuses::default();
    excuses.worker_died(&stage.deployment);
    lags(&raised, &stage.receiver, HANDED_OUT_AGAIN).await;
    until_nothing_is_queued(&stage.deployment).await;

    let overlaps = sends(&stage.receiver).1;
    assert_eq!(overlaps, 0, "sent again when the first send was over");
    let arrivals = stage.receiver.arrivals();
    let mut arrived: BTreeMap<&str, Vec<Instant>> = BTreeMap::new();
    for arrival in &arrivals {
        arrived
            .entry(&arrival.delivery_id)
            .or_default()
            .push(arrival.at);
    }
    assert_eq!(arrived.len(), raised.len());
    let again = excuses.cover(arrived);
    println!(
        "{} deliveries, {again} sent again after the kill, of {} that both had in hand",
        raised.len(),
        excuses.held()
    );
    // The other one's were in hand too.
    assert!(again < raised.len() / 2, "only its own: {again}");
}

struct Stage {
    workers: [Watchbell; 2],
    alarms: Vec<Alarm>,
    receiver: Receiver,
    _rest: Watchbell,
    deployment: Deployment,
}

impl Stage {
    async fn set() -> Self {
        let deployment = Deployment::new();
        let mut rest = deployment.serve("api,index,match");
        let workers = [deployment.serve("deliver"), deployment.serve("deliver")];
        let customer: Customer = deployment.customer(&mut rest);
        let receiver = Receiver::start_light().expect("a receiver");
        receiver.answer_always(Answer::status(200).after(ANSWERED_AFTER));
        let mut alarms = Vec::new();
        for number in 0..ENDPOINTS {
            let url = receiver.url_of(&format!("/{number}"));
            alarms.push(Alarm::set(&customer, &format!("agent-{number}"), &url).await);
        }
        Self {
            workers,
            alarms,
            receiver,
            _rest: rest,
            deployment,
        }
    }

    async fn raise(&self) -> Acknowledged {
        let raising = self.alarms.iter().map(|alarm| alarm.raise_crowd(ALERTS));
        let raised = futures::future::join_all(raising).await;
        raised.into_iter().flatten().collect()
    }
}

/// How many sends arrived, and how many while another of the same delivery was in flight.
fn sends(receiver: &Receiver) -> (usize, usize) {
    let arrivals = receiver.arrivals();
    let mut last: HashMap<&str, Instant> = HashMap::new();
    let mut overlaps = 0;
    for arrival in &arrivals {
        let before = last.insert(&arrival.delivery_id, arrival.at);
        let since = before.map(|before| arrival.at.duration_since(before));
        overlaps += usize::from(since.is_some_and(|since| since < ANSWERED_AFTER));
    }
    (arrivals.len(), overlaps)
}

/// How many attempts a worker has made.
async fn sent_by(worker: &mut Watchbell) -> u64 {
    let name = "watchbell_delivery_attempts_total";
    let url = worker.url(DEADLINE);
    eventually(DEADLINE, "its metrics", async || {
        let text = http().get(format!("{url}/metrics")).send().await.ok()?;
        let text = text.text().await.ok()?;
        let lines = text.lines().filter(|line| line.starts_with(name));
        let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        Some(values.sum())
    })
    .await
}
