//! A real Redis whose scripts go by a clock that the test sets, and nodes that do too.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use domain::limit::Operation;
use redis::{Commands as _, Connection};
use testkit::{eventually, namespace, own, shared};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{CALL_BUDGET, Limits, Options, Parts, clock::Clock, redis::Scripts};

/// On a busy machine an answer may take longer than in production; these tests are not about time.
const PATIENT_BUDGET: Duration = Duration::from_secs(10);
pub(super) const DEADLINE: Duration = Duration::from_secs(20);

/// A corner of Redis with a clock.
pub(super) struct Stage {
    pub(super) connection: Connection,
    url: String,
    namespace: String,
    now_us: Arc<AtomicU64>,
    /// The tasks of the nodes, and how to end them.
    running: JoinSet<()>,
    stopping: CancellationToken,
    /// A Redis of its own, which ends with the stage.
    _redis: Option<Box<dyn Any + Send>>,
}

/// The line of each script that reads the clock.
const READS_CLOCK: &str = "local time = redis.call('TIME')\n";

impl Stage {
    /// On the Redis that all tests share.
    pub(super) fn shared() -> Self {
        Self::new(shared().redis_url.clone(), None)
    }

    /// On a Redis that the test owns.
    pub(super) fn on(url: String) -> Self {
        Self::new(url, None)
    }

    /// On a Redis of its own, to count its calls.
    pub(super) fn own() -> Self {
        let redis = own::redis().expect("Redis starts");
        Self::new(redis.url(), Some(Box::new(redis)))
    }

    fn new(url: String, redis: Option<Box<dyn Any + Send>>) -> Self {
        let mut stage = Self {
            connection: connect(&url),
            url,
            namespace: namespace(),
            now_us: Arc::default(),
            running: JoinSet::new(),
            stopping: CancellationToken::new(),
            _redis: redis,
        };
        stage.set_ms(1_800_000_000_000);
        stage
    }

    /// Sets the clock of Redis and of every node.
    pub(super) fn set_ms(&mut self, now_ms: u64) {
        let clock = self.clock_key();
        let () = self.connection.set(clock, now_ms).expect("Redis answers");
        self.now_us.store(now_ms * 1_000, Ordering::SeqCst);
    }

    pub(super) fn advance_ms(&mut self, by_ms: u64) {
        self.set_ms(self.now_ms() + by_ms);
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.now_us.load(Ordering::SeqCst) / 1_000
    }

    /// Connects again after Redis was restarted.
    pub(super) fn reconnect(&mut self) {
        self.connection = connect(&self.url);
    }

    fn clock_key(&self) -> String {
        format!("{}:now", self.namespace)
    }

    /// What nodes call this caller in the epoch of now.
    pub(super) fn key(&mut self, subject: &str, operation: Operation) -> String {
        let epoch = self.epoch().expect("a node has named it");
        self.key_in(&epoch, subject, operation)
    }

    /// The epoch of the data, unless it was lost and no node has noticed.
    pub(super) fn epoch(&mut self) -> Option<String> {
        let key = format!("{}:rl:{{nodes}}:epoch", self.namespace);
        let said: Option<String> = self.connection.get(key).expect("Redis answers");
        let (_run, epoch) = said.as_deref()?.split_once(':')?;
        Some(epoch.to_owned())
    }

    pub(super) fn key_in(&self, epoch: &str, subject: &str, operation: Operation) -> String {
        let operation = operation.as_str();
        format!("{}:rl:{epoch}:{{{subject}}}:{operation}", self.namespace)
    }

    /// Our scripts, except that they ask the test for the time.
    pub(super) fn scripts(&self) -> Scripts {
        let asks_test = format!(
            "local ms = redis.call('GET', '{}'); local time = {{math.floor(ms / 1000), ms % 1000 * 1000}}\n",
            self.clock_key()
        );
        let set = |script: String| {
            assert_eq!(script.matches(READS_CLOCK).count(), 1);
            script.replace(READS_CLOCK, &asks_test)
        };
        let Scripts {
            exact,
            restore,
            heartbeat,
        } = Scripts::default();
        Scripts {
            exact: set(exact),
            restore: set(restore),
            heartbeat: set(heartbeat),
        }
    }

    /// A node on the clock of this stage, connected.
    pub(super) async fn node(&mut self) -> Limits {
        let parts = Parts {
            clock: Clock::Set(Arc::clone(&self.now_us)),
            scripts: self.scripts(),
            ..Parts::default()
        };
        self.start(parts, PATIENT_BUDGET).await
    }

    /// A node on the real clock, connected.
    pub(super) async fn node_in_real_time(&mut self) -> Limits {
        self.start(Parts::default(), PATIENT_BUDGET).await
    }

    /// A node in real time that has no room for a window, connected.
    pub(super) async fn node_without_room(&mut self) -> Limits {
        let parts = Parts {
            windows_max: 0,
            ..Parts::default()
        };
        self.start(parts, PATIENT_BUDGET).await
    }

    /// A node in real time as it is in production, connected.
    pub(super) async fn node_in_a_hurry(&mut self) -> Limits {
        self.start(Parts::default(), CALL_BUDGET).await
    }

    /// A node in real time that has no patience at all, connected.
    pub(super) async fn node_that_never_waits(&mut self) -> Limits {
        self.start(Parts::default(), Duration::ZERO).await
    }

    async fn start(&mut self, parts: Parts, call_budget: Duration) -> Limits {
        let options = Options {
            redis_url: Some(&self.url),
            namespace: &self.namespace,
            call_budget,
        };
        let node = Limits::assemble(&options, parts).expect("an address");
        self.running
            .spawn(node.clone().run(self.stopping.child_token()));
        eventually(DEADLINE, "the node is connected", async || node.is_shared()).await;
        node
    }

    /// Ends every node, as when the process is told to.
    pub(super) async fn stop(&mut self) {
        self.stopping.cancel();
        while let Some(ended) = self.running.join_next().await {
            ended.expect("the task ends as asked");
        }
    }

    /// How often Redis was asked to decide; on a Redis of its own only.
    pub(super) fn calls(&mut self) -> u64 {
        let stats = self.command_stats();
        // The only other script that runs is the beat, which is also the only user of ZADD.
        figure(&stats, "evalsha", "calls=") - figure(&stats, "zadd", "calls=")
    }

    /// How long scripts took in Redis since the last time.
    pub(super) fn script_time_us(&mut self) -> u64 {
        let stats = self.command_stats();
        let () = redis::cmd("CONFIG")
            .arg("RESETSTAT")
            .query(&mut self.connection)
            .expect("Redis answers");
        figure(&stats, "evalsha", "usec=") + figure(&stats, "eval", "usec=")
    }

    /// How much memory Redis uses.
    pub(super) fn used_bytes(&mut self) -> u64 {
        let said = self.info("memory");
        let mut lines = said.lines();
        let figure = lines.find_map(|line| line.strip_prefix("used_memory:"));
        figure.expect("it says").parse().expect("a number")
    }

    /// How many keys Redis holds.
    pub(super) fn keys(&mut self) -> u64 {
        let asking = redis::cmd("DBSIZE").query(&mut self.connection);
        asking.expect("Redis answers")
    }

    fn command_stats(&mut self) -> String {
        self.info("commandstats")
    }

    fn info(&mut self, section: &str) -> String {
        redis::cmd("INFO")
            .arg(section)
            .query(&mut self.connection)
            .expect("Redis answers")
    }
}

/// As if this node had admitted one request of the caller by itself.
pub(super) fn admit_alone(node: &Limits, subject: &str) {
    let limit = "100/60s".parse().expect("a quota");
    let inner = &node.inner;
    inner
        .table
        .enter(Operation::Ingest, subject, limit, |found, window| {
            let settled = inner.decide_alone(window, found.operation, limit, 1);
            inner.add_unsynced(window, found, &settled);
        });
}

fn connect(url: &str) -> Connection {
    let client = redis::Client::open(url).expect("an address");
    client.get_connection().expect("Redis runs")
}

/// A figure of one command; zero if it was never called.
fn figure(stats: &str, command: &str, name: &str) -> u64 {
    let prefix = format!("cmdstat_{command}:");
    let mut lines = stats.lines();
    let figures = lines.find_map(|line| line.strip_prefix(&prefix));
    let mut figures = figures.unwrap_or_default().split(',');
    let figure = figures.find_map(|figure| figure.strip_prefix(name));
    figure.map_or(0, |digits| digits.parse().expect("a number"))
}
