//! Whose events a log that is nearly full still takes.
//!
//! Organizations share a log, and one that is full takes nothing from anybody. So the last tenth is kept for those who
//! send little: above the mark whoever sent more in a day than an equal share of what all sent is refused, until
//! others have sent as much or there is room again.
//!
//! Who is alone would have an equal share of everything, and the loudest of those who send next to nothing would be refused
//! for it. So a share is never less than what, sent by each of them every day, fits into that tenth for as long as the log keeps
//! it; and a lone sender leaves room for another that is yet to come.
//!
//! Not kept out: somebody who has several organizations in the log has as many shares.

/// A log holds more than this part of what it may: it is nearly full.
const MARK: Part = Part { of: 10, part: 9 };
/// How long a log keeps events: the journal's 7 days.
const KEPT_DAYS: u64 = 7;

struct Part {
    part: u64,
    of: u64,
}

/// What one organization may have sent in a day to a log that holds `held` of `most` bytes. Who has sent more is refused.
/// `sent`: what each of those has sent that sent anything. `None`: the log has room for everybody.
pub fn share(held: u64, most: u64, sent: &[u64]) -> Option<u64> {
    let mark = most / MARK.of * MARK.part;
    if held <= mark {
        return None;
    }
    let senders = sent.len() as u64;
    let sent_by_all = sent
        .iter()
        .fold(0, |all: u64, bytes| all.saturating_add(*bytes));
    let equal = sent_by_all / senders.max(2);
    let least = (most - mark) / KEPT_DAYS / senders.max(1);
    Some(equal.max(least))
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const MOST: u64 = 1_000_000;
    /// A hundred thousand bytes are kept for those who send little.
    const NEARLY: u64 = 900_001;

    #[test]
    fn the_loudest_is_refused_and_the_quiet_are_not() {
        assert_eq!(share(900_000, MOST, &[900_000]), None, "there is room");
        for (sent, expected) in [
            (&[900_000, 1_000][..], 450_500),
            // Who is alone leaves room for who is yet to come.
            (&[900_000], 450_000),
            // Those who send little are not refused because nobody sends more.
            (&[2_000], 14_285),
            (&[3_000, 2_000], 7_142),
            (&[], 14_285),
        ] {
            assert_eq!(share(NEARLY, MOST, sent), Some(expected), "{sent:?}");
        }
    }

    proptest! {
        #[test]
        fn there_is_room_for_everybody_up_to_nine_tenths(
            most in 0..=u64::MAX, held in 0..=u64::MAX, sent in vec(0..=u64::MAX, 0..9),
        ) {
            let is_nearly_full = share(held, most, &sent).is_some();
            prop_assert_eq!(is_nearly_full, held > most / 10 * 9);
        }

        #[test]
        fn whoever_sent_least_is_never_refused_beside_others(sent in vec(1..MOST, 2..20)) {
            let share = share(NEARLY, MOST, &sent).expect("nearly full");
            let least = *sent.iter().min().expect("several");
            prop_assert!(least <= share);
        }

        #[test]
        fn whoever_sent_most_is_refused_if_others_sent_less_and_it_is_not_little(
            sent in vec(1..MOST, 1..20), loudest in 0usize..20,
        ) {
            let mut sent = sent;
            let loudest = loudest % sent.len();
            sent[loudest] = 2 * MOST;
            let share = share(NEARLY, MOST, &sent).expect("nearly full");
            prop_assert!(sent[loudest] > share);
        }

        #[test]
        fn a_share_of_next_to_nothing_lasts_until_the_log_has_room(senders in 1usize..1_000) {
            let share = share(NEARLY, MOST, &vec![0; senders]).expect("nearly full");
            prop_assert!(share * senders as u64 * KEPT_DAYS <= MOST / 10);
        }
    }
}
