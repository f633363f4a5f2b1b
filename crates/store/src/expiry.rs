//! Deletes what is older than it is kept, a slice at a time: no statement takes long or locks much.

use domain::Timestamp;

use crate::{Error, Store, times::to_database};

/// How many rows one statement deletes.
const SLICE_ROWS_MAX: i64 = 10_000;

impl Store {
    /// Deletes all rows from before a time; how many they were. The statement takes the time and the rows of a
    /// slice.
    pub(crate) async fn forget_in_slices(
        &self,
        statement: &'static str,
        before: Timestamp,
    ) -> Result<u64, Error> {
        let mut forgotten = 0;
        loop {
            let slice = sqlx::query(statement)
                .bind(to_database(before))
                .bind(SLICE_ROWS_MAX)
                .execute(&self.pool)
                .await?;
            if slice.rows_affected() == 0 {
                return Ok(forgotten);
            }
            forgotten += slice.rows_affected();
        }
    }
}
