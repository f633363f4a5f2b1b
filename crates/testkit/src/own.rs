//! Engines for one test alone, which may stop, kill and start them as it likes.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use anyhow::Context as _;
use engines::{
    Binaries, Durability, Engines, Nats, NatsCluster, NatsOptions, Options, Postgres,
    PostgresOptions, Redis, RedisOptions,
};

use crate::folder::TestFolder;
use crate::{environment, postgres_version};

/// An engine and the throw-away folder that it lives in; use it like the engine.
#[derive(Debug)]
pub struct Own<T> {
    // In this order: the server stops before its folder goes.
    engine: T,
    _folder: TestFolder,
}

/// A PostgreSQL with an empty cluster.
pub fn postgres() -> anyhow::Result<Own<Postgres>> {
    start(|folder, found| {
        let postgres = Postgres::start(folder, &found.postgres, &throw_away())?;
        postgres_version::check(&postgres)?;
        Ok(postgres)
    })
}

/// One NATS server.
pub fn nats() -> anyhow::Result<Own<Nats>> {
    start(|folder, found| Nats::start(folder, &found.nats, &NatsOptions::default()))
}

/// Three NATS servers that have agreed on a leader.
pub fn nats_cluster() -> anyhow::Result<Own<NatsCluster>> {
    start(|folder, found| NatsCluster::start(folder, &found.nats, 3, &NatsOptions::default()))
}

/// One Redis server.
pub fn redis() -> anyhow::Result<Own<Redis>> {
    start(|folder, found| {
        let program = found.redis.as_ref().context("Redis is not installed")?;
        Redis::start(folder, program, &RedisOptions::default())
    })
}

/// One of each.
pub fn engines() -> anyhow::Result<Own<Engines>> {
    start_all(&Options {
        postgres: throw_away(),
        ..Options::default()
    })
}

/// One of each, as durable as in production: for figures.
pub fn durable_engines() -> anyhow::Result<Own<Engines>> {
    start_all(&Options::default())
}

fn start_all(options: &Options) -> anyhow::Result<Own<Engines>> {
    start(|folder, found| {
        let engines = Engines::start_with(folder, found, options)?;
        postgres_version::check(&engines.postgres)?;
        Ok(engines)
    })
}

fn start<T>(start: impl FnOnce(&Path, &Binaries) -> anyhow::Result<T>) -> anyhow::Result<Own<T>> {
    let binaries = environment::binaries()?;
    let folder = TestFolder::create()?;
    let engine = start(&folder.path().join("engine"), &binaries)?;
    Ok(Own {
        engine,
        _folder: folder,
    })
}

fn throw_away() -> PostgresOptions {
    PostgresOptions {
        durability: Durability::ThrowAway,
        ..PostgresOptions::default()
    }
}

impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.engine
    }
}

impl<T> DerefMut for Own<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.engine
    }
}
