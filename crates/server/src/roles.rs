//! What a process does: any set of four roles. Small users run all in one; large ones scale each.

use std::{net::SocketAddr, sync::Arc};

use anyhow::Context as _;
use archive::Bucket;
use axum::Router;
use deliver::{
    endpoints::{challenge::Challenger, notice::Notices},
    failure_event::Failures,
    send::{Sender, signing::Signing},
    snapshots::{Cancels, Endpoints, Owners, Secrets, Targets},
    work::{Bounds, Tools},
};
use journal::streams::Log;
use matching::{Matcher, Rules};
use metrics_exporter_prometheus::PrometheusHandle;
use store::{
    account_outbox::AccountChange, disobeyed_decisions::Finding,
    policies::change_outbox::PolicyChange, rules::versions::RuleChange,
    signing_secrets::SecretChange,
};
use tokio::net::TcpListener;

use crate::{
    accounts::{deletion::worker::Deleting, expiry, key_uses},
    announce_again,
    apply_log::{Applier, Sink},
    approvals::audit_events::ApprovalPublisher,
    change_outbox, clock_watch,
    config::{EndpointOwnership, Role},
    dead_letters,
    deliveries::{
        endpoints::mail as notice_mail,
        log::{reconcile::Reconciler, recorder::Recorder},
        replay::recover,
    },
    edge::client_address::ProxyTrust,
    erasures,
    events::{indexer::Index, journal_size, nearly_full, retention::Retention},
    exports::{
        Kept, cleanup,
        worker::{AT_A_TIME, Worker},
    },
    health::Health,
    jobs, layers,
    lifecycle::Tasks,
    listener::{self, Seats},
    node::Node,
    routes, system_clock,
    transparency::{
        self, Sequencer, stopped,
        witnesses::{self, Collector},
    },
};

/// How many connections there may be at a time; the next ones wait to be accepted.
const CONNECTIONS_MAX: usize = 10_000;
/// The same for those who ask how a node is.
const ADMIN_CONNECTIONS_MAX: usize = 100;

/// Where a process serves.
pub struct Listeners {
    pub public: TcpListener,
    /// For its health and metrics alone; `None`: they are with the rest.
    pub admin: Option<TcpListener>,
}

/// Starts the roles and serves. Every process serves its health and metrics; one with [`Role::Api`] serves customers
/// too. Returns the public address.
pub fn start(
    roles: &[Role],
    node: &Node,
    listeners: Listeners,
    metrics: PrometheusHandle,
    tasks: &Tasks,
) -> anyhow::Result<SocketAddr> {
    let Listeners { public, admin } = listeners;
    let address = public.local_addr().context("read the listening address")?;
    let health = routes::node(Health::start(&node.journal, &node.store, metrics, tasks));
    let comparing = clock_watch::run(node.journal.clone(), tasks.stopping().clone());
    tasks.spawn("compare clocks", comparing);
    let mut app = Router::new();
    match admin {
        None => app = health,
        Some(admin) => serve_health(admin, health, node, tasks)?,
    }
    for role in roles {
        match role {
            Role::Api => app = app.merge(serve_customers(node, roles, tasks)?),
            Role::Index => fill_the_store(node, tasks)?,
            Role::Match => judge_events(node, tasks),
            Role::Deliver => send_deliveries(node, tasks)?,
        }
    }
    let console = node.console.clone().filter(|_| roles.contains(&Role::Api));
    let app = layers::finished(app, console, node.request_timeout);
    let seats = Seats::new(
        CONNECTIONS_MAX,
        node.connections_per_address_max,
        node.door.proxies.clone(),
    );
    let stopping = tasks.stopping().clone();
    tasks.spawn(
        "http",
        listener::serve(public, app, seats, node.request_timeout, stopping),
    );
    tracing::info!(%address, roles = ?roles, "listening");
    Ok(address)
}

/// However many customers there are, who asks how a node is has a seat.
fn serve_health(
    listener: TcpListener,
    health: Router,
    node: &Node,
    tasks: &Tasks,
) -> anyhow::Result<()> {
    let address = listener.local_addr().context("read the admin address")?;
    let app = layers::finished(health, None, node.request_timeout);
    let seats = Seats::new(
        ADMIN_CONNECTIONS_MAX,
        ADMIN_CONNECTIONS_MAX,
        ProxyTrust::default(),
    );
    let stopping = tasks.stopping().clone();
    tasks.spawn(
        "http for health and metrics",
        listener::serve(listener, app, seats, node.request_timeout, stopping),
    );
    tracing::info!(%address, "listening for health and metrics requests");
    Ok(())
}

fn serve_customers(node: &Node, roles: &[Role], tasks: &Tasks) -> anyhow::Result<Router> {
    let stopping = tasks.stopping();
    tasks.spawn("announce", node.announcer.clone().sweep(stopping.clone()));
    let healing =
        announce_again::heal_until_stopped(node.announcer.clone(), node.clock, stopping.clone());
    tasks.spawn("announce again", healing);
    tasks.spawn(
        "follow keys",
        node.door.keys.clone().follow(stopping.clone()),
    );
    tasks.spawn(
        "follow policies",
        node.guards.clone().follow(stopping.clone()),
    );
    let limits = node.door.quotas.used.clone().run(stopping.clone());
    tasks.spawn("limits", async move {
        limits.await;
        Ok(())
    });
    let forgetting = expiry::run(node.store.clone(), node.clock, stopping.clone());
    tasks.spawn("delete what has expired", forgetting);
    let uses = key_uses::note(
        node.door.keys.clone(),
        node.store.clone(),
        node.clock,
        stopping.clone(),
    );
    tasks.spawn("record key uses", uses);
    if let Some(most) = node.journal.events_share() {
        let watch = nearly_full::Watch {
            journal: node.journal.clone(),
            most,
            budget: node.budget.clone(),
            clock: node.clock,
        };
        tasks.spawn(
            "watch the space left in the journal",
            watch.run(stopping.clone()),
        );
    }
    let events = tasks.appenders(&node.journal, Log::Events);
    let control = node.control_plane(events.clone(), roles, tasks);
    let telling = change_outbox::sweep::<RuleChange>(control.clone(), stopping.clone());
    tasks.spawn("publish audit events about rules", telling);
    if let Some(post) = &control.post {
        let mailing = notice_mail::sweep(control.clone(), post.clone(), stopping.clone());
        tasks.spawn("mail endpoint notices", mailing);
    }
    let following = node.approvals.clone().follow(stopping.clone());
    tasks.spawn("follow approvals", following);
    let telling = ApprovalPublisher::new(&control).sweep(stopping.clone());
    tasks.spawn("publish audit events about approvals", telling);
    let telling = change_outbox::sweep::<SecretChange>(control.clone(), stopping.clone());
    tasks.spawn("publish audit events about signing secrets", telling);
    let telling = change_outbox::sweep::<Finding>(control.clone(), stopping.clone());
    tasks.spawn("publish audit events about decisions not obeyed", telling);
    let telling = change_outbox::sweep::<PolicyChange>(control.clone(), stopping.clone());
    tasks.spawn("publish audit events about policies", telling);
    let telling = change_outbox::sweep::<AccountChange>(control.clone(), stopping.clone());
    tasks.spawn("publish audit events about accounts", telling);
    let parts = routes::Parts {
        data: node.data_plane(events, tasks),
        live: Node::live(&control, tasks),
        accounts: Node::accounts(&control, tasks)?,
        control,
    };
    routes::api(&parts)
}

fn fill_the_store(node: &Node, tasks: &Tasks) -> anyhow::Result<()> {
    for partition in node.journal.partitions().all() {
        apply_log::<Index>(Log::Events(partition), node, tasks);
        apply_log::<Recorder>(Log::Outcomes(partition), node, tasks);
    }
    let telling = journal_size::tell(node.journal.clone(), tasks.stopping().clone());
    tasks.spawn("report the journal's size", telling);
    let counting = dead_letters::count(node.journal.clone(), tasks.stopping().clone());
    tasks.spawn("count dead letters", counting);
    let retention = Retention {
        store: node.store.clone(),
        clock: node.clock,
        events_kept: node.retention,
        deliveries_kept: node.delivery_retention,
        archive: node.archive.clone(),
    };
    tasks.spawn("retention", retention.run(tasks.stopping().clone()));
    let deleting = Deleting {
        store: node.store.clone(),
        journal: node.journal.clone(),
        announcer: node.announcer.clone(),
        files: node.files.clone(),
        clock: node.clock,
    };
    let deleting = deleting.run(tasks.stopping().clone());
    tasks.spawn("delete organizations", deleting);
    erase_events(node, tasks);
    see_to_deliveries(node, tasks);
    if let Some(files) = &node.files {
        make_exports(node, files, tasks);
        if node.keeps_transparency_log {
            keep_transparency_logs(node, files, tasks)?;
        }
    }
    Ok(())
}

/// Here, beside what writes the leaves that they append.
fn keep_transparency_logs(node: &Node, files: &Bucket, tasks: &Tasks) -> anyhow::Result<()> {
    let tools = transparency::Tools {
        store: node.store.clone(),
        bucket: files.clone(),
        vault: Arc::clone(&node.vault),
        clock: node.clock,
        host: node.public_url.without_scheme().to_owned(),
    };
    for partition in node.journal.partitions().all() {
        let sequencer = Sequencer::new(tools.clone(), partition);
        let task = sequencer.run(tasks.stopping().clone());
        let number = partition.index();
        tasks.spawn(format!("append to transparency logs {number}"), task);
    }
    let telling = stopped::tell(node.store.clone(), tasks.stopping().clone());
    tasks.spawn("tell of stopped transparency logs", telling);
    if !node.witnesses.is_empty() {
        let witnesses = Arc::clone(&node.witnesses);
        let (store, files) = (node.store.clone(), files.clone());
        let tools = witnesses::Tools::new(store, files, node.clock, witnesses)?;
        let collecting = Collector(tools).run(tasks.stopping().clone());
        tasks.spawn("collect cosignatures", collecting);
    }
    Ok(())
}

fn erase_events(node: &Node, tasks: &Tasks) {
    let worker = erasures::worker::Worker {
        store: node.store.clone(),
        journal: node.journal.clone(),
        events: tasks.appenders(&node.journal, Log::Events),
        files: node.files.clone(),
        clock: node.clock,
        retention: node.retention,
    };
    tasks.spawn("erase events", jobs::run(worker, tasks.stopping().clone()));
}

/// Here and not beside the deliverer, which goes on without PostgreSQL.
fn see_to_deliveries(node: &Node, tasks: &Tasks) {
    let worker = recover::worker::Worker {
        store: node.store.clone(),
        journal: node.journal.clone(),
        outcomes: tasks.appenders(&node.journal, Log::Outcomes),
        clock: node.clock,
    };
    let recovering = jobs::run(worker, tasks.stopping().clone());
    tasks.spawn("recover deliveries", recovering);
    let reconciler = Reconciler {
        store: node.store.clone(),
        clock: node.clock,
        kept: node.delivery_retention,
    };
    let reconciling = reconciler.run(tasks.stopping().clone());
    tasks.spawn("reconcile deliveries", reconciling);
}

/// Here and not beside the API: it is work without anybody waiting, on what this role reads and writes.
fn make_exports(node: &Node, files: &Bucket, tasks: &Tasks) {
    let worker = Worker {
        store: node.store.clone(),
        files: files.clone(),
        clock: node.clock,
        file_events_max: node.export_events_max,
        partitions: node.journal.partitions(),
        kept: Kept {
            events: node.retention,
            deliveries: node.delivery_retention,
        },
    };
    for number in 0..AT_A_TIME {
        let task = jobs::run(worker.clone(), tasks.stopping().clone());
        tasks.spawn(format!("make exports {number}"), task);
    }
    let stopping = tasks.stopping().clone();
    let sweeping = cleanup::run(node.store.clone(), files.clone(), node.clock, stopping);
    tasks.spawn("delete expired exports", sweeping);
}

fn apply_log<S: Sink + 'static>(log: Log, node: &Node, tasks: &Tasks) {
    let applier = Applier {
        journal: node.journal.clone(),
        store: node.store.clone(),
        clock: node.clock,
        log,
    };
    let task = applier.run::<S>(tasks.stopping().clone());
    tasks.spawn(format!("apply {log:?}"), task);
}

fn judge_events(node: &Node, tasks: &Tasks) {
    let journal = node.journal.clone();
    let rules = Rules::new(journal.clone());
    tasks.spawn(
        "follow rules",
        rules.clone().follow(tasks.stopping().clone()),
    );
    // Deliveries wait from when their event matched, so that goes by the same clock.
    let matcher = Arc::new(Matcher::new(journal, rules, system_clock::JOURNAL));
    for partition in node.journal.partitions().all() {
        let task = Arc::clone(&matcher).run(partition, tasks.stopping().clone());
        tasks.spawn(format!("match {}", partition.index()), task);
    }
}

fn send_deliveries(node: &Node, tasks: &Tasks) -> anyhow::Result<()> {
    let (journal, stopping) = (&node.journal, tasks.stopping());
    let endpoints = Endpoints::new(journal.clone());
    let owners = Owners::new(
        journal.clone(),
        node.endpoint_ownership == EndpointOwnership::Required,
    );
    let targets = Targets::new(journal.clone());
    let cancels = Cancels::new(journal.clone());
    let secrets = Secrets::new(journal.clone(), Arc::clone(&node.vault));
    let following = endpoints.clone().follow(stopping.clone());
    tasks.spawn("follow endpoints", following);
    tasks.spawn("follow targets", targets.clone().follow(stopping.clone()));
    tasks.spawn("follow cancels", cancels.clone().follow(stopping.clone()));
    let following = secrets.clone().follow(stopping.clone());
    tasks.spawn("follow signing secrets", following);
    let events = tasks.appenders(journal, Log::Events);
    let signing = Signing::new(Arc::clone(&node.deployment_keys), secrets);
    let allowed = Arc::clone(&node.targets);
    let tools = Tools {
        journal: journal.clone(),
        sender: Sender::new(allowed, &node.nameservers, signing.clone())?,
        outcomes: tasks.appenders(journal, Log::Outcomes),
        failures: Failures::new(events.clone(), node.retention),
        notices: Notices::new(events, node.retention),
        endpoints,
        owners,
        targets,
        cancels,
        clock: system_clock::JOURNAL,
        own_clock: node.clock,
    };
    if tools.owners.are_wanted() {
        ask_endpoints(&tools, signing.clone(), tasks);
    }
    let bounds = Bounds {
        slots: node.delivery_concurrency,
        per_endpoint: node.endpoint_concurrency,
        per_host: node.concurrency_per_host,
    };
    let worker = deliver::work::Worker::new(tools, bounds, stopping.clone());
    let stopping = stopping.clone();
    tasks.spawn("deliver", async move {
        signing.load(&stopping).await;
        worker.run().await
    });
    Ok(())
}

/// Nothing is sent to an endpoint that has not answered, so it is asked by those who send.
fn ask_endpoints(tools: &Tools, signing: Signing, tasks: &Tasks) {
    let stopping = tasks.stopping().clone();
    let following = tools.owners.clone().follow(stopping.clone());
    tasks.spawn("follow endpoint owners", following);
    let challenger = Challenger {
        sender: tools.sender.clone(),
        owners: tools.owners.clone(),
        endpoints: tools.endpoints.clone(),
        targets: tools.targets.clone(),
        outcomes: tools.outcomes.clone(),
        notices: tools.notices.clone(),
        clock: tools.clock,
        own_clock: tools.own_clock,
    };
    tasks.spawn("verify who owns endpoints", async move {
        signing.load(&stopping).await;
        challenger.run(stopping).await
    });
}
