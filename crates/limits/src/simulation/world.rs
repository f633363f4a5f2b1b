//! Nodes, those who ask them, and what goes wrong: all of it follows from the seed.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::limit::{Operation, Quota};
use testkit::Dice;
use tokio::{
    runtime::Builder,
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{
    books::Books,
    mood::{Kind, Mood},
    redis::Redis,
    wire::{Hub, spawn},
};
use crate::{
    CALL_BUDGET, Limits, Parts,
    clock::Clock,
    link::Link,
    redis::{Address, Scripts, Server},
};

const SUBJECT: &str = "203.0.113.7";
/// How long after the last fault every node asks Redis again: it probes four times a second, and connecting takes a
/// second at most.
const WELL_AGAIN_MAX: Duration = Duration::from_secs(10);
/// How long nobody asks anything, so that what Redis is owed arrives.
const QUIET: Duration = Duration::from_secs(3);

/// One run.
pub(super) struct World {
    dice: Dice,
    mood: Mood,
    hub: Hub,
    books: Arc<Mutex<Books>>,
    nodes: Vec<Node>,
    started: usize,
    /// What Redis last saved to its disk.
    saved: Redis,
}

struct Node {
    process: usize,
    limits: Limits,
    stopping: CancellationToken,
    running: JoinHandle<()>,
    asking: JoinSet<()>,
}

impl World {
    /// Goes through a schedule, and then on until all is well; what happened.
    pub(super) fn run(seed: u64, steps: u32) -> Books {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let mut world = Self::new(seed);
            for _ in 0..steps {
                world.step().await;
            }
            world.calm_down(seed).await;
            let (books, hub) = (Arc::clone(&world.books), world.hub.clone());
            drop(world);
            let mut books = Arc::into_inner(books)
                .expect("nobody asks any more")
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner);
            books.steps += hub.lock().commands + u64::from(steps);
            books
        })
    }

    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let kind = Kind::of(seed);
        let mood = match kind {
            Kind::Busy => Mood::busy(&mut dice),
            Kind::Outages => Mood::outages(&mut dice),
            Kind::Forgetful => Mood::forgetful(&mut dice),
            Kind::Anything => Mood::new(&mut dice),
        };
        let operation = if kind.is_roomy() {
            Operation::Ingest
        } else {
            dice.of(&[Operation::Ingest, Operation::Login])
        };
        let quota = if kind.is_roomy() {
            "100000/1h".parse()
        } else {
            let window_ms = dice.of(&[700, 2_000, 5_000, 20_000]);
            let window = Duration::from_millis(window_ms);
            let count = dice.of(&[1, 2, 5, 12]);
            Ok(Quota::new(count, window).expect("in range"))
        };
        let quota = quota.expect("a quota");
        let mut world = Self {
            hub: Hub::new(Dice(seed ^ 0x5eed)),
            books: Arc::new(Mutex::new(Books::new(seed, operation, quota))),
            dice,
            mood,
            nodes: Vec::new(),
            started: 0,
            saved: Redis::default(),
        };
        world.books().is_complete = kind == Kind::Outages;
        for _ in 0..world.mood.nodes {
            world.start();
        }
        world
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another process, with a clock of its own.
    fn start(&mut self) {
        let process = self.started;
        self.started += 1;
        let parts = Parts {
            clock: Clock::Simulated {
                began: Instant::now(),
                ahead_us: 1_000 * self.dice.below(10_000_000u64),
            },
            // What a node tells Redis first follows from it.
            shard_key: self.dice.below(u64::MAX),
            ..Parts::default()
        };
        let address = Address::Wire(self.hub.plug(process));
        let server = Server::at(
            address,
            "sim",
            format!("node {process}"),
            Scripts::default(),
        );
        let limits = Limits::on(Some(server), CALL_BUDGET, parts);
        let stopping = CancellationToken::new();
        let running = spawn(limits.clone().run(stopping.clone()));
        self.books().starts(process);
        self.books().tell(format!("{process} starts"));
        self.nodes.push(Node {
            process,
            limits,
            stopping,
            running,
            asking: JoinSet::new(),
        });
    }

    async fn step(&mut self) {
        let (dice, mood) = (&mut self.dice, &self.mood);
        if dice.one_in(mood.slow) {
            let ms = dice.of(mood.slowness_ms);
            self.hub.lock().slowness_ms = ms;
            self.books().tell(format!("it takes {ms} ms each way"));
        } else if dice.one_in(mood.hangs) {
            let ms = dice.below(3_000u64);
            self.hub.lock().hangs_until = Instant::now() + Duration::from_millis(ms);
            self.books().tell(format!("Redis hangs for {ms} ms"));
        } else if dice.one_in(mood.breaks) {
            let once_in = dice.of(&[3, 20, u64::MAX]);
            self.hub.lock().breaks = once_in;
            self.books()
                .tell(format!("one connection in {once_in} breaks"));
        } else if dice.one_in(mood.cuts) {
            self.cut_or_mend();
        } else if dice.one_in(mood.outages) {
            self.outage();
        } else if dice.one_in(mood.flushes) {
            self.hub.lock().redis.flush();
            self.books().lost();
            self.books().tell("FLUSHALL");
        } else if dice.one_in(mood.clocks) {
            self.set_clock();
        } else if dice.one_in(mood.deaths) {
            self.end_one().await;
        } else if dice.one_in(mood.gives_up) {
            self.give_up();
        } else if dice.one_in(3) {
            let ms = dice.below(mood.pause_ms_max);
            sleep(Duration::from_millis(ms)).await;
        } else {
            self.ask();
        }
        self.look().await;
    }

    /// Some requests come to a node.
    fn ask(&mut self) {
        let place = self.dice.place(self.nodes.len());
        let wanted = 1 + self.dice.below(self.mood.burst_max);
        let (operation, quota) = self.books().limit();
        let node = &mut self.nodes[place];
        for _ in 0..wanted {
            let (books, hub) = (Arc::clone(&self.books), self.hub.clone());
            let (limits, process) = (node.limits.clone(), node.process);
            node.asking.spawn(async move {
                let answer = limits.inner.check(operation, quota, SUBJECT).await;
                let nodes = limits.inner.link.as_ref().expect("there is Redis").nodes();
                let decided_at = hub.lock().decided_at(process);
                let mut books = books.lock().unwrap_or_else(PoisonError::into_inner);
                books.answered(process, nodes, answer, decided_at);
            });
        }
    }

    /// Everybody who can goes on; then it is seen how things are.
    async fn look(&mut self) {
        tokio::task::yield_now().await;
        for node in &mut self.nodes {
            while let Some(asked) = node.asking.try_join_next() {
                rethrow(asked);
            }
        }
        let is_well = self.is_well();
        self.books().is_well(is_well);
    }

    /// Whether every node asks the data that Redis has now.
    fn is_well(&self) -> bool {
        let center = self.hub.lock();
        let epoch = center.redis.epoch();
        let asks_them = |node: &Node| {
            let live = node.limits.inner.link.as_ref().and_then(Link::live);
            live.is_some_and(|live| Some(&*live.connection.epoch) == epoch)
        };
        self.nodes.iter().all(asks_them)
    }

    fn cut_or_mend(&mut self) {
        let place = self.dice.place(self.nodes.len());
        let process = self.nodes[place].process;
        let mut center = self.hub.lock();
        if center.cut_off.contains(&process) {
            center.cut_off.retain(|one| *one != process);
        } else {
            center.cut_off.push(process);
            center.cut(Some(process));
        }
        let is_cut = center.cut_off.contains(&process);
        drop(center);
        self.books().tell(format!("{process} is cut off: {is_cut}"));
    }

    /// Redis is killed, or comes back: with its data as they were saved, or without any.
    fn outage(&mut self) {
        let mut center = self.hub.lock();
        if center.is_down {
            center.is_down = false;
            let from = if self.dice.one_in(2) {
                self.saved.clone()
            } else {
                Redis::default()
            };
            center.redis.restart(from);
            drop(center);
            self.books().lost();
            self.books().tell("Redis is back");
        } else {
            if self.dice.one_in(2) {
                self.saved = center.redis.clone();
            }
            center.is_down = true;
            center.cut(None);
            drop(center);
            self.books().tell("Redis is killed");
        }
    }

    fn set_clock(&mut self) {
        let by_us = 1_000 * self.dice.below(3_000u64);
        let is_forward = self.dice.one_in(2);
        let mut center = self.hub.lock();
        if is_forward {
            center.ahead_us += by_us;
        } else {
            center.behind_us += by_us;
        }
        drop(center);
        let mut books = self.books();
        if is_forward {
            // It forgets by as much too early.
            books.lost();
        }
        // And if it goes back, who has used up the limit waits longer by as much.
        books.slots_are_lost(Duration::from_micros(by_us));
        books.troubled_at = Instant::now();
        books.tell(format!(
            "the clock of Redis is set by {by_us} us, forward: {is_forward}"
        ));
    }

    /// A process is killed, or told to stop, and another one started.
    async fn end_one(&mut self) {
        let place = self.dice.place(self.nodes.len());
        let mut node = self.nodes.swap_remove(place);
        let is_killed = self.dice.one_in(2);
        let has_told = !is_killed && node.limits.is_shared() && self.hub.lock().is_quick();
        node.asking.shutdown().await;
        if is_killed {
            node.running.abort();
        } else {
            node.stopping.cancel();
        }
        let _ = (&mut node.running).await;
        self.hub.lock().cut(Some(node.process));
        let mut books = self.books();
        books.ends(node.process, has_told);
        books.slots_are_lost(Duration::ZERO);
        books.tell(format!("{} ends, killed: {is_killed}", node.process));
        drop(books);
        self.start();
    }

    /// Somebody hangs up before the answer.
    fn give_up(&mut self) {
        let place = self.dice.place(self.nodes.len());
        self.nodes[place].asking.abort_all();
        self.books().slots_are_lost(Duration::ZERO);
    }

    /// Nothing goes wrong any more: every node asks Redis again, and Redis knows what was admitted.
    async fn calm_down(&mut self, seed: u64) {
        {
            let mut center = self.hub.lock();
            center.slowness_ms = 1;
            center.breaks = u64::MAX;
            center.cut_off.clear();
            center.is_down = false;
            center.hangs_until = Instant::now();
        }
        self.books().tell("calm");
        let deadline = Instant::now() + WELL_AGAIN_MAX;
        while !self.is_well() {
            let is_in_time = Instant::now() < deadline;
            self.books().must(is_in_time, "every node asks Redis again");
            sleep(Duration::from_millis(10)).await;
            self.look().await;
        }
        sleep(QUIET).await;
        self.look().await;
        for _ in 0..50 {
            self.ask();
            let ms = self.dice.below(self.mood.pause_ms_max);
            sleep(Duration::from_millis(ms)).await;
            self.look().await;
        }
        sleep(QUIET).await;
        self.look().await;
        let is_over = self.nodes.iter().all(|node| node.asking.is_empty());
        self.books().must(is_over, "everybody has an answer");
        let known = self.hub.lock().redis.admissions();
        let admitted = self.books().admitted_lately();
        let is_right = match Kind::of(seed) {
            Kind::Busy => known == admitted,
            // What was on the wire when it broke may count twice.
            Kind::Forgetful => known >= admitted,
            Kind::Outages | Kind::Anything => true,
        };
        let what = format!("Redis knows of {known}, and {admitted} were admitted");
        self.books().must(is_right, &what);
        for node in std::mem::take(&mut self.nodes) {
            node.stopping.cancel();
            rethrow(node.running.await);
        }
        self.hub.lock().cut(None);
    }
}

/// A check that failed in a task has failed.
fn rethrow(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
