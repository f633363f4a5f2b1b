//! Coalescing: at most one call in flight for each caller and operation of a node.
//!
//! Requests that arrive while a call is in flight gather, and the next call asks for all of them at
//! once; the first `granted` of them, in the order they arrived, are admitted. A lone request waits
//! for nobody.
//!
//! A call belongs to nobody in particular: it is a shared future that goes on as long as any one of
//! its requests is still there to poll it, and the call after it polls it too. So a request may be
//! dropped at any moment (the client hung up), and neither does anybody wait for ever nor is what
//! was granted to the others lost. No task is started.

use futures::future::{BoxFuture, Shared};

use crate::check::Settled;

/// How many requests one call asks for at most; the script pushes all of them in one command.
pub(crate) const WANTED_MAX: u32 = 1_000;

/// A call for some requests, and what came of it.
pub(crate) type Call = Shared<BoxFuture<'static, Settled>>;

/// The call in flight and the one that gathers.
#[derive(Default)]
pub(crate) struct Coalescer {
    running: Option<Call>,
    gathering: Option<Gathering>,
}

struct Gathering {
    call: Call,
    joined: u32,
}

/// Where a request found a place.
pub(crate) enum Seat {
    /// In this call, as number `position`.
    In { call: Call, position: u32 },
    /// Nowhere: this call is full. Wait for it and ask again.
    After(Call),
}

impl Coalescer {
    /// Joins the call that gathers; if none does, starts one that begins when the one before it,
    /// which `start` is told, has ended.
    pub(crate) fn join(&mut self, start: impl FnOnce(Option<Call>) -> Call) -> Seat {
        let before = self.running.clone();
        let gathering = self.gathering.get_or_insert_with(|| Gathering {
            call: start(before),
            joined: 0,
        });
        let call = gathering.call.clone();
        if gathering.joined == WANTED_MAX {
            return Seat::After(call);
        }
        let position = gathering.joined;
        gathering.joined += 1;
        Seat::In { call, position }
    }

    /// The call that gathered is about to be made: it takes nobody else. How many it asks for.
    pub(crate) fn begin(&mut self) -> u32 {
        let Some(gathered) = self.gathering.take() else {
            // Cannot be: a call begins once, and stays here while anybody holds it.
            return 1;
        };
        self.running = Some(gathered.call);
        gathered.joined
    }

    /// The call has its answer.
    pub(crate) fn end(&mut self) {
        self.running = None;
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_none() && self.gathering.is_none()
    }

    /// Drops calls that nobody polls because every request for them was dropped.
    pub(crate) fn leave_if_deserted(&mut self) {
        // One holder is the turn itself.
        let is_deserted = |call: &Call| call.strong_count().is_none_or(|holders| holders <= 1);
        // In this order: a call that gathers holds the one before it.
        self.gathering
            .take_if(|gathering| is_deserted(&gathering.call));
        self.running.take_if(|call| is_deserted(call));
    }
}
