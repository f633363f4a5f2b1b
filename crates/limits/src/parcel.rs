//! What Redis is told of one window, and in how large pieces.

use domain::limit::{Operation, Quota};

/// How many windows and admissions one pipeline restores at most: Redis serves nobody else while it
/// works on one, some milliseconds at these numbers.
const RESTORED_WINDOWS_MAX: usize = 100;
const RESTORED_ADMISSIONS_MAX: usize = 1_000;

/// Admissions of one window on their way to Redis.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parcel {
    pub(crate) operation: Operation,
    pub(crate) subject: Box<str>,
    pub(crate) quota: Quota,
    pub(crate) admitted_at: Vec<u64>,
}

/// Cuts parcels into pipelines of a bounded size.
pub(crate) fn batches(parcels: &[Parcel]) -> Vec<Vec<Parcel>> {
    let mut batches: Vec<Vec<Parcel>> = Vec::new();
    let mut admissions = 0;
    for parcel in parcels.iter().flat_map(cut) {
        let has_room = admissions + parcel.admitted_at.len() <= RESTORED_ADMISSIONS_MAX;
        match batches.last_mut() {
            Some(batch) if has_room && batch.len() < RESTORED_WINDOWS_MAX => {
                admissions += parcel.admitted_at.len();
                batch.push(parcel);
            }
            _ => {
                admissions = parcel.admitted_at.len();
                batches.push(vec![parcel]);
            }
        }
    }
    batches
}

/// Cuts a parcel that is too large for one call, the oldest admissions first.
fn cut(parcel: &Parcel) -> Vec<Parcel> {
    let part = |admitted_at: &[u64]| Parcel {
        operation: parcel.operation,
        subject: parcel.subject.clone(),
        quota: parcel.quota,
        admitted_at: admitted_at.to_vec(),
    };
    parcel
        .admitted_at
        .chunks(RESTORED_ADMISSIONS_MAX)
        .map(part)
        .collect()
}
