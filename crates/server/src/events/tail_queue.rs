//! What waits for one client of the live tail: bounded, and what finds no room is counted in its place.

use std::collections::VecDeque;

use bytes::Bytes;

/// What waits for one client: half a second at a thousand events a second, and 0.5 GiB for all
/// clients together at worst. What comes beyond it is counted, and the client is told.
const QUEUE_EVENTS_MAX: usize = 512;
const QUEUE_BYTES_MAX: usize = 1024 * 1024;

/// What one client has not been told yet.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<TailItem>,
    events: usize,
    bytes: usize,
    /// No more will come.
    ended: bool,
}

/// What a client is told.
#[derive(Debug)]
pub enum TailItem {
    /// An event, as it goes over the wire.
    Event(Bytes),
    /// So many were left out here.
    Skipped(u64),
}

impl Queue {
    /// `false` if there is no room: then it is counted, at its place among the others. Such counts are
    /// never beside each other, so there are no more of them than events.
    pub(super) fn put(&mut self, frame: &Bytes) -> bool {
        if self.events < QUEUE_EVENTS_MAX && self.bytes + frame.len() <= QUEUE_BYTES_MAX {
            self.events += 1;
            self.bytes += frame.len();
            self.waiting.push_back(TailItem::Event(frame.clone()));
            return true;
        }
        match self.waiting.back_mut() {
            Some(TailItem::Skipped(skipped)) => *skipped += 1,
            _ => self.waiting.push_back(TailItem::Skipped(1)),
        }
        false
    }

    pub(super) fn take(&mut self) -> Option<TailItem> {
        let told = self.waiting.pop_front()?;
        if let TailItem::Event(frame) = &told {
            self.events -= 1;
            self.bytes -= frame.len();
        }
        Some(told)
    }

    /// What waits is still taken; nothing comes after it.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_counts_what_it_leaves_out_at_its_place() {
        let mut queue = Queue::default();
        let frame = |number: usize| Bytes::from(number.to_string());
        for number in 0..QUEUE_EVENTS_MAX {
            assert!(queue.put(&frame(number)));
        }
        assert!(!queue.put(&frame(7)) && !queue.put(&frame(8)));
        assert!(matches!(queue.take(), Some(TailItem::Event(first)) if first == "0"));
        assert!(queue.put(&frame(9_999)));
        for _ in 1..QUEUE_EVENTS_MAX {
            assert!(matches!(queue.take(), Some(TailItem::Event(_))));
        }
        assert!(matches!(queue.take(), Some(TailItem::Skipped(2))));
        assert!(matches!(queue.take(), Some(TailItem::Event(last)) if last == "9999"));
        assert!(queue.take().is_none());
        assert_eq!((queue.events, queue.bytes), (0, 0));
    }

    #[test]
    fn a_queue_holds_no_more_bytes_than_it_may() {
        let mut queue = Queue::default();
        let large = Bytes::from(vec![b'x'; QUEUE_BYTES_MAX / 4]);
        let taken = (0..10).filter(|_| queue.put(&large)).count();
        assert_eq!(taken, 4);
    }
}
