//! Everything is killed again and again, at moments that chance picks, under load: afterwards every promise
//! was kept. `cargo xtask bench chaos` runs the same for ten minutes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Answer, Dice, Receiver, Watchbell, environment, own};
use tokio::time::sleep;

use crate::deployment::{Deployment, migrate};
use crate::in_hand::{Excuses, until_nothing_is_queued};
use crate::load::{Load, arrived, assert_nothing_lost};

/// Each of two, in CI; `WATCHBELL_TEST_CHAOS_S` says how long otherwise.
const LASTS: Duration = Duration::from_secs(20);
const CLIENTS: usize = 4;
/// Those that hold deliveries are killed most often.
const VICTIMS: [&str; 8] = [
    "deliver", "deliver", "deliver", "match", "match", "nats", "postgres", "postgres",
];
/// The longest somebody stays dead, and the longest everybody lives.
const DEAD_MS_MAX: u64 = 2_000;
const ALIVE_MS_MAX: u64 = 3_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_of_workers_matchers_journal_and_database_at_random_loses_nothing() {
    kill_at_random(Dice(6)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_of_them_in_another_order_loses_nothing_either() {
    kill_at_random(Dice(7)).await;
}

#[expect(clippy::print_stdout, reason = "figures for people")]
async fn kill_at_random(mut dice: Dice) {
    let lasts = environment::chaos_lasts().unwrap_or(LASTS);
    let mut nats = own::nats().expect("NATS");
    let mut postgres = own::postgres().expect("PostgreSQL");
    let url = postgres.ensure_database("watchbell").expect("a database");
    migrate(&url).expect("a migrated database");
    let deployment = Deployment::on(&url, &nats.url());
    let mut front = deployment.serve("api,index");
    let mut workers: BTreeMap<&str, Watchbell> = ["match", "deliver"]
        .map(|role| (role, deployment.serve(role)))
        .into();
    let customer = deployment.customer(&mut front);
    let receiver = Receiver::start().expect("a receiver");
    // Slow enough that some sends are always in flight.
    receiver.answer_always(Answer::status(200).after(Duration::from_millis(30)));
    let rule = customer
        .rule(json!({"result": ["denied"]}), &receiver.url())
        .await;

    let load = Load::start(&customer, CLIENTS);
    let (started, mut kills) = (Instant::now(), BTreeMap::new());
    let mut excuses = Excuses::default();
    while started.elapsed() < lasts {
        pause(&mut dice, ALIVE_MS_MAX).await;
        let victim = dice.of(&VICTIMS);
        *kills.entry(victim).or_insert(0) += 1;
        excuses.died(victim);
        match victim {
            "nats" => {
                let since = Instant::now();
                nats.kill();
                pause(&mut dice, DEAD_MS_MAX).await;
                nats.restart().expect("NATS starts again");
                excuses.journal_was_away(since);
            }
            "postgres" => {
                postgres.kill();
                pause(&mut dice, DEAD_MS_MAX).await;
                postgres.restart().expect("PostgreSQL starts again");
            }
            role => {
                workers.get_mut(role).expect("it runs").kill();
                if role == "deliver" {
                    excuses.worker_died(&deployment);
                }
                pause(&mut dice, DEAD_MS_MAX).await;
                workers.insert(role, deployment.serve(role));
            }
        }
    }
    let ledger = load.stop().await;

    assert_nothing_lost(&customer, &receiver, &ledger).await;
    until_nothing_is_queued(&deployment).await;
    let arrived = arrived(&receiver);
    let balance = customer
        .get_json(&format!("/v1/alert-rules/{rule}/balance"))
        .await;
    assert_eq!(balance["balanced"], true, "{balance}");
    assert_eq!(balance["delivered"], arrived.len(), "{balance}");
    let (deliveries, again) = (arrived.len(), excuses.cover_arrived(&arrived));
    println!(
        "{kills:?} killed in {:?} under {} accepted events ({} sent again by clients)",
        started.elapsed(),
        ledger.accepted.len(),
        ledger.troubles.len()
    );
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let percent = again as f64 * 100.0 / deliveries as f64;
    let held = excuses.held();
    println!(
        "{deliveries} deliveries, none lost; {again} sends too many ({percent:.2} %), each of them in the hands of a worker that \
         died ({held} by the queue's own count) or sent while the journal was away"
    );
}

async fn pause(dice: &mut Dice, ms_max: u64) {
    // waits for: nothing; chance picks the moment
    sleep(Duration::from_millis(dice.below(ms_max))).await;
}
