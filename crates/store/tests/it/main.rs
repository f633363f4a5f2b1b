//! The store on a real PostgreSQL, a database of its own for each test.

mod counts;
mod deliveries;
mod disobeyed_decisions;
mod erasures;
mod export;
mod export_jobs;
mod facets;
mod index;
mod list;
mod next_migration;
mod people;
mod plans;
mod query;
mod repeats;
mod trail;

use domain::Timestamp;
use store::Store;
use testkit::Database;

/// 2026-11-15.
const NOW: Timestamp = Timestamp::from_unix_millis(1_794_735_000_000);

async fn store() -> (Store, Database) {
    let migrate = async |url: String| {
        let store = Store::new(&url, 1)?;
        store.migrate().await?;
        Ok(())
    };
    let database = Database::from_template_async("store", migrate)
        .await
        .expect("a database");
    (Store::new(database.url(), 5).expect("a store"), database)
}
