//! Asks the endpoints of rules whose they are, where the operator wants that (`delivery.endpoint_ownership`): sends each
//! a challenge until its receiver gives it back.
//!
//! It looks at which rules there are and what is known of their endpoints, so a restart needs no special path. A
//! challenge is taken by setting the time of the next, so one worker sends it.

use std::{sync::Arc, time::Duration};

use domain::{
    EndpointId, OrgId, Timestamp,
    clock::Clock,
    delivery::{
        Gate, Host, Outcome,
        endpoint::Notice,
        ownership::{Ownership, gives_back},
    },
};
use futures::{StreamExt as _, stream::FuturesUnordered};
use journal::{
    appenders::Appenders,
    frames::Frames,
    record::{EndpointNoticed, OutcomeRecord},
};
use metrics::counter;
use runtime::{error_chain::chain, random, retry::Retries};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::notice::Notices;
use crate::{
    metrics as names,
    send::{Sender, Sent, target},
    snapshots::{Endpoints, Owners, Targets},
};

/// How often it is looked for challenges that are due.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Challenges that a process has in flight: in all, of an organization, and to a host, which may be nobody's who asked.
/// The others are looked at again a second later.
const IN_FLIGHT_MAX: usize = 64;
const PER_ORG_MAX: usize = 8;
const PER_HOST_MAX: usize = 2;

/// Asks endpoints whose they are.
pub struct Challenger {
    pub sender: Sender,
    pub owners: Owners,
    pub endpoints: Endpoints,
    pub targets: Targets,
    pub outcomes: Appenders,
    pub notices: Notices,
    /// The journal's: workers share when a challenge is due.
    pub clock: Clock,
    /// This machine's: what is signed and put on record goes by it.
    pub own_clock: Clock,
}

/// An endpoint that is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Challenged {
    org: OrgId,
    id: EndpointId,
    host: Host,
    url: Arc<str>,
}

impl Challenger {
    /// Asks until stopped.
    pub async fn run(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let mut retries = Retries::new("prepare to send ownership challenges", &stopping);
        while let Err(error) = self.is_ready().await {
            if !retries.again(Err(error)).await {
                return Ok(());
            }
        }
        let (mut asked, mut asking) = (Vec::<Challenged>::new(), FuturesUnordered::new());
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = looks.tick() => {
                    for next in self.due(&asked) {
                        asked.push(next.clone());
                        asking.push(self.ask(next));
                    }
                }
                Some(done) = asking.next() => asked.retain(|one| one.id != done),
                () = stopping.cancelled() => return Ok(()),
            }
        }
    }

    async fn is_ready(&self) -> Result<(), journal::Error> {
        self.endpoints.catch_up().await?;
        self.targets.catch_up().await?;
        self.owners.catch_up().await
    }

    /// Whom to ask now, beside those who are asked already.
    fn due(&self, asked: &[Challenged]) -> Vec<Challenged> {
        let now = self.clock.now();
        let due = self.targets.endpoints(|id| {
            let asked_at = self.owners.due(id, now)?;
            let is_asked = asked.iter().any(|one| one.id == id);
            let may_be_asked = !is_asked && !self.is_stopped(id, now);
            may_be_asked.then_some((asked_at, id))
        });
        let due = due.into_iter().map(|((asked_at, id), org, url)| {
            let host = target::host(&url);
            (asked_at, Challenged { org, id, host, url })
        });
        chosen(due.collect(), asked)
    }

    /// Nothing is sent to what is paused or disabled, and so no challenge either.
    fn is_stopped(&self, id: EndpointId, now: Timestamp) -> bool {
        let gate = self.endpoints.gate(id, now);
        matches!(gate, Gate::Shut { reason, .. } if reason.needs_a_person())
    }

    /// Asks one; says which when that is over.
    async fn ask(&self, asked: Challenged) -> EndpointId {
        if let Err(error) = self.challenge(&asked).await {
            let (id, error) = (asked.id, chain(&error));
            tracing::warn!(error, endpoint.id = %id, "an ownership challenge was not sent, or its outcome not fully recorded");
        }
        asked.id
    }

    async fn challenge(&self, asked: &Challenged) -> Result<(), journal::Error> {
        let (org, url, now) = (asked.org, &*asked.url, self.clock.now());
        let Some(number) = self.owners.take_challenge(org, url, now).await? else {
            return Ok(());
        };
        let challenge = hex::encode(random::bytes::<32>());
        let signed_at = self.own_clock.now();
        let sent = self
            .sender
            .challenge((org, url), &challenge, number, signed_at)
            .await
            .unless_by_our_clock(signed_at, now);
        let (now, refusal) = (self.clock.now(), refusal(&sent, &challenge));
        let outcome = if refusal.is_none() {
            "verified"
        } else {
            "refused"
        };
        counter!(names::ENDPOINT_CHALLENGES, "outcome" => outcome).increment(1);
        match refusal {
            None => {
                let verify = |ownership: &mut Ownership| ownership.verify(now);
                self.owners.change(org, url, now, verify).await?;
                self.tell(asked, Notice::Verified, None).await
            }
            Some(why) => {
                let refuse = |ownership: &mut Ownership| ownership.refuse(&why);
                self.owners.change(org, url, now, refuse).await?;
                // Once: the next are the same, until somebody asks for one.
                if number > 1 {
                    return Ok(());
                }
                self.tell(asked, Notice::Unverified, Some(why)).await
            }
        }
    }

    /// Puts it on record and into the trail.
    async fn tell(
        &self,
        asked: &Challenged,
        notice: Notice,
        error: Option<String>,
    ) -> Result<(), journal::Error> {
        let noticed = EndpointNoticed {
            endpoint: self.endpoints.of(asked.org, &asked.url),
            notice,
            error,
            at: self.own_clock.now(),
        };
        let record = OutcomeRecord::Endpoint(Box::new(noticed.clone()));
        let outcomes = self.outcomes.of(asked.org);
        outcomes
            .append_patiently(Frames::from_iter([record]))
            .await?;
        if let Err(error) = self.notices.tell(&noticed).await {
            let (id, error) = (asked.id, chain(&error));
            tracing::warn!(error, endpoint.id = %id, "audit event not recorded for an ownership challenge");
        }
        Ok(())
    }
}

/// Those of who is due that there is room for beside those who are asked already: who was never asked first, then who was
/// asked longest ago, so that a crowd that never answers keeps out nobody.
fn chosen(mut due: Vec<(Timestamp, Challenged)>, asked: &[Challenged]) -> Vec<Challenged> {
    due.sort_by_key(|(asked_at, _)| *asked_at);
    let mut next: Vec<Challenged> = Vec::new();
    for (_, one) in due {
        let beside = || asked.iter().chain(&next);
        if beside().count() >= IN_FLIGHT_MAX {
            break;
        }
        let of_org = beside().filter(|other| other.org == one.org).count();
        let to_host = beside().filter(|other| other.host == one.host).count();
        if of_org < PER_ORG_MAX && to_host < PER_HOST_MAX {
            next.push(one);
        }
    }
    next
}

/// Why an answer does not count; `None` if it does.
fn refusal(sent: &Sent, challenge: &str) -> Option<String> {
    if sent.outcome != Outcome::Delivered {
        let error = sent.error.clone();
        return Some(error.unwrap_or_else(|| "It did not answer with a 2xx status.".to_owned()));
    }
    if gives_back(&sent.answer_text, challenge) {
        return None;
    }
    Some(
        "It answered 2xx but did not return the challenge: {\"challenge\": \"...\"} is expected, with the value that was sent."
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn asked(org: u128, url: &str) -> Challenged {
        let org = OrgId::from_uuid(Uuid::from_u128(org));
        Challenged {
            org,
            id: EndpointId::of(org, url),
            host: target::host(url),
            url: Arc::from(url),
        }
    }

    /// Each asked a second after the one before.
    fn due(all: impl IntoIterator<Item = Challenged>) -> Vec<(Timestamp, Challenged)> {
        let at = |second: i64| Timestamp::from_unix_millis(second * 1_000);
        (1..).map(at).zip(all).collect()
    }

    #[test]
    fn a_host_has_two_at_a_time_an_organization_eight_and_a_process_sixty_four() {
        let at = |org: u128, host: u32| asked(org, &format!("https://{host}.example.com/"));
        let of_many = (1..=9).map(|org| at(org, 0));
        assert_eq!(chosen(due(of_many), &[]).len(), PER_HOST_MAX);
        let of_one = (0..20).map(|host| at(1, host));
        assert_eq!(chosen(due(of_one), &[]).len(), PER_ORG_MAX);
        let of_all = (0..200).map(|number| at(number.into(), number));
        let first = chosen(due(of_all), &[]);
        assert_eq!(first.len(), IN_FLIGHT_MAX);
        assert!(chosen(due([at(500, 500)]), &first).is_empty(), "no place");
        assert_eq!(chosen(due([at(0, 500)]), &first[..9]), [at(0, 500)]);
        let two = [at(1, 0), at(2, 0)];
        assert!(chosen(due([at(3, 0)]), &two).is_empty(), "at one host");
    }

    #[test]
    fn who_was_never_asked_comes_before_who_never_answers() {
        let silent = (0..20).map(|path| asked(1, &format!("https://example.com/{path}")));
        let mut due = due(silent);
        let new = asked(2, "https://example.com/");
        due.push((Timestamp::default(), new.clone()));
        let next = chosen(due, &[]);
        assert_eq!(next, [new, asked(1, "https://example.com/0")]);
    }
}
