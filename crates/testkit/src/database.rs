//! A database for one test, in the PostgreSQL that all tests share.
//!
//! Migrations run once per test run, into a template; each test gets a copy of it, which takes
//! PostgreSQL some tens of milliseconds.

use std::fs::File;

use anyhow::Context;
use engines::postgres::query;

use crate::namespace;
use crate::shared::{Shared, shared};

/// A fresh database, dropped together with this.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
}

impl Database {
    /// An empty one.
    pub fn create() -> anyhow::Result<Self> {
        let name = namespace();
        administer(shared(), &format!("CREATE DATABASE {name}"))?;
        Ok(Self::named(name))
    }

    /// A copy of the template with this name (`[a-z0-9_]`). The first test of the run that asks for
    /// it makes it with `migrate`, which is given an empty database and must not leave a connection
    /// to it open; other tests wait meanwhile.
    pub fn from_template(
        template: &str,
        migrate: impl FnOnce(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        if let Some(database) = Self::copy_of(template)? {
            return Ok(database);
        }
        let lock = lock_template(template)?;
        if let Some(database) = Self::copy_of(template)? {
            return Ok(database);
        }
        let unfinished = begin_template(template)?;
        migrate(&shared().database_url(&unfinished))
            .with_context(|| format!("migrate the template {template}"))?;
        finish_template(&unfinished, template)?;
        drop(lock);
        Self::copy_of(template)?.context("the template that was just made is gone")
    }

    /// [`Self::from_template`] for asynchronous migrations.
    pub async fn from_template_async(
        template: &str,
        migrate: impl AsyncFnOnce(String) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        if let Some(database) = Self::copy_of(template)? {
            return Ok(database);
        }
        let lock = lock_template(template)?;
        if let Some(database) = Self::copy_of(template)? {
            return Ok(database);
        }
        let unfinished = begin_template(template)?;
        migrate(shared().database_url(&unfinished))
            .await
            .with_context(|| format!("migrate the template {template}"))?;
        finish_template(&unfinished, template)?;
        drop(lock);
        Self::copy_of(template)?.context("the template that was just made is gone")
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs SQL with `psql` and returns the rows as lines, columns parted by `|`.
    pub fn query(&self, sql: &str) -> anyhow::Result<String> {
        query(&shared().postgres_binaries, &self.url, sql)
    }

    /// `None` when there is no such template.
    fn copy_of(template: &str) -> anyhow::Result<Option<Self>> {
        let name = namespace();
        match administer(
            shared(),
            &format!("CREATE DATABASE {name} TEMPLATE {template}"),
        ) {
            Ok(_) => Ok(Some(Self::named(name))),
            Err(error) if error.to_string().contains("does not exist") => Ok(None),
            Err(error) => Err(error.context(format!("copy the template {template}"))),
        }
    }

    fn named(name: String) -> Self {
        Self {
            url: shared().database_url(&name),
            name,
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Best effort: the whole cluster is removed after the run.
        let _ = administer(
            shared(),
            &format!("DROP DATABASE {} WITH (FORCE)", self.name),
        );
    }
}

/// Tests are processes, so only a lock on a file keeps two from making the same template.
fn lock_template(template: &str) -> anyhow::Result<File> {
    let path = shared().folder.join(format!("template-{template}.lock"));
    let file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    file.lock()
        .with_context(|| format!("lock {}", path.display()))?;
    Ok(file)
}

/// The template gets its name when it is complete, so a failed migration leaves none.
fn begin_template(template: &str) -> anyhow::Result<String> {
    let unfinished = format!("{template}_unfinished");
    administer(
        shared(),
        &format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)"),
    )?;
    administer(shared(), &format!("CREATE DATABASE {unfinished}"))?;
    Ok(unfinished)
}

fn finish_template(unfinished: &str, template: &str) -> anyhow::Result<()> {
    // PostgreSQL copies only databases that nobody uses; this turns away who tries.
    administer(
        shared(),
        &format!("ALTER DATABASE {unfinished} ALLOW_CONNECTIONS false"),
    )?;
    administer(
        shared(),
        &format!("ALTER DATABASE {unfinished} RENAME TO {template}"),
    )?;
    Ok(())
}

fn administer(shared: &Shared, sql: &str) -> anyhow::Result<String> {
    query(&shared.postgres_binaries, &shared.postgres_url, sql)
}
