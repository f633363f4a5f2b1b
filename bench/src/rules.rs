//! What an event costs at 10, 1,000 and 100,000 rules of one organization, beside trying every rule;
//! what a rule takes in memory, and how long one change takes.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use domain::{
    RuleId,
    event::EventView,
    rule::{Rule, RuleSet, set::Whole},
};
use testkit::Dice;

use crate::{
    Verdict, process,
    rounds::{Rounds, median},
    rule_mix::{event, rule},
};

const SEED: u64 = 42;

const ROUNDS: usize = 5;
/// Events that are judged in turn; more than fit into a processor's first cache.
const EVENTS: usize = 4_000;
/// Events that matches are counted of: ten rules match few.
const COUNTED: usize = 200_000;
/// Pairs of a rule and an event that trying every rule is timed with: it is slow, which is the point.
const NAIVE_PAIRS: usize = 400_000;
/// Events of which both must say the same before anything is timed.
const COMPARED: usize = 100;
/// Changes that are timed, one by one.
const CHANGES: usize = 200;
/// Issue 5: what an event costs that no rule wants, at the most rules, as a multiple of that at the fewest.
const GROWTH_AIM: f64 = 3.0;
const GROWTH_MAX: f64 = 12.0;
/// Issue 5: milliseconds after one change.
const CHANGE_AIM_MS: f64 = 100.0;
const CHANGE_MAX_MS: f64 = 1_000.0;
/// What the index must save at the most rules, or it is none.
const SAVED_AIM: f64 = 100.0;
const SAVED_MIN: f64 = 5.0;

/// What is measured: rule sets of several sizes, and events to put before them.
struct Subjects {
    rules: Vec<Arc<Rule>>,
    sizes: [usize; 3],
    sets: Vec<RuleSet>,
    events: Vec<String>,
    /// Those that no rule wants.
    unwanted: Vec<String>,
}

/// What it took to make the largest set.
struct Built {
    took: Duration,
    rules_mib: f64,
    index_mib: f64,
}

/// What one size came to, in nanoseconds an event, round by round.
#[derive(Clone, Default)]
struct Figures {
    no_match: Vec<f64>,
    any: Vec<f64>,
    every_rule: Vec<f64>,
}

/// `rules` is the most; a hundredth of it and ten come before.
pub(crate) fn measure(rules: usize, time: Duration) -> anyhow::Result<Verdict> {
    let mut dice = Dice(SEED);
    let (subjects, built) = prepare(rules, &mut dice)?;
    let matches_per_event = subjects.matches_per_event(&mut dice);
    let (figures, growth) = subjects.time(time)?;
    print_figures(&subjects, &figures, &matches_per_event);
    println!(
        "an event that matches nothing, most rules to ten: {}",
        growth.ratio()
    );
    let changes = changes(&subjects, &mut dice);
    print_costs(&subjects, &built, &changes);

    let mut verdict = Verdict::default();
    let what = "most rules to ten, no match";
    verdict.at_most(what, growth.ratio().median, GROWTH_AIM, GROWTH_MAX);
    let what = "ms after one change";
    verdict.at_most(what, median(&changes), CHANGE_AIM_MS, CHANGE_MAX_MS);
    let most = &figures[figures.len() - 1];
    let saved = median(&most.every_rule) / median(&most.any);
    verdict.at_least("every rule tried to index", saved, SAVED_AIM, SAVED_MIN);
    Ok(verdict)
}

/// Makes the rules and the events, and sees to it that the index is right about them.
fn prepare(most: usize, dice: &mut Dice) -> anyhow::Result<(Subjects, Built)> {
    let own = std::process::id();
    let empty_mib = process::memory_mib(own)?;
    let rules: Vec<Arc<Rule>> = (1..=most as u128).map(|id| rule(dice, id)).collect();
    let with_rules_mib = process::memory_mib(own)?;
    let started = process::thread_cpu();
    let last = RuleSet::new(rules.iter().map(Arc::clone));
    let built = Built {
        took: process::thread_cpu().saturating_sub(started),
        rules_mib: with_rules_mib - empty_mib,
        index_mib: process::memory_mib(own)? - with_rules_mib,
    };
    let sizes = [10, most / 100, most];
    let few = |size: &usize| RuleSet::new(rules[..*size].iter().map(Arc::clone));
    let sets: Vec<RuleSet> = sizes[..2].iter().map(few).chain([last]).collect();

    let events: Vec<String> = (0..EVENTS).map(|_| event(dice)).collect();
    agree(&sets[2], &rules, &events)?;
    let is_unwanted = |json: &&String| matches(&sets[2], json) == 0;
    let unwanted: Vec<String> = events.iter().filter(is_unwanted).cloned().collect();
    ensure!(unwanted.len() > EVENTS / 10, "most events match something");
    let subjects = Subjects {
        rules,
        sizes,
        sets,
        events,
        unwanted,
    };
    Ok((subjects, built))
}

impl Subjects {
    /// How many rules want an event on average, at each size.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    fn matches_per_event(&self, dice: &mut Dice) -> Vec<f64> {
        let mut counts = vec![0; self.sets.len()];
        for _ in 0..COUNTED {
            let json = event(dice);
            for (set, count) in self.sets.iter().zip(&mut counts) {
                *count += matches(set, &json);
            }
        }
        let mean = |count: usize| count as f64 / COUNTED as f64;
        counts.into_iter().map(mean).collect()
    }

    /// Times each size in turn, and what the most rules cost as a multiple of the fewest.
    fn time(&self, time: Duration) -> anyhow::Result<(Vec<Figures>, Rounds)> {
        let slice = time / u32::try_from(ROUNDS * self.sizes.len() * 2)?;
        let mut growth = Rounds::default();
        let mut figures = vec![Figures::default(); self.sizes.len()];
        for _ in 0..ROUNDS {
            let mut no_match = Vec::new();
            for ((set, size), figures) in self.sets.iter().zip(self.sizes).zip(&mut figures) {
                let judge = |json: &String| matches(set, json);
                no_match.push(fastest(slice, &self.unwanted, judge));
                figures.any.push(fastest(slice, &self.events, judge));
                let few = &self.events[..(NAIVE_PAIRS / size).clamp(4, EVENTS)];
                let try_each = |json: &String| naive(&self.rules[..size], json).len();
                let every_rule = fastest(Duration::ZERO, few, try_each);
                figures.every_rule.push(every_rule);
            }
            growth.add(no_match[0], no_match[no_match.len() - 1]);
            for (figures, ns) in figures.iter_mut().zip(no_match) {
                figures.no_match.push(ns);
            }
        }
        Ok((figures, growth))
    }
}

fn print_figures(subjects: &Subjects, figures: &[Figures], matches_per_event: &[f64]) {
    let bytes = subjects.events.iter().map(String::len).sum::<usize>() / EVENTS;
    println!(
        "events of {bytes} bytes, parsed and judged; {} of {EVENTS} match nothing",
        subjects.unwanted.len()
    );
    println!(
        "{:>8} {:>14} {:>14} {:>26} {:>14} {:>12}",
        "rules", "ns, no match", "ns, any", "ns, every rule tried", "matches/event", "matches/s"
    );
    for ((size, figures), matched) in subjects.sizes.iter().zip(figures).zip(matches_per_event) {
        let (none, any) = (median(&figures.no_match), median(&figures.any));
        let tried = median(&figures.every_rule);
        println!(
            "{size:>8} {none:>14.0} {any:>14.0} {tried:>16.0} ({:>6.1}x) {matched:>14.6} {:>12.0}",
            tried / any,
            matched * 1e9 / any
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn print_costs(subjects: &Subjects, built: &Built, changes: &[f64]) {
    let rules = subjects.rules.len();
    println!(
        "one change at {rules} rules: {:.3} ms, at most {:.3} ms; made from nothing: {:.0} ms",
        median(changes),
        changes.iter().copied().fold(0.0, f64::max),
        built.took.as_secs_f64() * 1e3
    );
    let per_rule = |mib: f64| mib * 1_048_576.0 / rules as f64;
    println!(
        "memory: {:.0} bytes a rule, and {:.0} bytes for the index of it",
        per_rule(built.rules_mib),
        per_rule(built.index_mib)
    );
}

fn matches(set: &RuleSet, json: &str) -> usize {
    EventView::parse(json).map_or(0, |view| set.matching(&view).len())
}

/// The rules that want an event, found by trying each.
fn naive(rules: &[Arc<Rule>], json: &str) -> Vec<RuleId> {
    let whole = EventView::parse(json).map(|view| Whole::of(&view));
    let wants = |rule: &&Arc<Rule>| {
        whole
            .as_ref()
            .is_ok_and(|whole| whole.is_wanted(&rule.definition))
    };
    rules.iter().filter(wants).map(|rule| rule.id).collect()
}

fn agree(set: &RuleSet, rules: &[Arc<Rule>], events: &[String]) -> anyhow::Result<()> {
    for json in &events[..COMPARED] {
        let found = set.matching(&EventView::parse(json)?);
        let found: Vec<RuleId> = found.iter().map(|rule| rule.id).collect();
        ensure!(
            found == naive(rules, json),
            "the index is wrong about {json}"
        );
    }
    Ok(())
}

/// Nanoseconds of processor time for one of these: the fastest pass within the time, because a busy
/// machine only ever makes them slower.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn fastest<T>(time: Duration, events: &[T], judge: impl Fn(&T) -> usize) -> f64 {
    let started = Instant::now();
    let mut fastest = f64::INFINITY;
    loop {
        let pass = process::thread_cpu();
        black_box(events.iter().map(&judge).sum::<usize>());
        let took = process::thread_cpu().saturating_sub(pass);
        fastest = fastest.min(took.as_nanos() as f64);
        if started.elapsed() >= time {
            return fastest / events.len() as f64;
        }
    }
}

/// Milliseconds for each of some changes of the largest set, made one after the other.
fn changes(subjects: &Subjects, dice: &mut Dice) -> Vec<f64> {
    let mut set = subjects.sets[2].clone();
    let mut change = || {
        let place = dice.below(subjects.rules.len() as u64);
        let old = &subjects.rules[usize::try_from(place).expect("a place in memory")];
        let new = rule(dice, old.id.uuid().as_u128());
        let started = process::thread_cpu();
        set = set.with([(old.id, Some(new))]);
        process::thread_cpu().saturating_sub(started).as_secs_f64() * 1e3
    };
    (0..CHANGES).map(|_| change()).collect()
}
