//! What Redis is told of one window, and in how large pieces.

use domain::limit::{Operation, Quota};

/// How many windows and admissions one pipeline restores at most: Redis serves nobody else while it
/// works on one, some milliseconds at these numbers.
const RESTORED_WINDOWS_MAX: usize = 100;
const RESTORED_ADMISSIONS_MAX: usize = 1_000;

/// Admissions of one window on their way to Redis.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RestoreBatch {
    pub(crate) operation: Operation,
    pub(crate) subject: Box<str>,
    pub(crate) quota: Quota,
    pub(crate) admitted_at: Vec<u64>,
}

/// Cuts parcels into pipelines of a bounded size.
pub(crate) fn batches(parcels: &[RestoreBatch]) -> Vec<Vec<RestoreBatch>> {
    let mut batches: Vec<Vec<RestoreBatch>> = Vec::new();
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
fn cut(parcel: &RestoreBatch) -> Vec<RestoreBatch> {
    let part = |admitted_at: &[u64]| RestoreBatch {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Window;

    #[test]
    fn a_parcel_that_was_cut_is_in_order_again_when_it_is_put_back() {
        let quota: Quota = "5000/60s".parse().expect("a quota");
        let mut window = Window::new(quota);
        for at_ms in 0..2_500 {
            window.add_unsynced(1, at_ms);
        }
        let parcel = RestoreBatch {
            operation: Operation::Decide,
            subject: "a".into(),
            quota,
            admitted_at: window.take_unsent(3_000_000).expect("all are unsynced"),
        };
        let batches = batches(&[parcel]);
        let sizes: Vec<usize> = batches.iter().map(|one| one[0].admitted_at.len()).collect();
        assert_eq!(sizes, [1_000, 1_000, 500]);
        window.add_unsynced(1, 2_500);
        for part in batches.into_iter().flatten() {
            window.put_back(part.admitted_at);
        }
        let unsynced = window.take_unsent(3_000_000).expect("all are unsynced");
        assert_eq!(unsynced, (0..=2_500).collect::<Vec<u64>>());
    }
}
