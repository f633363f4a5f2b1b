//! Who goes on next, and what goes wrong: all of it follows from the seed.

use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Waker},
    thread,
    time::Duration,
};

use testkit::Dice;
use tokio::runtime::{Builder, Runtime};

use super::{
    calls::{self, Kind, Shared},
    journal::Journal,
    matcher,
    node::{Node, PATIENCE},
    stories,
    trace::{Step, Trace},
};

/// How many processes match.
const MATCHERS: usize = 3;
/// How long it takes at most, if nothing goes wrong, until there is nothing to do.
const CALM_STEPS_MAX: usize = 50_000;

/// How often a matcher lets others go on, at most, between two calls.
const YIELDS_MAX: usize = 10_000;

/// One run.
pub(super) struct Simulation {
    seed: u64,
    shared: Shared,
    mood: Mood,
    matchers: Vec<Living>,
    /// How many were started.
    started: usize,
    /// Timeouts ask for one; nothing runs on it, and no time passes there.
    runtime: Runtime,
}

struct Living {
    who: usize,
    node: Node,
    life: Pin<Box<dyn Future<Output = ()>>>,
}

/// How often things go wrong in a run: each once in so many times. Some never do, so that others get far.
struct Mood {
    fails: u64,
    kills: u64,
    interrupts: u64,
    turns: u64,
    pauses: u64,
    restarts: u64,
    rules: u64,
    events: u64,
    matches_at_once: usize,
}

impl Mood {
    fn new(dice: &mut Dice) -> Self {
        Self {
            fails: dice.of(&[3, 10, 40, u64::MAX]),
            kills: dice.of(&[30, 120, 500, u64::MAX]),
            interrupts: dice.of(&[30, 120, u64::MAX]),
            turns: dice.of(&[15, 60, 240]),
            pauses: dice.of(&[100, 400, u64::MAX]),
            restarts: dice.of(&[100, u64::MAX]),
            rules: dice.of(&[20, 100, u64::MAX]),
            events: dice.of(&[10, 30, 80]),
            matches_at_once: dice.of(&[2, 5, 40, 500]),
        }
    }
}

impl Simulation {
    /// Goes through a schedule, and then on until there is nothing to do; what happened.
    pub(super) fn run(seed: u64, steps: usize) -> Trace {
        let mut simulation = Self::new(seed);
        for _ in 0..steps {
            simulation.step();
        }
        simulation.calm_down();
        let journal = simulation.shared.borrow();
        journal.checks.at_the_end(journal.events.len() as u64);
        journal.trace.clone()
    }

    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let mood = Mood::new(&mut dice);
        let mut simulation = Self {
            seed,
            shared: Rc::new(RefCell::new(Journal::new(dice))),
            mood,
            matchers: Vec::new(),
            started: 0,
            runtime: Builder::new_current_thread()
                .enable_time()
                .build()
                .expect("a runtime"),
        };
        for _ in 0..MATCHERS {
            simulation.start();
        }
        simulation
    }

    fn step(&mut self) {
        let mood = &self.mood;
        let mut journal = self.shared.borrow_mut();
        let passes = Duration::from_millis(journal.dice.below(40u64));
        journal.now = journal.now.plus(passes);
        let mut happens = |once_in: u64| journal.dice.one_in(once_in);
        if happens(mood.kills) {
            drop(journal);
            self.kill();
        } else if happens(mood.interrupts) {
            drop(journal);
            self.interrupt();
        } else if happens(mood.turns) {
            let whose = journal.dice.place(MATCHERS);
            journal.turn = self.matchers[whose].who;
            tell(&mut journal, None, "the turn changes hands", "");
        } else if happens(mood.pauses) {
            drop(journal);
            self.pause();
        } else if happens(mood.restarts) {
            journal.restart();
            tell(&mut journal, None, "the journal is started anew", "");
            drop(journal);
            self.cut();
        } else if happens(mood.rules) {
            stories::change_rules(&mut journal);
            tell(&mut journal, None, "a rule changes", "");
        } else if happens(mood.events) {
            stories::send_events(&mut journal);
            tell(&mut journal, None, "events come", "");
        } else if happens(30) {
            let whose = journal.dice.place(MATCHERS);
            let node = &self.matchers[whose].node;
            node.rules.set(journal.rules_version());
            tell(&mut journal, Some(node.who), "hears of rules", "");
        } else if happens(25) {
            let whose = journal.dice.place(MATCHERS + 1);
            journal.stalled = self.matchers.get(whose).map(|living| living.who);
            let stalled = journal.stalled;
            tell(&mut journal, stalled, "is slow from here on", "");
        } else if happens(10) {
            work(&mut journal);
        } else if happens(12) {
            arrive(&mut journal);
        } else {
            drop(journal);
            self.answer();
        }
    }

    /// Answers a call, or does not.
    fn answer(&mut self) {
        let mut journal = self.shared.borrow_mut();
        let Some(call) = take_call(&mut journal) else {
            return;
        };
        let (who, name) = (call.who, call.name);
        let is_late = journal.now.since(call.since) > PATIENCE;
        let what = if call.kind == Kind::Own || journal.is_calm {
            calls::answer(&mut journal, call);
            ""
        } else if is_late || journal.dice.one_in(self.mood.fails) {
            if journal.dice.one_in(2) && !is_late {
                calls::lose_answer(&mut journal, call);
                "arrives, its answer does not"
            } else {
                calls::fail(&mut journal, call);
                "fails"
            }
        } else {
            calls::answer(&mut journal, call);
            ""
        };
        tell(&mut journal, Some(who), name, what);
        drop(journal);
        self.go_on(who);
    }

    /// Lets a matcher go on until it waits for an answer.
    fn go_on(&mut self, who: usize) {
        let living = self.matchers.iter_mut().find(|living| living.who == who);
        let living = living.expect("the dead do not call");
        let _runtime = self.runtime.enter();
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..YIELDS_MAX {
            let polled = living.life.as_mut().poll(&mut context);
            assert!(polled.is_pending(), "a matcher lives until it is killed");
            // If not, it only let others go on.
            if self.shared.borrow().calls.is_waiting(who) {
                return;
            }
        }
        panic!("matcher {who} neither goes on nor waits");
    }

    fn start(&mut self) {
        let who = self.started;
        self.started += 1;
        let node = Node::new(&self.shared, who);
        let life = Box::pin(matcher::live(node.clone(), self.mood.matches_at_once));
        self.matchers.push(Living { who, node, life });
        self.go_on(who);
    }

    /// A matcher is killed, and another one started. What it asked for may still arrive.
    fn kill(&mut self) {
        let place = self.shared.borrow_mut().dice.place(MATCHERS);
        let killed = self.matchers.remove(place).who;
        tell(&mut self.shared.borrow_mut(), Some(killed), "is killed", "");
        self.start();
        let journal = &mut *self.shared.borrow_mut();
        if journal.turn == killed {
            let next = journal.dice.place(MATCHERS);
            journal.turn = self.matchers[next].who;
        }
    }

    /// A matcher is told that its turn is over, in the middle of whatever it does.
    fn interrupt(&mut self) {
        let place = self.shared.borrow_mut().dice.place(MATCHERS);
        let who = self.matchers[place].who;
        {
            let journal = &mut *self.shared.borrow_mut();
            let waits_for_turn = |call: &calls::Call| call.who == who && call.name == "turn";
            if journal.calls.waiting.iter().any(waits_for_turn) {
                return;
            }
            journal.interrupted.insert(who);
            tell(journal, Some(who), "loses its turn", "");
        }
        self.go_on(who);
    }

    /// Nobody gets an answer for minutes.
    fn pause(&mut self) {
        {
            let journal = &mut *self.shared.borrow_mut();
            let minutes = Duration::from_secs(30 + journal.dice.below(150u64));
            journal.now = journal.now.plus(minutes);
            tell(journal, None, "minutes pass", "");
        }
        self.cut();
    }

    /// The connections are lost, and with them what is on its way.
    fn cut(&mut self) {
        let mut journal = self.shared.borrow_mut();
        let (failing, own): (Vec<_>, Vec<_>) = std::mem::take(&mut journal.calls.waiting)
            .into_iter()
            .partition(|call| call.kind != Kind::Own);
        journal.calls.waiting = own;
        let mut waited: Vec<usize> = failing.iter().map(|call| call.who).collect();
        waited.dedup();
        for call in failing {
            calls::fail(&mut journal, call);
        }
        journal.calls.adrift.clear();
        drop(journal);
        for who in waited {
            self.go_on(who);
        }
    }

    /// Nothing goes wrong any more, until there is nothing to do; and again when every period is over.
    fn calm_down(&mut self) {
        {
            let journal = &mut *self.shared.borrow_mut();
            tell(journal, None, "from here on nothing goes wrong", "");
            journal.is_calm = true;
            journal.stalled = None;
            journal.turn = self.matchers[0].who;
        }
        for _ in 0..2 {
            self.shared.borrow_mut().is_idle = false;
            let mut steps = 0;
            while !self.is_done() {
                steps += 1;
                assert!(steps < CALM_STEPS_MAX, "there is no end to it");
                self.calm_step();
            }
            let journal = &mut *self.shared.borrow_mut();
            journal.now = journal.now.plus(Duration::from_secs(2 * 3_600));
        }
    }

    fn calm_step(&mut self) {
        {
            let journal = &mut *self.shared.borrow_mut();
            journal.now = journal.now.plus(Duration::from_millis(1));
            arrive(journal);
            work(journal);
        }
        self.answer();
    }

    fn is_done(&self) -> bool {
        let journal = self.shared.borrow();
        let calls = &journal.calls;
        // Nobody may be stopped in the middle of a call for as long as the queue knows a name.
        let is_quiet = calls.waiting.iter().all(|call| call.kind == Kind::Own);
        journal.is_idle && journal.queue.is_empty() && is_quiet && calls.adrift.is_empty()
    }
}

impl Drop for Simulation {
    /// Tells how to see it again.
    fn drop(&mut self) {
        if thread::panicking() {
            let trace = self.shared.try_borrow();
            let trace = trace.map_or_else(|_| String::new(), |journal| journal.trace.to_string());
            println!("{trace}WATCHBELL_TEST_SEED={} shows it again", self.seed);
        }
    }
}

/// A call that can be answered now: not one of who is slow, and a turn is given only to whose it is.
fn take_call(journal: &mut Journal) -> Option<calls::Call> {
    let (turn, stalled) = (journal.turn, journal.stalled);
    let waiting = &mut journal.calls.waiting;
    let has_turn = |call: &calls::Call| call.name != "turn" || call.who == turn;
    let can_be = |call: &calls::Call| has_turn(call) && Some(call.who) != stalled;
    let places = (0..waiting.len()).filter(|place| can_be(&waiting[*place]));
    let places: Vec<usize> = places.collect();
    if places.is_empty() {
        return None;
    }
    let place = places[journal.dice.place(places.len())];
    Some(waiting.remove(place))
}

/// A worker goes on with a message of the queue.
fn work(journal: &mut Journal) {
    if !journal.queue.is_empty() {
        let place = journal.dice.place(journal.queue.len());
        if journal.dice.one_in(8) {
            journal.park(place);
            tell(journal, None, "a worker parks", "");
        } else {
            journal.work(place);
            tell(journal, None, "a worker sends", "");
        }
    }
}

/// What nobody waits for arrives, or gets lost.
fn arrive(journal: &mut Journal) {
    if !journal.calls.adrift.is_empty() {
        let place = journal.dice.place(journal.calls.adrift.len());
        let call = journal.calls.adrift.remove(place);
        let (who, name) = (call.who, call.name);
        if journal.now.since(call.since) < PATIENCE && journal.dice.one_in(2) {
            calls::arrive(journal, call);
            tell(journal, Some(who), name, "arrives late");
        }
    }
}

fn tell(journal: &mut Journal, who: Option<usize>, what: &'static str, detail: &'static str) {
    let at = journal.now;
    journal.trace.0.push(Step {
        at,
        who,
        what,
        detail,
    });
}
