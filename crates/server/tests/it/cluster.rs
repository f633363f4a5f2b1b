//! Three NATS servers, three copies of everything: one may die at any time, and no client that waits
//! 10 s notices.

use std::time::{Duration, Instant};

use engines::NatsCluster;
use serde_json::{Value, json};
use testkit::{Own, Receiver, Signal, Watchbell, eventually, own};

use crate::deployment::{Customer, DEADLINE, Deployment, event, http};
use crate::load::{Load, assert_nothing_lost, duplicates};

/// Three servers that sync every write share two cores with everything else.
const CLIENTS: usize = 2;
/// How many events are accepted before and after each kill.
const BETWEEN: usize = 60;
/// How much of a server's log a failure shows.
const LAST_LINES: usize = 60;

struct Setting {
    cluster: Own<NatsCluster>,
    deployment: Deployment,
    /// Watched over until the end of the test.
    _processes: [Watchbell; 3],
    customer: Customer,
    /// Somebody whose key no process has met.
    stranger: Customer,
    receiver: Receiver,
}

impl Setting {
    async fn new() -> Self {
        let cluster = own::nats_cluster().expect("three NATS servers");
        let deployment =
            Deployment::on_journal(&cluster.urls().join(",")).with("JOURNAL__REPLICAS", "3");
        let mut api = deployment.serve("api");
        let (index, rest) = (deployment.serve("index"), deployment.serve("match,deliver"));
        let (customer, stranger) = (deployment.customer(&mut api), deployment.customer(&mut api));
        let receiver = Receiver::start().expect("a receiver");
        customer
            .rule(json!({"result": ["denied"]}), &receiver.url())
            .await;
        Self {
            cluster,
            deployment,
            _processes: [api, index, rest],
            customer,
            stranger,
            receiver,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_leader_of_the_cluster_and_of_the_events_costs_no_client_an_error() {
    let mut setting = Setting::new().await;
    let load = Load::start(&setting.customer, CLIENTS);
    load.wait_for_accepted(BETWEEN).await;

    let leads_events = leader_of_events(&setting.cluster).await;
    kill_and_watch(&mut setting, &load, leads_events, "leads the events").await;
    let leads_cluster = eventually(DEADLINE, "the cluster has a leader", async || {
        setting.cluster.leader()
    })
    .await;
    kill_and_watch(&mut setting, &load, leads_cluster, "leads the cluster").await;

    end(&setting, load).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_follower_of_the_cluster_costs_no_client_an_error() {
    let mut setting = Setting::new().await;
    let load = Load::start(&setting.customer, CLIENTS);
    load.wait_for_accepted(BETWEEN).await;

    let leads_events = leader_of_events(&setting.cluster).await;
    let leads_cluster = setting.cluster.leader();
    let follower = (0..3)
        .find(|member| *member != leads_events && Some(*member) != leads_cluster)
        .expect("one of three leads nothing");
    kill_and_watch(&mut setting, &load, follower, "follows").await;

    end(&setting, load).await;
}

/// As when a machine loses its power: it says nothing and hangs up on nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_of_the_cluster_that_hangs_costs_no_client_an_error() {
    let mut setting = Setting::new().await;
    let load = Load::start(&setting.customer, CLIENTS);
    load.wait_for_accepted(BETWEEN).await;

    let leads_events = leader_of_events(&setting.cluster).await;
    setting.cluster.signal(leads_events, Signal::Stop);
    watch(&setting, &load, "hangs").await;
    setting.cluster.signal(leads_events, Signal::Continue);
    wait_until_caught_up(&mut setting);
    load.wait_for_accepted(BETWEEN).await;

    end(&setting, load).await;
}

/// Kills a member under load and starts it again.
#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
async fn kill_and_watch(setting: &mut Setting, load: &Load, member: usize, what: &str) {
    setting.cluster.kill(member);
    watch(setting, load, what).await;
    let started = Instant::now();
    setting.cluster.restart(member).expect("it starts again");
    wait_until_caught_up(setting);
    println!(
        "{what}: it had caught up {:?} after its start",
        started.elapsed()
    );
    load.wait_for_accepted(BETWEEN).await;
}

/// Waits until all members agree; says what they wrote last if they do not.
fn wait_until_caught_up(setting: &mut Setting) {
    let Err(error) = setting.cluster.wait_until_agreed() else {
        return;
    };
    let last_words = (0..3).map(|number| {
        let member = setting.cluster.member(number);
        let running = member.is_running();
        let log = std::fs::read_to_string(member.log()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        format!("member {number}, running: {running}\n{tail}\n")
    });
    panic!("{error:#}\n{}", last_words.collect::<String>());
}

/// While the others find a leader, every kind of request is answered, and a process may start.
#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
async fn watch(setting: &Setting, load: &Load, what: &str) {
    let started = Instant::now();
    let mut newcomer = setting.deployment.command(&["serve", "--role", "api"]);
    let rule = async {
        let nobody = json!({"agent_id": ["nobody"]});
        setting.customer.rule(nobody, &setting.receiver.url()).await;
        println!("{what}: a rule was made after {:?}", started.elapsed());
    };
    let stranger = async {
        let id = setting.stranger.ingest(&event("stranger")).await;
        println!(
            "{what}: a key not met before worked after {:?}",
            started.elapsed()
        );
        let page = setting.stranger.get_json("/v1/audit/events").await;
        let (is_listed, fresh) = (page["data"][0]["id"] == id, &page["fresh"]);
        println!(
            "{what}: a list came after {:?}, fresh: {fresh}",
            started.elapsed()
        );
        assert!(is_listed || fresh == false, "{page}");
    };
    let load = async {
        load.wait_for_accepted(BETWEEN).await;
        println!(
            "{what}: {BETWEEN} events were accepted after {:?}",
            started.elapsed()
        );
    };
    tokio::join!(rule, stranger, load);
    setting
        .stranger
        .at(&mut newcomer)
        .ingest(&event("stranger"))
        .await;
    println!(
        "{what}: a process that started meanwhile works after {:?}",
        started.elapsed()
    );
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
async fn end(setting: &Setting, load: Load) {
    let (ledger, stopped) = (load.stop().await, Instant::now());
    assert_eq!(
        ledger.troubles,
        Vec::<String>::new(),
        "no client saw an error"
    );
    let arrived = assert_nothing_lost(&setting.customer, &setting.receiver, &ledger).await;
    println!(
        "{} events accepted, the longest request took {:?}; all delivered and on record {:?} after \
         the last; {} deliveries came too often",
        ledger.accepted.len(),
        ledger.longest,
        stopped.elapsed(),
        duplicates(&arrived)
    );
}

/// The member that leads the event log which is being written.
async fn leader_of_events(cluster: &NatsCluster) -> usize {
    let monitors = cluster.monitor_urls();
    eventually(DEADLINE, "the event log has a leader", async || {
        for monitor in &monitors {
            let url = format!("{monitor}/jsz?accounts=1&streams=1");
            let facts = http().get(url).timeout(Duration::from_secs(2)).send().await;
            let facts: Value = facts.ok()?.json().await.ok()?;
            let streams = facts["account_details"][0]["stream_detail"].as_array()?;
            let written = streams.iter().find(|stream| {
                let is_log = stream["name"]
                    .as_str()
                    .is_some_and(|name| name.contains("_EVENTS_"));
                is_log && stream["state"]["messages"].as_u64() > Some(0)
            });
            let leader = written.and_then(|stream| stream["cluster"]["leader"].as_str());
            if let Some((_, number)) = leader.and_then(|name| name.rsplit_once('-')) {
                return number.parse().ok();
            }
        }
        None
    })
    .await
}
