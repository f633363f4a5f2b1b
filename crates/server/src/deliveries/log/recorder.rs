//! Writes what became of deliveries to the store: one task per partition, exactly once.

use domain::{
    OrgId, RuleId,
    delivery::{Reason, State},
};
use journal::{
    record::{
        self, Attempted, EndpointNoticed, Matched, OutcomeRecord, Paced, SecretUsed, StateChanged,
    },
    salt::MessageSalt,
};
use store::{
    Store,
    deliveries::{
        Attempt, Delivery, DeliveryLog, Outcomes, Phases, StateUpdate, UpdateSource,
        balance::{Decided, What},
    },
    endpoints::EndpointNotice,
    rule_counts::{MatchFate, RuleMatch},
    watermark::{Applied, Source, Span},
    writer::Writer,
};

use crate::{apply_log::Sink, dead_letters::Unfit, deliveries::endpoints::mail::is_mailed};

/// Writes the outcomes of a log to the delivery log.
pub(crate) struct Recorder(DeliveryLog);

impl Sink for Recorder {
    const LOG: &'static str = "outcomes";
    type Record<'m> = Outcome;

    async fn open(store: &Store) -> Result<Self, store::Error> {
        store.delivery_log().await.map(Self)
    }

    fn writer(&mut self) -> &mut Writer {
        &mut self.0.writer
    }

    fn read(
        message: &[u8],
        salt: MessageSalt,
    ) -> Result<Vec<Result<Outcome, Unfit>>, journal::Error> {
        let records = record::outcomes(message)?.into_iter();
        Ok(records.map(|record| Ok(Outcome { record, salt })).collect())
    }

    fn unfit(Outcome { record, .. }: &Outcome, reason: String) -> Unfit {
        let what = match record {
            OutcomeRecord::Matched(matched) => matched.delivery.to_string(),
            OutcomeRecord::Attempted(attempted) => attempted.id.to_string(),
            OutcomeRecord::Alerted(alerted) => alerted.matched.delivery.to_string(),
            OutcomeRecord::Counted(counted) => counted.rule.to_string(),
            OutcomeRecord::Ended(ended) => ended.rule.to_string(),
            OutcomeRecord::Judged(_) => "how far the matcher is".to_owned(),
            OutcomeRecord::StateChanged(stood) => stood.delivery.to_string(),
            OutcomeRecord::Endpoint(noticed) => noticed.endpoint.id.to_string(),
        };
        Unfit {
            what,
            reason,
            message: record::message(record),
        }
    }

    async fn apply(
        &mut self,
        source: &Source,
        span: Span,
        records: &[Self::Record<'_>],
    ) -> Result<Applied, store::Error> {
        self.0.apply(source, span, &outcomes(records)).await
    }

    async fn redrive(
        &mut self,
        place: &str,
        records: &[Self::Record<'_>],
    ) -> Result<(), store::Error> {
        self.0.redrive(place, &outcomes(records)).await
    }

    async fn rehearse(&mut self, records: &[Self::Record<'_>]) -> Result<(), store::Error> {
        self.0.rehearse(&outcomes(records)).await
    }
}

/// A record, and what the salt of an attempt follows from.
pub(crate) struct Outcome {
    record: OutcomeRecord,
    salt: MessageSalt,
}

fn outcomes(records: &[Outcome]) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for Outcome { record, salt } in records {
        match record.clone() {
            OutcomeRecord::Matched(matched) => {
                outcomes.matched.push(delivery(matched, State::Pending));
            }
            OutcomeRecord::Alerted(alerted) => {
                let fate = match alerted.state {
                    State::Suppressed => MatchFate::Suppressed,
                    State::Snoozed | State::Shadow => MatchFate::Withheld,
                    _ => MatchFate::Alert,
                };
                let (org, rule) = (alerted.matched.org, alerted.matched.rule);
                outcomes.matches.push(RuleMatch {
                    delivery: Some(alerted.matched.delivery),
                    ..rule_match(org, rule, &alerted.paced, fate)
                });
                let what = What::of(fate).map(|what| decided(&alerted.matched, what));
                outcomes.decided.extend(what);
                let delivery = delivery(alerted.matched, alerted.state);
                outcomes.matched.push(delivery);
            }
            OutcomeRecord::Counted(counted) => {
                let (org, rule) = (counted.org, counted.rule);
                let counted = rule_match(org, rule, &counted.paced, MatchFate::Counted);
                outcomes.matches.push(counted);
            }
            OutcomeRecord::Ended(ended) => {
                if let Some(matched) = ended.summary {
                    outcomes.decided.push(decided(&matched, What::Summary));
                    outcomes.matched.push(delivery(matched, State::Pending));
                }
            }
            OutcomeRecord::Judged(_) => {}
            OutcomeRecord::Attempted(attempted) => {
                outcomes.standings.push(standing_after(&attempted));
                outcomes.attempts.push(attempt(*attempted, *salt));
            }
            OutcomeRecord::StateChanged(stood) => outcomes.standings.extend(standing(&stood)),
            OutcomeRecord::Endpoint(noticed) => outcomes.notices.push(notice(*noticed)),
        }
    }
    outcomes
}

fn rule_match(org: OrgId, rule: RuleId, paced: &Paced, fate: MatchFate) -> RuleMatch {
    RuleMatch {
        org,
        rule,
        at: paced.at,
        fate,
        delivery: None,
        overflowed: paced.overflowed,
    }
}

fn decided(matched: &Matched, what: What) -> Decided {
    Decided {
        org: matched.org,
        rule: matched.rule,
        delivery: matched.delivery,
        what,
    }
}

fn delivery(matched: Matched, state: State) -> Delivery {
    Delivery {
        org: matched.org,
        id: matched.delivery,
        event: matched.event,
        rule: matched.rule,
        rule_name: matched.rule_name,
        event_type: matched.event_type,
        url: matched.url,
        state: state.as_str().to_owned(),
        reason: None,
        attempts: 0,
        matched_at: matched.matched_at,
        next_at: None,
        cause: matched.cause.as_str().to_owned(),
        suppressed: matched.cause.suppressed(),
        round: None,
    }
}

fn standing_after(attempted: &Attempted) -> StateUpdate {
    StateUpdate {
        org: attempted.org,
        delivery: attempted.delivery,
        state: attempted.state.as_str().to_owned(),
        reason: text(attempted.reason),
        next_at: attempted.next_at,
        by: UpdateSource::Attempt {
            number: attempted.number,
            due_at: attempted.due_at,
        },
    }
}

/// A delivery that is pending and has a time was asked for again ([`crate::deliveries::replay`]). One that has none is still
/// pending: a worker that moves it says so to whoever might queue it again, and nothing changes.
fn standing(stood: &StateChanged) -> Option<StateUpdate> {
    let round_at = stood.round_at;
    let by = match (stood.state, stood.next_at) {
        (State::Pending, Some(_)) => UpdateSource::Again { at: round_at },
        (State::Pending, None) => return None,
        _ => UpdateSource::Change { round_at },
    };
    Some(StateUpdate {
        org: stood.org,
        delivery: stood.delivery,
        state: stood.state.as_str().to_owned(),
        reason: text(stood.reason),
        next_at: stood.next_at,
        by,
    })
}

fn attempt(attempted: Attempted, salt: MessageSalt) -> Attempt {
    let timings = attempted.timings;
    Attempt {
        org: attempted.org,
        delivery: attempted.delivery,
        id: attempted.id,
        salt: Some(salt.of(attempted.id.uuid())),
        number: attempted.number,
        trigger: attempted.trigger.as_str().to_owned(),
        due_at: attempted.due_at,
        started_at: attempted.started_at,
        finished_at: attempted.finished_at,
        phases: Phases {
            resolved_us: timings.resolved_us,
            connected_us: timings.connected_us,
            secured_us: timings.secured_us,
            sent_us: timings.sent_us,
            answered_us: timings.answered_us,
        },
        signed_at: attempted.signed_at,
        secrets: attempted.secrets.iter().map(secret).collect(),
        url: attempted.url,
        remote_address: attempted.remote_address,
        tls: attempted.tls,
        body_sha256: attempted.body_sha256,
        body_bytes: attempted.body_bytes,
        status: attempted.status,
        outcome: attempted.outcome.as_str().to_owned(),
        error: attempted.error,
        answer_headers: attempted.answer_headers,
        answer: attempted.answer,
        clock_skew_s: attempted.clock_skew_s,
        retry_after_s: attempted.retry_after_s,
        state: Some(attempted.state.as_str().to_owned()),
        reason: text(attempted.reason),
        next_at: attempted.next_at,
    }
}

fn notice(noticed: EndpointNoticed) -> EndpointNotice {
    EndpointNotice {
        endpoint: noticed.endpoint,
        notice: noticed.notice.as_str().to_owned(),
        error: noticed.error,
        at: noticed.at,
        is_mailed: is_mailed(noticed.notice),
    }
}

fn text(reason: Option<Reason>) -> Option<String> {
    reason.map(|reason| reason.as_str().to_owned())
}

fn secret(used: &SecretUsed) -> String {
    match used {
        SecretUsed::Deployment => "deployment".to_owned(),
        SecretUsed::Own(id) => id.to_string(),
    }
}
