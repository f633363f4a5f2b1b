//! The schema, and the migrations that make it: `migrations/`, of which the README says how one is written.
//!
//! A migration that was released never changes. So the ones that a database has tell whether it is one of ours, of this
//! version, an older or a newer one; the databases of builds from before the first release are not.

use std::collections::BTreeSet;

use sqlx::{Connection as _, PgConnection, migrate::Migrator};

use crate::{Error, Store};

static MIGRATIONS: Migrator = sqlx::migrate!();

impl Store {
    /// Brings the schema up to date. Safe to run on every start and on several nodes at once.
    pub async fn migrate(&self) -> Result<(), Error> {
        let mut connection = self.connect().await?;
        applied(&mut connection).await?;
        MIGRATIONS.run(&mut connection).await?;
        connection.close().await?;
        Ok(())
    }

    /// The version of the schema, or `None` if there is none yet.
    pub async fn schema_version(&self) -> Result<Option<i64>, Error> {
        let applied = applied(&mut self.connect().await?).await?;
        Ok(applied.last().copied())
    }

    /// The newest version this binary knows.
    pub fn newest_schema_version() -> i64 {
        MIGRATIONS.iter().map(|one| one.version).max().unwrap_or(0)
    }

    /// How many changes of the schema this binary knows that the database does not have yet.
    pub async fn pending_migrations(&self) -> Result<usize, Error> {
        let version = self.schema_version().await?.unwrap_or(0);
        Ok(MIGRATIONS
            .iter()
            .filter(|one| one.version > version)
            .count())
    }
}

/// The versions of the migrations that the database has. Those that this binary does not know are a newer version's;
/// those that it knows must be what it knows them to be.
async fn applied(connection: &mut PgConnection) -> Result<BTreeSet<i64>, Error> {
    let exists: bool = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL")
        .fetch_one(&mut *connection)
        .await?;
    if !exists {
        return Ok(BTreeSet::new());
    }
    let applied: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations WHERE success")
            .fetch_all(connection)
            .await?;
    for (version, checksum) in &applied {
        let known = MIGRATIONS.iter().find(|one| one.version == *version);
        if known.is_some_and(|known| *known.checksum != **checksum) {
            return Err(Error::NotReleased);
        }
    }
    Ok(applied.into_iter().map(|(version, _)| version).collect())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// The first half of each checksum (SHA-384 of the file). A release adds a line for each new migration, and changes
    /// none: databases have these, and would be refused.
    const RELEASED: [(i64, &str); 9] = [
        (1, "889db333cd052e01092ed1822252966a05918003e15cb08c"),
        (2, "5c2e2ad9523fc447e795d960e7614ec8b14f976e942a65dd"),
        (3, "267852c3a0cf484cf821255954bd2d53dce31764251ebe04"),
        (4, "6bc390b38c0055183d341221cab65d43507580c43ba21ab3"),
        (5, "174ad5a0a7d900aaee7537a3b53b39cd78983530ef7f7514"),
        (6, "c18c427544b6a67fc4bfee0be8eca619c4cc198bec7c856c"),
        (7, "388911102dc254823004a6357e5bc3c16534776155c71ce5"),
        (8, "7968f18bf46e707875e2abda9a37564cf7df401dd1bc3df3"),
        (9, "068fe187338ba5e51c26a0ed176db263e5ff8dcbfb61c77e"),
    ];

    #[test]
    fn a_migration_that_was_released_never_changes() {
        for (version, checksum) in RELEASED {
            let migration = MIGRATIONS.iter().find(|one| one.version == version);
            let migration = migration.expect("a released migration stays");
            let found = migration.checksum[..24]
                .iter()
                .fold(String::new(), |mut hex, byte| {
                    let _ = write!(hex, "{byte:02x}");
                    hex
                });
            assert_eq!(
                found, checksum,
                "{version} {}: it was released; write a new migration instead",
                migration.description
            );
        }
    }
}
