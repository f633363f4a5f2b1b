//! Migrations as a next version may bring them: what `next/` has works, and what runs now takes it for newer.

use std::path::Path;

use sqlx::{Connection as _, PgConnection, migrate::Migrator};
use testkit::Database;

use crate::{NOW, store};

#[tokio::test]
async fn a_migration_of_the_next_version_is_applied_on_top_and_goes_on_where_it_was_interrupted() {
    let (store, database) = store().await;
    store.make_days_ahead(NOW).await.expect("days");
    apply_next(&database).await;
    let is_whole = || {
        let valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'next_index'::regclass";
        database.query(valid).expect("an index").trim() == "t"
    };
    assert!(is_whole(), "every day has the index");

    // As it is left if it is interrupted before the first day.
    let interrupted = "DROP INDEX next_index;
        CREATE INDEX next_index ON ONLY delivery_attempts (org_id, status, finished_at)
            WHERE outcome <> 'delivered';
        DELETE FROM _sqlx_migrations WHERE version = 9999";
    database.query(interrupted).expect("interrupted");
    assert!(!is_whole());
    apply_next(&database).await;
    assert!(is_whole(), "every day has it again");

    let version = store.schema_version().await.expect("it is one of ours");
    assert_eq!(version, Some(9999));
    assert_eq!(store.pending_migrations().await.expect("an answer"), 0);
    store.migrate().await.expect_err("it is newer");
}

/// As the next version's `watchbell migrate` would.
async fn apply_next(database: &Database) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/next");
    let mut next = Migrator::new(folder).await.expect("migrations");
    // It would have those before, too.
    next.set_ignore_missing(true);
    let mut connection = PgConnection::connect(database.url())
        .await
        .expect("a connection");
    next.run(&mut connection).await.expect("migrated");
}
