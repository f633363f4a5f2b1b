//! What a rule would have done over a whole trail: how long that takes, beside a bare COPY of the same
//! bodies, and that it takes no more memory for ten times the events.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use testkit::own;

use crate::{
    Arguments, Verdict,
    bare_postgres::Bare,
    events, process,
    rounds::Rounds,
    server::{Customer, Server, Settings},
    trail,
    usage::{Used, Watched},
};

/// The other organization has a tenth of the events: what takes memory by the event shows.
const TENTH: usize = 10;
/// A little more than the events lie back.
const DAYS: i64 = 31;
/// 10 million stored events in a minute (issue 5).
const AIM_EVENTS_PER_S: f64 = 10_000_000.0 / 60.0;
/// Below this something is broken, also in a debug build on a busy machine.
const FLOOR_EVENTS_PER_S: f64 = 2_000.0;
/// More memory than with a tenth of the events: two pieces of the trail may be larger by chance, and a rule
/// with a threshold remembers a day's matches, which are bounded.
const GROWTH_MIB_AIM: f64 = 48.0;
/// A backtest that holds what it reads would pass this by far.
const GROWTH_MIB_MAX: f64 = 128.0;

/// A history this long is measured once: a round of it takes minutes.
const LONG: usize = 5_000_000;
const ROUNDS: usize = 3;

/// Two organizations with a trail, the server that reads it, and the bare database beneath.
struct Trail {
    api: Server,
    tenth: Customer,
    whole: Customer,
    bare: Bare,
    watched: Watched,
    /// The organization `whole`.
    org: String,
    events: usize,
}

/// What came of one backtest.
struct Backtest {
    result: Value,
    took: Duration,
    peak_mib: f64,
    lines: usize,
}

/// What came of one rule, round by round.
struct Measured {
    /// Stored events a second.
    rates: Rounds,
    tenth_mib: f64,
    whole_mib: f64,
    last: Backtest,
    /// In the last round.
    used: Used,
    events: usize,
}

pub(crate) async fn measure(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let engines = own::durable_engines()?;
    let settings = Settings::prepare(&arguments.binary()?, &engines)?;
    let api = settings.serve("api")?;
    let index = settings.serve("index")?;
    let tenth = settings.customer("tenth", &api)?;
    let whole = settings.customer("whole", &api)?;
    let mut watched = trail::watched(&engines, &api)?;
    watched.add("index", index.pid());
    let part = (&tenth, TENTH);
    trail::fill(arguments, (&api, &index), part, &whole, &watched).await?;
    let mut bare = Bare::connect(&settings.postgres).await?;
    bare.vacuum().await?;
    let mut trail = Trail {
        org: bare.org("whole").await?,
        api,
        tenth,
        whole,
        bare,
        watched,
        events: arguments.events,
    };
    println!(
        "{:<33} {:>10} {:>10} {:>8} {:>10} {:>10} {:>10} {:>20} {:>5} {:>10} {:>10}",
        "backtest",
        "scanned",
        "matched",
        "alerts",
        "suppressed",
        "bare/s",
        "stored/s",
        "ratio",
        "lines",
        "MiB, tenth",
        "MiB, whole"
    );
    let mut verdict = Verdict::default();
    for (name, rule) in rules() {
        let measured = trail.measure(&rule).await?;
        measured.print(name);
        measured.judge(name, &mut verdict);
    }
    Ok(verdict)
}

impl Trail {
    /// A bare COPY of the same bodies, then the backtest, in turn.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    async fn measure(&mut self, rule: &Value) -> anyhow::Result<Measured> {
        let small = backtest(&self.api, &self.tenth, rule).await?;
        let rounds = if self.events < LONG { ROUNDS } else { 1 };
        let rate = |took: Duration| self.events as f64 / took.as_secs_f64();
        let (mut rates, mut whole_mib, mut last) = (Rounds::default(), 0f64, None);
        for _ in 0..rounds {
            let (_, bare_took) = self.bare.copy_out(&self.org).await?;
            let before = self.watched.usage()?;
            let large = backtest(&self.api, &self.whole, rule).await?;
            let used = self.watched.used_since(&before)?;
            rates.add(rate(bare_took), rate(large.took));
            whole_mib = whole_mib.max(large.peak_mib);
            last = Some((large, used));
        }
        let (last, used) = last.context("there is a round")?;
        Ok(Measured {
            rates,
            tenth_mib: small.peak_mib,
            whole_mib,
            last,
            used,
            events: self.events,
        })
    }
}

impl Measured {
    fn print(&self, name: &str) {
        let figure = |name: &str| self.last.result[name].as_u64().unwrap_or(0);
        println!(
            "{name:<33} {:>10} {:>10} {:>8} {:>10} {:>10.0} {:>10.0} {:>20} {:>5} {:>10.0} {:>10.0}\n  {}",
            figure("scanned"),
            figure("matched"),
            figure("alerts"),
            figure("suppressed"),
            self.rates.bare(),
            self.rates.ours(),
            self.rates.ratio().to_string(),
            self.last.lines,
            self.tenth_mib,
            self.whole_mib,
            self.used.for_each(self.events),
        );
    }

    fn judge(&self, name: &str, verdict: &mut Verdict) {
        verdict.at_least(
            &format!("{name}, stored events/s"),
            self.rates.ours(),
            AIM_EVENTS_PER_S.round(),
            FLOOR_EVENTS_PER_S,
        );
        let ratio = self.rates.ratio().median;
        verdict.tell(&format!("{name}, of bare COPY TO"), ratio);
        verdict.at_most(
            &format!("{name}, MiB more than with a tenth of the events"),
            self.whole_mib - self.tenth_mib,
            GROWTH_MIB_AIM,
            GROWTH_MIB_MAX,
        );
    }
}

/// A rule that only a look at every event can judge, one that the store helps with, and two that match
/// every event and have to be paced: one counts, one keeps back.
fn rules() -> [(&'static str, Value); 4] {
    [
        (
            "cannot be narrowed, matches none",
            json!({"match": {"metadata": {"tool": ["delete_object"], "region": ["nowhere"]}}}),
        ),
        (
            "narrowed to one agent",
            json!({"match": {"agent_id": ["agent-0007"], "metadata": {"region": ["eu-central-1"]}}}),
        ),
        (
            "threshold by agent, matches all",
            json!({
                "match": {"metadata": {"region": ["eu-central-1"]}},
                "threshold": {"count": 100, "window_s": 3600, "group_by": ["agent_id"]},
            }),
        ),
        (
            "suppression by agent, matches all",
            json!({
                "match": {"metadata": {"region": ["eu-central-1"]}},
                "suppress": {"for_s": 3600, "group_by": ["agent_id"]},
            }),
        ),
    ]
}

async fn backtest(api: &Server, customer: &Customer, rule: &Value) -> anyhow::Result<Backtest> {
    process::forget_peak(api.pid())?;
    let body = json!({"rule": rule, "from": events::days_ago(DAYS)});
    let began = Instant::now();
    let lines = customer.lines("/v1/alert-rules/backtest", &body).await?;
    let took = began.elapsed();
    let result = lines.last().context("a backtest has a last line")?.clone();
    ensure!(
        result["done"] == true && result["complete"] == true,
        "the backtest is whole: {result}"
    );
    Ok(Backtest {
        result,
        took,
        peak_mib: process::peak_memory_mib(api.pid())?,
        lines: lines.len(),
    })
}
