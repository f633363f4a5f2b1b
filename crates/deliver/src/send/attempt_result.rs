//! What one attempt came to: what was sent, over which connection, and what was answered.

use std::{net::SocketAddr, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use domain::{
    Timestamp,
    delivery::{
        Answer, Outcome,
        diagnosis::{Reply, Trouble, clock_skew, explain, retry_after},
    },
};
use hyper::{
    Response,
    body::Incoming,
    http::{
        Extensions,
        header::{DATE, LOCATION, RETRY_AFTER},
    },
};
use hyper_util::client::legacy::connect::CaptureConnection;
use journal::record::{SecretUsed, Timings};
use tokio::time::Instant;

use super::{
    answer,
    connection::{Facts, micros},
    request::HandedOver,
    signing::Unsigned,
};

/// Receivers allow for 300 s, and strict ones for less. No clock that somebody sets is off by this much.
const CLOCK_OFF_MAX: Duration = Duration::from_secs(60);

/// What one attempt came to.
#[derive(Clone, Debug)]
pub struct Sent {
    pub body_sha256: String,
    pub body_bytes: u32,
    pub status: Option<u16>,
    pub remote_address: Option<SocketAddr>,
    pub tls: Option<String>,
    pub timings: Timings,
    /// The secrets it was signed with; the first gave the main signature.
    pub secrets: Vec<SecretUsed>,
    pub answer_headers: Vec<(String, String)>,
    pub answer_text: String,
    pub clock_skew_s: Option<i32>,
    pub retry_after: Option<Duration>,
    pub timed_out: bool,
    pub outcome: Outcome,
    pub error: Option<String>,
}

impl Sent {
    pub fn answer(&self) -> Answer {
        Answer {
            outcome: self.outcome,
            status: self.status,
            retry_after: self.retry_after,
            timed_out: self.timed_out,
        }
    }

    pub(super) fn nothing_yet(body: &str) -> Self {
        Self {
            body_sha256: hex::encode(digest(&SHA256, body.as_bytes())),
            body_bytes: u32::try_from(body.len()).unwrap_or(u32::MAX),
            status: None,
            remote_address: None,
            tls: None,
            timings: Timings::default(),
            secrets: Vec::new(),
            answer_headers: Vec::new(),
            answer_text: String::new(),
            clock_skew_s: None,
            retry_after: None,
            timed_out: false,
            outcome: Outcome::Transient,
            error: None,
        }
    }

    /// What is known of the connection, however the attempt ended.
    pub(super) fn note_connection(
        &mut self,
        started: Instant,
        connection: &CaptureConnection,
        handed_over: &HandedOver,
    ) {
        let mut extensions = Extensions::new();
        if let Some(connected) = connection.connection_metadata().as_ref() {
            connected.get_extras(&mut extensions);
        }
        if let Some(facts) = extensions.get::<Facts>() {
            self.remote_address = Some(facts.address());
            self.tls = facts.tls().map(str::to_owned);
            self.timings = facts.take_phases(started).unwrap_or_default();
        }
        self.timings.sent_us = handed_over.at().map(|at| micros(started, at));
    }

    /// Ours to mend; the snapshot of secrets has logged it.
    pub(super) fn unsigned(mut self, unsigned: &Unsigned) -> Self {
        self.outcome = Outcome::OurFault;
        self.error = Some(format!("Watchbell could not sign it: {unsigned}."));
        self
    }

    pub(super) fn troubled(mut self, trouble: &Trouble) -> Self {
        self.outcome = trouble.outcome();
        self.timed_out = trouble.is_timeout();
        self.error = Some(trouble.explain());
        self
    }

    /// A receiver that refuses what our own wrong clock signed is right, and the refusal says nothing about it. If its clock
    /// agrees with ours, NATS's is the wrong one, and the refusal has another reason.
    pub(crate) fn unless_by_our_clock(mut self, signed_at: Timestamp, at: Timestamp) -> Self {
        let off = signed_at.since(at).max(at.since(signed_at));
        let agrees = |skew_s: i32| u64::from(skew_s.unsigned_abs()) <= CLOCK_OFF_MAX.as_secs();
        if let Some(status @ (400 | 401)) = self.status
            && off > CLOCK_OFF_MAX
            && !self.clock_skew_s.is_some_and(agrees)
        {
            self.outcome = Outcome::OurFault;
            let seconds = off.as_secs();
            self.error = Some(format!(
                "The receiver answered {status}. Watchbell's clock was {seconds} s off when it signed this, so that may be the reason."
            ));
        }
        self
    }

    /// Reads the head of an answer that came at this time.
    pub(super) fn read_head(&mut self, response: &Response<Incoming>, at: Timestamp) {
        let header = |name| response.headers().get(name)?.to_str().ok();
        let status = response.status().as_u16();
        self.status = Some(status);
        self.outcome = Outcome::of_status(status);
        self.answer_headers = answer::kept_headers(response.headers());
        self.retry_after = header(RETRY_AFTER).and_then(|value| retry_after(value, at));
        self.clock_skew_s = header(DATE).and_then(|value| clock_skew(value, at));
        let secret = self.secrets.first().map(|secret| match secret {
            SecretUsed::Deployment => "initial".to_owned(),
            SecretUsed::Own(id) => id.to_string(),
        });
        self.error = explain(&Reply {
            status,
            retry_after: self.retry_after,
            clock_skew_s: self.clock_skew_s,
            secret: secret.as_deref(),
            location: header(LOCATION),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_refuses_what_a_wrong_clock_signed_is_not_at_fault() {
        let at = Timestamp::from_unix_millis(1_763_200_000_000);
        let cases = [
            (400, 61, Outcome::OurFault),
            (401, 3_600, Outcome::OurFault),
            (400, 60, Outcome::Rejected),
            (404, 3_600, Outcome::Rejected),
            (500, 3_600, Outcome::Transient),
            (200, 3_600, Outcome::Delivered),
        ];
        for (status, off_s, outcome) in cases {
            let off = Duration::from_secs(off_s);
            for signed_at in [at.plus(off), at.minus(off)] {
                let sent = Sent {
                    status: Some(status),
                    outcome: Outcome::of_status(status),
                    ..Sent::nothing_yet("")
                };
                let sent = sent.unless_by_our_clock(signed_at, at);
                assert_eq!(sent.outcome, outcome, "{status}, {off_s} s off");
                assert_eq!(sent.error.is_some(), outcome == Outcome::OurFault);
            }
        }
    }

    #[test]
    fn a_receiver_whose_clock_agrees_with_ours_refuses_for_another_reason() {
        let at = Timestamp::from_unix_millis(1_763_200_000_000);
        for (skew_s, outcome) in [(0, Outcome::Rejected), (-3_600, Outcome::OurFault)] {
            let sent = Sent {
                status: Some(401),
                outcome: Outcome::of_status(401),
                clock_skew_s: Some(skew_s),
                ..Sent::nothing_yet("")
            };
            let sent = sent.unless_by_our_clock(at.plus(Duration::from_hours(1)), at);
            assert_eq!(sent.outcome, outcome, "{skew_s} s");
        }
    }
}
