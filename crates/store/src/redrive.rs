//! Dead letters that were applied: each once, however often whoever applies it dies before it is removed.

use domain::Timestamp;
use sqlx::{Postgres, Transaction};

use crate::{Error, Store};

/// Notes within a transaction that a letter is applied; `false` if it was before.
pub(crate) async fn claim(
    transaction: &mut Transaction<'_, Postgres>,
    place: &str,
) -> Result<bool, Error> {
    let noted =
        sqlx::query("INSERT INTO redriven_letters (place) VALUES ($1) ON CONFLICT DO NOTHING")
            .bind(place)
            .execute(&mut **transaction)
            .await?;
    Ok(noted.rows_affected() == 1)
}

impl Store {
    /// Forgets letters that were applied before then; how many they were.
    pub async fn forget_redriven_letters(&self, before: Timestamp) -> Result<u64, Error> {
        self.forget_in_slices(
            "DELETE FROM redriven_letters WHERE ctid = ANY (ARRAY (
                 SELECT ctid FROM redriven_letters WHERE redriven_at < $1 LIMIT $2))",
            before,
        )
        .await
    }
}
