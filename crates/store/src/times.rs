//! Our one time type, to and from the database's.

use domain::Timestamp;
use time::OffsetDateTime;

pub(crate) fn to_database(at: Timestamp) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.unix_millis()) * 1_000_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

pub(crate) fn from_database(at: OffsetDateTime) -> Timestamp {
    let millis = at.unix_timestamp_nanos().div_euclid(1_000_000);
    Timestamp::from_unix_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
