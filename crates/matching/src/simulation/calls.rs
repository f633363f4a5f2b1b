//! Calls to the journal that wait for their answer: the scheduler says when it comes, and what it says.

use std::{
    cell::RefCell,
    collections::HashMap,
    future::poll_fn,
    rc::Rc,
    task::{Poll, Waker},
};

use domain::Timestamp;
use journal::Error;

use super::journal::Journal;

/// The journal, as all who take part share it.
pub(super) type Shared = Rc<RefCell<Journal>>;

/// What a call does to the journal when it arrives there.
type Effect = Box<dyn FnOnce(&mut Journal)>;

/// What may become of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A question of the matcher's to its own process: answered, sooner or later.
    Own,
    /// It changes nothing, so it is of no interest once nobody waits for it.
    Read,
    /// It may arrive although nobody hears of it.
    Write,
}

/// A call that has no answer yet.
pub(super) struct Call {
    id: u64,
    pub(super) who: usize,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) since: Timestamp,
    effect: Effect,
}

#[derive(Default)]
pub(super) struct Calls {
    made: u64,
    pub(super) waiting: Vec<Call>,
    /// Given, and not heard yet: whether the call worked.
    answers: HashMap<u64, bool>,
    /// Whom to wake when there is an answer.
    wakers: HashMap<u64, Waker>,
    /// On their way, and nobody waits for their answer any more.
    pub(super) adrift: Vec<Call>,
}

impl Calls {
    /// Whether somebody waits for an answer.
    pub(super) fn is_waiting(&self, who: usize) -> bool {
        self.waiting.iter().any(|call| call.who == who)
    }

    fn give(&mut self, id: u64, worked: bool) {
        self.answers.insert(id, worked);
        if let Some(waker) = self.wakers.remove(&id) {
            waker.wake();
        }
    }
}

/// The call arrives, and its answer does too.
pub(super) fn answer(journal: &mut Journal, call: Call) {
    (call.effect)(journal);
    journal.calls.give(call.id, true);
}

/// The call arrives, and its answer gets lost.
pub(super) fn lose_answer(journal: &mut Journal, call: Call) {
    (call.effect)(journal);
    journal.calls.give(call.id, false);
}

/// The caller hears of an error; whether the call arrives is open, if it would change something.
pub(super) fn fail(journal: &mut Journal, call: Call) {
    journal.calls.give(call.id, false);
    if call.kind == Kind::Write {
        journal.calls.adrift.push(call);
    }
}

/// A call that nobody waits for arrives.
pub(super) fn arrive(journal: &mut Journal, call: Call) {
    (call.effect)(journal);
}

/// Calls, and waits for the answer.
pub(super) async fn call<T: 'static>(
    shared: &Shared,
    who: usize,
    (name, kind): (&'static str, Kind),
    effect: impl FnOnce(&mut Journal) -> T + 'static,
) -> Result<T, Error> {
    let result = Rc::new(RefCell::new(None));
    let given = Rc::clone(&result);
    let id = {
        let journal = &mut *shared.borrow_mut();
        journal.calls.made += 1;
        let id = journal.calls.made;
        journal.calls.waiting.push(Call {
            id,
            who,
            name,
            kind,
            since: journal.now,
            effect: Box::new(move |journal| *given.borrow_mut() = Some(effect(journal))),
        });
        id
    };
    let _caller = Caller { shared, id };
    let worked = poll_fn(|context| {
        let calls = &mut shared.borrow_mut().calls;
        if let Some(worked) = calls.answers.remove(&id) {
            return Poll::Ready(worked);
        }
        calls.wakers.insert(id, context.waker().clone());
        Poll::Pending
    });
    if worked.await {
        let result = result.borrow_mut().take();
        Ok(result.expect("a call that worked had its effect"))
    } else {
        Err(Error::behind(name, 0))
    }
}

/// Whoever waits for an answer. If it goes, the call may still be on its way.
struct Caller<'s> {
    shared: &'s Shared,
    id: u64,
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        // It is borrowed only while a check that failed unwinds.
        let Ok(mut journal) = self.shared.try_borrow_mut() else {
            return;
        };
        let calls = &mut journal.calls;
        calls.answers.remove(&self.id);
        calls.wakers.remove(&self.id);
        if let Some(place) = calls.waiting.iter().position(|call| call.id == self.id) {
            let call = calls.waiting.remove(place);
            if call.kind == Kind::Write {
                calls.adrift.push(call);
            }
        }
    }
}
