//! What becomes of a delivery that is taken, or whose turn it is, by what is known of it then.

use domain::{
    Timestamp,
    delivery::{
        Reason, State,
        endpoint::Gate,
        schedule::{self, Next},
    },
};
use journal::{cancellations::Void, record::Job};

use crate::snapshots::Target;

/// Why nothing is sent now, and until when if that is known.
pub(super) type Shut = (Reason, Option<Timestamp>);

/// What is known of a delivery.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) void: Option<Void>,
    pub(super) target: Option<Target>,
    pub(super) gate: Gate,
}

/// What becomes of a delivery that is not sent, because something changed since it was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instead {
    /// A later round of it is under way, which says where it stands.
    Forget,
    End(State, Reason),
    /// Its rule goes elsewhere now.
    Move,
    /// Its endpoint is shut, for everything that waits for it.
    Clear(Shut),
}

/// How a delivery ends without another attempt, if it does.
pub(super) fn end_of(
    job: &Job,
    void: Option<Void>,
    target: Option<&Target>,
    now: Timestamp,
) -> Option<(State, Reason)> {
    // On record already, unless an attempt that was under way has put something else there since.
    if void == Some(Void::Canceled) {
        return Some((State::Canceled, Reason::User));
    }
    if target == Some(&Target::Gone) {
        return Some((State::Canceled, Reason::RuleDeleted));
    }
    schedule::is_expired(job.round(), now).then_some((State::Failed, Reason::Expired))
}

/// What is done with a delivery in place of sending it; `None`: it is sent.
pub(super) fn instead(job: &Job, is_probe: bool, known: &Known, now: Timestamp) -> Option<Instead> {
    if known.void == Some(Void::Superseded) {
        return Some(Instead::Forget);
    }
    if let Some((state, reason)) = end_of(job, known.void, known.target.as_ref(), now) {
        return Some(Instead::End(state, reason));
    }
    if is_stray(job, known.target.as_ref()) {
        return Some(Instead::Move);
    }
    match known.gate {
        Gate::Open => None,
        Gate::Probe
        | Gate::Shut {
            reason: Reason::Breaker,
            ..
        } if is_probe => None,
        gate => shut(gate, now).map(Instead::Clear),
    }
}

/// Why nothing is sent to an endpoint, by its gate. Whoever takes from its lane sends the probe.
pub(super) fn shut(gate: Gate, now: Timestamp) -> Option<Shut> {
    match gate {
        Gate::Open => None,
        Gate::Probe => Some((Reason::Breaker, Some(now))),
        Gate::Shut { reason, until } => Some((reason, until)),
    }
}

/// Whether the rule of a delivery goes elsewhere now, or is gone.
pub(super) fn is_stray(job: &Job, target: Option<&Target>) -> bool {
    match target {
        Some(Target::Url(url)) => **url != *job.matched.url,
        Some(Target::Gone) => true,
        None => false,
    }
}

/// Nothing is scheduled for an endpoint that only a person opens again.
pub(super) fn unless_shut(next: Next, gate: Gate) -> Next {
    match (next, gate) {
        (Next::At { .. }, Gate::Shut { reason, .. }) if reason.needs_a_person() => {
            Next::Held(reason)
        }
        _ => next,
    }
}
