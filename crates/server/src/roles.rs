//! What a process does: any set of four roles. Small users run all in one; large ones scale each.

use std::sync::Arc;

use clap::ValueEnum;
use journal::streams::Log;

use crate::{
    alerts::{announce, matching::Matcher},
    deliveries::{record, send::Sender, work::Worker},
    events::index,
    lifecycle::Tasks,
    node::Node,
    planes::Appenders,
    snapshots::Rules,
};

/// One thing a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Serves HTTP and announces what the control plane decided.
    Api,
    /// Fills PostgreSQL from the journal: events, deliveries, attempts.
    Index,
    /// Turns events into deliveries.
    Match,
    /// Sends deliveries.
    Deliver,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Api, Self::Index, Self::Match, Self::Deliver];
}

/// Starts the background work of a role. The HTTP side of [`Role::Api`] is started by the node.
pub fn start(role: Role, node: &Node, tasks: &Tasks) -> anyhow::Result<()> {
    let stopping = || tasks.stopping().clone();
    match role {
        Role::Api => {
            let (store, journal) = (node.store.clone(), node.journal.clone());
            tasks.spawn("announce", announce::sweep(store, journal, stopping()));
            tasks.spawn("follow keys", node.keys.clone().follow(stopping()));
        }
        Role::Index => {
            for partition in node.journal.partitions().all() {
                let (journal, store) = (node.journal.clone(), node.store.clone());
                let task = index::run(journal.clone(), store.clone(), partition, stopping());
                tasks.spawn(format!("index {}", partition.index()), task);
                let task = record::run(journal, store, partition, stopping());
                tasks.spawn(format!("record {}", partition.index()), task);
            }
        }
        Role::Match => {
            let rules = Rules::new(node.journal.clone());
            tasks.spawn("follow rules", rules.clone().follow(stopping()));
            let outcomes = Appenders::start(&node.journal, Log::Outcomes, tasks);
            let matcher = Arc::new(Matcher::new(
                node.journal.clone(),
                rules,
                outcomes,
                node.clock,
            ));
            for partition in node.journal.partitions().all() {
                let task = Arc::clone(&matcher).run(partition, stopping());
                tasks.spawn(format!("match {}", partition.index()), task);
            }
        }
        Role::Deliver => {
            let outcomes = Appenders::start(&node.journal, Log::Outcomes, tasks);
            let sender = Sender::new(Arc::clone(&node.targets), node.signing.clone())?;
            let worker = Worker::new(node.journal.clone(), sender, outcomes, node.clock);
            tasks.spawn("deliver", worker.run(node.delivery_concurrency, stopping()));
        }
    }
    Ok(())
}
