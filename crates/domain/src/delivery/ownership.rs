//! Whose an endpoint is: where the operator wants to know, its receiver gives back a challenge before anything else is
//! sent to it.
//!
//! ```text
//!  a rule names the URL                      it gives the challenge back
//! ---------------------->  unverified  ------------------------------------>  verified
//!                           |      ^
//!                           +------+  another answer, or none: asked again later
//! ```
//!
//! Each organization has an endpoint of its own for a URL, and so is asked for by itself. Verified is for good: a
//! receiver that is another's later fails or refuses, and its rule is the organization's to change.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EndpointId, OrgId, Timestamp};

/// What a challenge says that it is, in its body and in `X-Service-Event`.
pub const EVENT_TYPE: &str = "endpoint.verification";

/// The wait after the first challenge that was not answered: somebody may be about to deploy the answer.
const FIRST_WAIT: Duration = Duration::from_secs(10);

/// The waits double up to this: who never answers is asked a few dozen times a day, and who mends the receiver later
/// can ask for a challenge.
const WAIT_MAX: Duration = Duration::from_hours(1);

/// What is known of whose an endpoint is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ownership {
    pub id: EndpointId,
    pub org_id: OrgId,
    pub url: String,
    pub proof: Proof,
}

/// Whether its receiver has answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    Unverified(Asking),
    Verified { at: Timestamp },
}

/// How far it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asking {
    /// How often, since a rule named it or somebody asked for a challenge.
    pub asked: u32,
    pub asked_at: Option<Timestamp>,
    /// When the next challenge may be sent.
    pub ask_at: Timestamp,
    /// What went wrong last.
    pub error: Option<String>,
}

impl Ownership {
    /// One that was never asked, and may be now.
    pub fn new(org_id: OrgId, url: impl Into<String>, now: Timestamp) -> Self {
        let url = url.into();
        Self {
            id: EndpointId::of(org_id, &url),
            org_id,
            url,
            proof: Proof::Unverified(Asking {
                asked: 0,
                asked_at: None,
                ask_at: now,
                error: None,
            }),
        }
    }

    pub fn is_verified(&self) -> bool {
        matches!(self.proof, Proof::Verified { .. })
    }

    /// When it may be asked; `None` if there is no need.
    pub fn ask_at(&self) -> Option<Timestamp> {
        match &self.proof {
            Proof::Unverified(asking) => Some(asking.ask_at),
            Proof::Verified { .. } => None,
        }
    }

    /// When it was asked last; `None` if it never was, or if that does not matter any more.
    pub fn asked_at(&self) -> Option<Timestamp> {
        match &self.proof {
            Proof::Unverified(asking) => asking.asked_at,
            Proof::Verified { .. } => None,
        }
    }

    /// Takes the challenge that is due, and says which it is, from 1; `None` if none is. The next may be sent when its
    /// wait is over, whether or not this one was heard of again: a worker that dies with it is replaced.
    pub fn start(&mut self, now: Timestamp) -> Option<u32> {
        let Proof::Unverified(asking) = &mut self.proof else {
            return None;
        };
        if asking.ask_at > now {
            return None;
        }
        asking.ask_at = now.plus(wait(asking.asked));
        asking.asked = asking.asked.saturating_add(1);
        asking.asked_at = Some(now);
        Some(asking.asked)
    }

    /// It gave the challenge back.
    pub fn verify(&mut self, now: Timestamp) {
        if !self.is_verified() {
            self.proof = Proof::Verified { at: now };
        }
    }

    /// It did not. An answer that comes late takes nothing back.
    pub fn refuse(&mut self, why: &str) {
        if let Proof::Unverified(asking) = &mut self.proof {
            asking.error = Some(why.to_owned());
        }
    }

    /// Somebody wants it to be asked now, with all the patience of a new one; but not twice within the first wait.
    pub fn ask_again(&mut self, now: Timestamp) {
        if let Proof::Unverified(asking) = &mut self.proof {
            let earliest = asking.asked_at.map(|at| at.plus(FIRST_WAIT));
            asking.ask_at = earliest.map_or(now, |earliest| earliest.max(now));
            asking.asked = 0;
        }
    }
}

/// The body of a challenge, in the form that Standard Webhooks recommends. The answer has it elsewhere, so that who
/// sends back whatever comes has not answered.
pub fn body(challenge: &str, signed_at: Timestamp) -> String {
    let challenge = Value::from(challenge);
    format!(
        r#"{{"type":"{EVENT_TYPE}","timestamp":"{signed_at}","data":{{"challenge":{challenge}}}}}"#
    )
}

/// Whether an answer gives the challenge back: `{"challenge": "..."}`.
pub fn gives_back(answer: &str, challenge: &str) -> bool {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    answer["challenge"].as_str() == Some(challenge)
}

/// The challenge of a body that is one.
pub fn challenge_in(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let challenge = body["data"]["challenge"].as_str()?;
    (body["type"] == EVENT_TYPE).then(|| challenge.to_owned())
}

/// 10 seconds, doubling to an hour, by how many challenges there were before.
fn wait(asked: u32) -> Duration {
    let factor = 1_u32.checked_shl(asked).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(factor).min(WAIT_MAX)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_millis(1_794_735_000_000 + seconds * 1_000)
    }

    fn ownership() -> Ownership {
        let org = OrgId::from_uuid(Uuid::from_u128(1));
        Ownership::new(org, "https://example.com/hooks", at(0))
    }

    #[test]
    fn it_is_asked_at_once_and_then_less_and_less_often() {
        let mut ownership = ownership();
        let mut asked = Vec::new();
        for second in 0..20_000 {
            if let Some(number) = ownership.start(at(second)) {
                asked.push((number, second));
            }
        }
        let began: Vec<i64> = asked.iter().take(6).map(|(_, second)| *second).collect();
        assert_eq!(began, [0, 10, 30, 70, 150, 310]);
        let last: Vec<i64> = asked.iter().rev().take(2).map(|one| one.1).collect();
        assert_eq!(last[0] - last[1], 3_600);
        assert_eq!(
            asked.last().map(|one| one.0),
            u32::try_from(asked.len()).ok()
        );
        let waits = [0, 8, 9, 31, 32, u32::MAX].map(|asked| wait(asked).as_secs());
        assert_eq!(waits, [10, 2_560, 3_600, 3_600, 3_600, 3_600]);
    }

    #[test]
    fn who_asks_for_a_challenge_gets_one_but_not_two_at_once() {
        let mut ownership = ownership();
        for second in [0, 10, 30] {
            assert!(ownership.start(at(second)).is_some());
        }
        ownership.ask_again(at(31));
        assert_eq!(ownership.ask_at(), Some(at(40)));
        ownership.ask_again(at(60));
        assert_eq!(ownership.start(at(60)), Some(1), "with new patience");
        assert_eq!(ownership.ask_at(), Some(at(70)));
    }

    #[test]
    fn what_is_verified_stays_verified() {
        let mut ownership = ownership();
        ownership.start(at(0));
        ownership.refuse("It answered 404.");
        assert!(!ownership.is_verified());
        ownership.verify(at(1));
        let verified = ownership.clone();
        ownership.refuse("It answered 404.");
        ownership.ask_again(at(2));
        ownership.verify(at(3));
        assert_eq!((ownership.start(at(4)), ownership.ask_at()), (None, None));
        assert_eq!(ownership, verified);
    }

    #[test]
    fn only_the_challenge_itself_is_an_answer_and_an_echo_is_none() {
        let body = body("abc", at(0));
        assert_eq!(challenge_in(body.as_bytes()).as_deref(), Some("abc"));
        assert!(gives_back(r#"{"challenge": "abc", "more": 1}"#, "abc"));
        for answer in [
            "",
            "abc",
            "\"abc\"",
            "{}",
            "[]",
            r#"{"challenge": "abcd"}"#,
            r#"{"challenge": ["abc"]}"#,
            body.as_str(),
        ] {
            assert!(!gives_back(answer, "abc"), "{answer}");
        }
        for other in [
            "",
            "{}",
            r#"{"type": "alert", "data": {"challenge": "abc"}}"#,
        ] {
            assert_eq!(challenge_in(other.as_bytes()), None, "{other}");
        }
    }
}
