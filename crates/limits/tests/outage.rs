//! Redis is killed, emptied and hangs (P15): checks go on, within the documented bounds, and the
//! rule holds over all nodes again when it is back.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use domain::limit::{Operation, Quota};
use limits::{CALL_BUDGET, Limits, Options};
use testkit::{Signal, Stopwatch, eventually, own};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const DEADLINE: Duration = Duration::from_secs(20);
/// A check may wait for one call of 30 ms before its own; the rest is for a busy machine.
const CHECK_MAX: Duration = Duration::from_millis(100);
const NODES: usize = 3;

/// For tests that are not about time: a machine that pauses must not look like a Redis that is away.
const PATIENT_BUDGET: Duration = Duration::from_secs(5);

/// Three nodes and their tasks.
struct Nodes {
    nodes: Vec<Limits>,
    running: JoinSet<()>,
    stopping: CancellationToken,
}

impl Nodes {
    async fn start(redis_url: &str, count: usize) -> Self {
        Self::with(redis_url, count, CALL_BUDGET).await
    }

    async fn with(redis_url: &str, count: usize, call_budget: Duration) -> Self {
        let options = Options {
            redis_url: Some(redis_url),
            namespace: "outage",
            call_budget,
        };
        let mut this = Self {
            nodes: Vec::new(),
            running: JoinSet::new(),
            stopping: CancellationToken::new(),
        };
        for _ in 0..count {
            let node = Limits::new(&options).expect("an address");
            this.running
                .spawn(node.clone().run(this.stopping.child_token()));
            this.nodes.push(node);
        }
        this.all_are(Sharing::Shared).await;
        // Each has heard of the others with its second beat.
        this.all_know_each_other().await;
        this
    }

    async fn all_are(&self, wanted: Sharing) {
        let what = format!("every node is {wanted:?}");
        eventually(DEADLINE, &what, async || {
            let is_wanted = |node: &Limits| node.is_shared() == (wanted == Sharing::Shared);
            self.nodes.iter().all(is_wanted)
        })
        .await;
    }

    async fn all_know_each_other(&self) {
        eventually(DEADLINE, "every node knows of all", async || {
            self.nodes
                .iter()
                .all(|node| node.nodes() == self.nodes.len())
        })
        .await;
    }

    /// Checks once on a node.
    async fn admits(&self, node: usize, operation: Operation, limit: Quota) -> bool {
        let asked = Stopwatch::start();
        let answer = self.nodes[node].check(operation, limit, "caller").await;
        let took = asked.elapsed();
        assert!(took < CHECK_MAX, "a check took {took:?}");
        answer.admitted
    }

    /// Checks on a node until it is refused; how many were admitted.
    async fn exhaust(&self, node: usize, operation: Operation, limit: Quota) -> u32 {
        let mut admitted = 0;
        while self.admits(node, operation, limit).await {
            admitted += 1;
        }
        admitted
    }

    /// The same on every node.
    async fn exhaust_all(&self, operation: Operation, limit: Quota) -> Vec<u32> {
        let mut admitted = Vec::new();
        for node in 0..self.nodes.len() {
            admitted.push(self.exhaust(node, operation, limit).await);
        }
        admitted
    }

    async fn stop(mut self) {
        self.stopping.cancel();
        while let Some(ended) = self.running.join_next().await {
            ended.expect("the task ends as asked");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sharing {
    Shared,
    Alone,
}

fn quota(text: &str) -> Quota {
    text.parse().expect("a quota")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_redis_costs_no_more_than_the_bound_and_is_told_everything_when_it_is_back() {
    let mut redis = own::redis().expect("Redis starts");
    let nodes = Nodes::with(&redis.url(), NODES, PATIENT_BUDGET).await;
    let ten = quota("10/60s");
    assert_eq!(nodes.exhaust(0, Operation::Login, ten).await, 10);
    assert_eq!(nodes.exhaust(1, Operation::Login, ten).await, 0);
    assert_eq!(nodes.exhaust(0, Operation::Ingest, ten).await, 10);

    redis.kill();
    // The first check after it notices; so does the beat where nobody asks.
    assert!(nodes.admits(1, Operation::List, ten).await);
    assert!(!nodes.nodes[1].is_shared());
    nodes.all_are(Sharing::Alone).await;
    // A third of ten, rounded up, for each node that has not heard that all ten are gone.
    let alone = nodes.exhaust_all(Operation::Login, ten).await;
    assert_eq!(alone, [0, 0, 4], "less than 2N + m with the ten before");
    let alone = nodes.exhaust_all(Operation::Export, ten).await;
    assert_eq!(alone, [4, 4, 4], "N + m - 1 in an outage");
    let alone = nodes.exhaust_all(Operation::Ingest, ten).await;
    assert_eq!(alone, [0, 10, 10], "m times N");

    redis.restart().expect("Redis starts again, empty");
    nodes.all_are(Sharing::Shared).await;
    for operation in [Operation::Login, Operation::Export, Operation::Ingest] {
        let admitted = nodes.exhaust_all(operation, ten).await;
        assert_eq!(admitted, [0, 0, 0], "{operation:?} is still full");
    }
    let admitted = nodes.exhaust_all(Operation::RuleWrite, ten).await;
    assert_eq!(admitted, [10, 0, 0], "and the rule holds");
    nodes.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_node_notices_that_a_restarted_redis_is_empty() {
    let mut redis = own::redis().expect("Redis starts");
    let nodes = Nodes::with(&redis.url(), 1, PATIENT_BUDGET).await;
    let ten = quota("10/60s");
    for _ in 0..4 {
        assert!(nodes.admits(0, Operation::Export, ten).await);
    }
    for _ in 0..2 {
        redis.kill();
        nodes.all_are(Sharing::Alone).await;
        redis.restart().expect("Redis starts again, empty");
        nodes.all_are(Sharing::Shared).await;
    }
    assert_eq!(nodes.exhaust(0, Operation::Export, ten).await, 6);
    nodes.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_hangs_is_left_and_told_what_it_missed() {
    let mut redis = own::redis().expect("Redis starts");
    let nodes = Nodes::start(&redis.url(), NODES).await;
    let hundred = quota("100/60s");
    for _ in 0..10 {
        assert!(nodes.admits(0, Operation::Ingest, hundred).await);
    }
    redis.signal(Signal::Stop);
    for node in [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2] {
        assert!(nodes.admits(node, Operation::Ingest, hundred).await);
    }
    nodes.all_are(Sharing::Alone).await;
    redis.signal(Signal::Continue);
    nodes.all_are(Sharing::Shared).await;
    let answer = nodes.nodes[0]
        .check(Operation::Ingest, hundred, "caller")
        .await;
    // What was admitted, this one, and at most three calls of each node that came too late.
    let counted = 100 - answer.remaining;
    assert!((26..=26 + 9).contains(&counted), "{counted} are counted");
    nodes.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_was_emptied_is_told_everything_again() {
    let redis = own::redis().expect("Redis starts");
    let nodes = Nodes::with(&redis.url(), NODES, PATIENT_BUDGET).await;
    let ten = quota("10/60s");
    for node in [0, 0, 0, 1, 1, 1, 2, 2, 2] {
        assert!(nodes.admits(node, Operation::Register, ten).await);
    }
    let client = redis::Client::open(redis.url()).expect("an address");
    let mut connection = client.get_connection().expect("Redis runs");
    let () = redis::cmd("FLUSHALL")
        .query(&mut connection)
        .expect("Redis answers");
    eventually(DEADLINE, "all nine are there again", async || {
        let epoch: Option<String> = redis::cmd("GET")
            .arg("outage:rl:{nodes}:epoch")
            .query(&mut connection)
            .expect("Redis answers");
        let epoch = epoch.unwrap_or_default();
        let name = epoch.split(':').next_back().unwrap_or_default();
        let key = format!("outage:rl:{name}:{{caller}}:register");
        let count: usize = redis::cmd("LLEN")
            .arg(key)
            .query(&mut connection)
            .expect("Redis answers");
        count == 9
    })
    .await;
    // A node tells Redis everything before it asks Redis again.
    nodes.all_are(Sharing::Shared).await;
    assert_eq!(nodes.exhaust_all(Operation::Register, ten).await, [1, 0, 0]);
    nodes.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_every_window_of_an_outage_stays_within_its_bound() {
    const COUNT: usize = 12;
    let window = Duration::from_millis(500);
    let limit = Quota::new(12, window).expect("in range");
    let mut redis = own::redis().expect("Redis starts");
    let nodes = Nodes::start(&redis.url(), NODES).await;
    let started = Instant::now();
    let stopping = CancellationToken::new();
    let late = Arc::new(Mutex::new(None));
    let mut lanes = JoinSet::new();
    for node in &nodes.nodes {
        for operation in [Operation::Ingest, Operation::Login] {
            let late = Arc::clone(&late);
            lanes.spawn(hammer(
                node.clone(),
                operation,
                limit,
                late,
                stopping.clone(),
            ));
        }
    }
    redis.kill();
    nodes.all_are(Sharing::Alone).await;
    // waits for: some windows that lie wholly in the outage
    tokio::time::sleep(3 * window).await;
    redis.restart().expect("Redis starts again, empty");
    nodes.all_are(Sharing::Shared).await;
    let shared_since = Instant::now();
    // A starved machine keeps Redis waiting for so long that a node counts alone.
    let last_late = eventually(
        DEADLINE,
        "four windows in which Redis is in time",
        async || {
            let late = late.lock().expect("no lane fails").unwrap_or(shared_since);
            let since = late.max(shared_since);
            (since.elapsed() >= 4 * window).then_some(since)
        },
    )
    .await;
    assert!(nodes.nodes.iter().all(Limits::is_shared));
    stopping.cancel();

    let (mut ingest, mut login) = (Vec::new(), Vec::new());
    while let Some(lane) = lanes.join_next().await {
        let (operation, admissions) = lane.expect("no lane fails");
        match operation {
            Operation::Ingest => ingest.extend(admissions),
            _ => login.extend(admissions),
        }
    }
    let most = |admissions: &[(Instant, Instant)], since: Instant| {
        let starts = admissions.iter().map(|(asked, _)| *asked);
        let inside = |from: Instant| {
            let is_inside = |(asked, admitted): &&(Instant, Instant)| {
                *asked >= from && *admitted + Duration::from_millis(1) < from + window
            };
            admissions.iter().filter(is_inside).count()
        };
        starts.filter(|from| *from >= since).map(inside).max()
    };
    let most_ever = [&ingest, &login].map(|one| most(one, started).expect("some"));
    // From then on windows begin in which every node asks Redis.
    let exact_since = last_late + window;
    let most_after = [&ingest, &login].map(|one| most(one, exact_since).expect("some"));
    println!("most in a window: {most_ever:?}, and after the outage: {most_after:?}");
    assert!(most_ever[0] <= NODES * COUNT);
    assert!(most_ever[1] < 2 * COUNT + NODES);
    assert!(most_after[0] <= COUNT && most_after[1] <= COUNT);
    nodes.stop().await;
}

/// When a request was made and when it was admitted, until told to stop. `late`: when last a node may have given up
/// waiting for Redis.
async fn hammer(
    node: Limits,
    operation: Operation,
    limit: Quota,
    late: Arc<Mutex<Option<Instant>>>,
    stopping: CancellationToken,
) -> (Operation, Vec<(Instant, Instant)>) {
    let mut admissions = Vec::new();
    while !stopping.is_cancelled() {
        let (asked, watch) = (Instant::now(), Stopwatch::start());
        let answer = node.check(operation, limit, "caller").await;
        let (answered, took) = (Instant::now(), watch.elapsed());
        assert!(took < CHECK_MAX, "{took:?}");
        if answered - asked >= CALL_BUDGET {
            *late.lock().expect("no lane fails") = Some(answered);
        }
        if answer.admitted {
            admissions.push((asked, answered));
        }
        // waits for: a little, so that lanes do not take the machine for themselves
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    (operation, admissions)
}

#[tokio::test]
async fn without_any_redis_a_node_starts_and_limits_by_itself() {
    let options = Options {
        // Nobody listens there.
        redis_url: Some("redis://127.0.0.1:1"),
        namespace: "nobody",
        call_budget: CALL_BUDGET,
    };
    let node = Limits::new(&options).expect("an address");
    let mut running = JoinSet::new();
    let stopping = CancellationToken::new();
    running.spawn(node.clone().run(stopping.clone()));
    for expected in [true, true, false] {
        let answer = node.check(Operation::Login, quota("2/60s"), "caller").await;
        assert_eq!(answer.admitted, expected);
    }
    assert!(!node.is_shared());
    stopping.cancel();
    running.join_next().await;
    let options = Options {
        redis_url: Some("http://example.com"),
        ..options
    };
    assert!(Limits::new(&options).is_err(), "that is not an address");
}

#[tokio::test]
async fn ping_tells_whether_redis_answers() {
    let redis = own::redis().expect("Redis starts");
    limits::ping(&redis.url()).await.expect("it does");
    let failure = limits::ping("redis://127.0.0.1:1").await;
    assert_eq!(failure.expect_err("nobody is there").to_string(), "connect");
    let failure = limits::ping("nonsense").await;
    assert_eq!(
        failure.expect_err("no address").to_string(),
        "the Redis address is not valid"
    );
}
