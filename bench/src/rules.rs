//! What an event costs at 10, 1,000 and 100,000 rules of one organisation, beside trying every rule;
//! what a rule takes in memory, and how long one change takes.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use domain::{
    OrgId, RuleId, Timestamp,
    event::EventView,
    rule::{Definition, Pattern, Rule, RuleSet, set::Whole},
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    Verdict, process,
    rounds::{Rounds, median},
};

const ROUNDS: usize = 5;
/// Events that are judged in turn; more than fit into a processor's first cache.
const EVENTS: usize = 4_000;
/// Events that trying every rule is timed with: it is slow, which is the point.
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

/// `rules` is the most; a hundredth of it and ten come before.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
pub(crate) fn measure(rules: usize, time: Duration) -> anyhow::Result<Verdict> {
    let own = std::process::id();
    let sizes = [10, rules / 100, rules];
    let mut random = Random(42);
    let empty_mib = process::memory_mib(own)?;
    let rules: Vec<Arc<Rule>> = (1..=rules as u128)
        .map(|id| rule(&mut random, id))
        .collect();
    let rules_mib = process::memory_mib(own)?;
    let started = process::thread_cpu();
    let last = RuleSet::new(rules.iter().map(Arc::clone));
    let build = process::thread_cpu().saturating_sub(started);
    let index_mib = process::memory_mib(own)?;
    let sets: Vec<RuleSet> = sizes
        .iter()
        .map(|size| RuleSet::new(rules[..*size].iter().map(Arc::clone)))
        .collect();

    let events: Vec<String> = (0..EVENTS).map(|_| event(&mut random)).collect();
    agree(&last, &rules, &events)?;
    let unwanted: Vec<&String> = events
        .iter()
        .filter(|json| matches(&last, json) == 0)
        .collect();
    ensure!(unwanted.len() > EVENTS / 10, "most events match something");

    let bytes = events.iter().map(String::len).sum::<usize>() / events.len();
    println!(
        "events of {bytes} bytes, parsed and judged; {} of {EVENTS} match nothing",
        unwanted.len()
    );
    println!(
        "{:>8} {:>14} {:>14} {:>26} {:>14} {:>12}",
        "rules", "ns, no match", "ns, any", "ns, every rule tried", "matches/event", "matches/s"
    );
    let slice = time / u32::try_from(ROUNDS * sizes.len() * 2)?;
    let mut growth = Rounds::default();
    let mut figures = vec![(Vec::new(), Vec::new(), Vec::new(), 0.0); sizes.len()];
    for _ in 0..ROUNDS {
        for ((set, size), figures) in sets.iter().zip(sizes).zip(&mut figures) {
            figures
                .0
                .push(fastest(slice, &unwanted, |json| matches(set, json)).0);
            let (ns, matches_per_event) = fastest(slice, &events, |json| matches(set, json));
            figures.1.push(ns);
            figures.3 = matches_per_event;
            let few = &events[..(NAIVE_PAIRS / size).clamp(4, EVENTS)];
            let tried = |json: &String| naive(&rules[..size], json).len();
            figures.2.push(fastest(Duration::ZERO, few, tried).0);
        }
        let newest = |place: usize| figures[place].0.last().copied().unwrap_or(0.0);
        growth.add(newest(0), newest(sizes.len() - 1));
    }
    for (size, (none, any, tried, matched)) in sizes.iter().zip(&figures) {
        let (none, any, tried) = (median(none), median(any), median(tried));
        println!(
            "{size:>8} {none:>14.0} {any:>14.0} {tried:>16.0} ({:>6.1}x) {matched:>14.3} {:>12.0}",
            tried / any,
            matched * 1e9 / any
        );
    }
    println!(
        "an event that matches nothing, most rules to ten: {}",
        growth.ratio()
    );

    let changes = changes(&last, &rules, &mut random);
    let per_rule = |mib: f64| mib * 1_048_576.0 / rules.len() as f64;
    println!(
        "one change at {} rules: {:.3} ms, at most {:.3} ms; made from nothing: {:.0} ms",
        rules.len(),
        median(&changes),
        changes.iter().copied().fold(0.0, f64::max),
        build.as_secs_f64() * 1e3
    );
    println!(
        "memory: {:.0} bytes a rule, and {:.0} bytes for the index of it",
        per_rule(rules_mib - empty_mib),
        per_rule(index_mib - rules_mib)
    );
    let mut verdict = Verdict::default();
    let what = "most rules to ten, no match";
    verdict.at_most(what, growth.ratio().median, GROWTH_AIM, GROWTH_MAX);
    verdict.at_most(
        "ms after one change",
        median(&changes),
        CHANGE_AIM_MS,
        CHANGE_MAX_MS,
    );
    let (_, any, tried, _) = &figures[sizes.len() - 1];
    let saved = median(tried) / median(any);
    verdict.at_least("every rule tried to index", saved, SAVED_AIM, SAVED_MIN);
    Ok(verdict)
}

fn matches(set: &RuleSet, json: &str) -> usize {
    EventView::parse(json).map_or(0, |view| set.matching(&view).len())
}

/// The rules that want an event, found by trying each.
fn naive(rules: &[Arc<Rule>], json: &str) -> Vec<RuleId> {
    let whole = EventView::parse(json).map(|view| Whole::of(&view));
    let wants = |rule: &&Arc<Rule>| whole.as_ref().is_ok_and(|whole| whole.is_wanted(&rule.definition));
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

/// Nanoseconds of processor time for one of these, and what `judge` says of one on average: the fastest pass within the
/// time, because a busy machine only ever makes them slower.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn fastest<T>(time: Duration, events: &[T], judge: impl Fn(&T) -> usize) -> (f64, f64) {
    let started = Instant::now();
    let (mut fastest, mut said) = (f64::INFINITY, 0);
    loop {
        let pass = process::thread_cpu();
        said = black_box(events.iter().map(&judge).sum::<usize>()).max(said);
        let took = process::thread_cpu().saturating_sub(pass);
        fastest = fastest.min(took.as_nanos() as f64);
        if started.elapsed() >= time {
            let count = events.len() as f64;
            return (fastest / count, said as f64 / count);
        }
    }
}

/// Milliseconds for each of some changes, made one after the other.
fn changes(set: &RuleSet, rules: &[Arc<Rule>], random: &mut Random) -> Vec<f64> {
    let mut set = set.clone();
    let mut change = || {
        let old = &rules[random.below(rules.len())];
        let new = rule(random, old.id.uuid().as_u128());
        let started = process::thread_cpu();
        set = set.with([(old.id, Some(new))]);
        process::thread_cpu().saturating_sub(started).as_secs_f64() * 1e3
    };
    (0..CHANGES).map(|_| change()).collect()
}

/// SplitMix64: the same rules and events in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    #[expect(clippy::cast_possible_truncation, reason = "below a usize")]
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len())]
    }

    fn agent(&mut self) -> String {
        format!("agent_{:05}", self.below(10_000))
    }
}

const TYPES: [&str; 8] = [
    "tool_call",
    "llm_request",
    "decision",
    "file_access",
    "network",
    "auth",
    "config_change",
    "message",
];
const RESULTS: [&str; 5] = ["success", "denied", "error", "timeout", "pending"];
const AREAS: [&str; 24] = [
    "files", "email", "payments", "db", "shell", "calendar", "browser", "crm", "git", "deploy",
    "secrets", "users", "billing", "search", "slack", "jira", "s3", "k8s", "vault", "http",
    "queue", "cache", "model", "memory",
];
const VERBS: [&str; 20] = [
    "read", "write", "delete", "list", "send", "create", "update", "exec", "export", "import",
    "approve", "refund", "transfer", "grant", "revoke", "login", "query", "drop", "merge",
    "publish",
];

/// A rule about one of 10,000 agents: the mix that the design was measured with.
fn rule(random: &mut Random, id: u128) -> Arc<Rule> {
    let mut source = json!({"agent_id": [random.agent()]});
    let (event_type, result) = (random.pick(&TYPES), random.pick(&RESULTS));
    let (area, verb) = (random.pick(&AREAS), random.pick(&VERBS));
    let mut want = |field: &str, wanted: Value| source[field] = json!([wanted]);
    match random.below(100) {
        0..25 => {
            want("event_type", json!(event_type));
            want("result", json!(result));
        }
        25..45 => want("result", json!(result)),
        45..65 => {
            want("action", json!({"prefix": format!("{area}.")}));
            want("result", json!(result));
        }
        65..70 => {
            want("action", json!({"suffix": format!(".{verb}")}));
            want("event_type", json!(event_type));
        }
        70..75 => {
            want("action", json!({"contains": verb[1..]}));
            want("event_type", json!(event_type));
        }
        75..85 => {
            want("action", json!(format!("{area}.{verb}")));
            want("result", json!({"anything-but": ["success", "pending"]}));
        }
        _ => {
            let low = random.below(4_000);
            want("event_type", json!(event_type));
            let high = low + 50 + random.below(500);
            want("latency_ms", json!({"numeric": [">=", low, "<", high]}));
        }
    }
    let pattern = Pattern::parse(source).expect("written by us");
    Arc::new(Rule {
        id: RuleId::from_uuid(Uuid::from_u128(id)),
        org_id: OrgId::from_uuid(Uuid::from_u128(1)),
        definition: Definition::plain("bench", pattern, "https://example.com/hook"),
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
        version: 1,
        counts_since: 1,
    })
}

fn event(random: &mut Random) -> String {
    let (area, verb) = (random.pick(&AREAS), random.pick(&VERBS));
    json!({
        "id": format!("evt_{:026x}", random.next()),
        "received_at": "2026-11-14T22:10:11.123Z",
        "event_type": random.pick(&TYPES),
        "agent_id": random.agent(),
        "action": format!("{area}.{verb}"),
        "result": random.pick(&RESULTS),
        "latency_ms": random.below(4_500),
        "session_id": format!("ses_{:012x}", random.next() >> 16),
        "resource": format!("{area}://tenant/prod/objects/{}", random.below(100_000)),
        "metadata": {
            "ip": format!("203.0.113.{}", random.below(255)),
            "tool": format!("{verb}_tool"),
            "args_sha256": format!("{:016x}{:016x}", random.next(), random.next()),
        },
    })
    .to_string()
}
