//! `GET /v1/log/witnesses`: who watches over an organization's log, and how far each is.

use axum::{Json, extract};
use domain::Timestamp;
use serde::Serialize;
use store::transparency::witnesses::WitnessState;
use utoipa::ToSchema;

use super::not_cosigned::NotCosigned;
use crate::{
    config::Witness,
    edge::{Caller, Problem, caller::EventsRead},
    planes::ControlPlane,
    transparency::doors::newest,
};

/// The witnesses of a log.
#[derive(Serialize, ToSchema)]
#[schema(as = TransparencyLogWitnesses)]
pub struct Witnesses {
    /// How many entries the log's newest checkpoint has.
    size: u64,
    witnesses: Vec<LogWitness>,
}

/// A witness of the log.
#[derive(Serialize, ToSchema)]
#[schema(as = TransparencyLogWitness)]
pub struct LogWitness {
    #[schema(example = "witness.example.com/watchbell")]
    name: String,
    /// Its public key, as tools for transparency logs accept it (`<name>+<id>+<key>`). Do not take our word for it: ask
    /// whoever runs the witness.
    verifier: String,
    state: State,
    /// How many entries the last checkpoint has that it cosigned; null if it cosigned none.
    size: Option<u64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    cosigned_at: Option<Timestamp>,
    /// Since when it does not cosign what is signed; null if it does.
    #[schema(value_type = Option<String>, format = DateTime)]
    silent_since: Option<Timestamp>,
}

/// How a witness is with a log. `waiting`: it was not asked yet. `cosigning`: it cosigns what is signed, a moment later.
/// `away`: it does not answer. `unknown_log`: it does not have the log's key. `refused`: it answers something else.
/// `not_believed`: what it answers is no cosignature by its key. `rolled_back`, `inconsistent`: it saw another history of the
/// log than there is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = WitnessState)]
pub enum State {
    Waiting,
    Cosigning,
    Away,
    UnknownLog,
    Refused,
    NotBelieved,
    RolledBack,
    Inconsistent,
}

/// Returns the witnesses of your organization's transparency log.
///
/// A witness runs on a machine that the operator of this server does not control. It cosigns what continues the history that
/// it saw before, so no two histories of the log can both be cosigned. The list is empty if the operator has set none.
#[utoipa::path(
    get, path = "/v1/log/witnesses", tag = "log",
    security(("api_key" = ["events:read"]), ("session" = [])),
    responses((status = 200, description = "The witnesses", body = Witnesses)),
)]
pub async fn list(
    extract::State(plane): extract::State<ControlPlane>,
    caller: Caller<EventsRead>,
) -> Result<Json<Witnesses>, Problem> {
    let log = newest(&plane, caller.org).await?;
    let known = plane.store.witnesses_of(caller.org).await?;
    let witness = |witness: &Witness| {
        let verifier = witness.key.to_string();
        let one = known.iter().find(|one| one.witness == verifier);
        LogWitness {
            name: witness.name().to_owned(),
            verifier,
            state: state(one),
            size: one.and_then(|one| one.size),
            cosigned_at: one.and_then(|one| one.cosigned_at),
            silent_since: one.and_then(|one| one.problem_since),
        }
    };
    Ok(Json(Witnesses {
        size: log.size(),
        witnesses: plane.witnesses.iter().map(witness).collect(),
    }))
}

fn state(known: Option<&WitnessState>) -> State {
    let Some(one) = known else {
        return State::Waiting;
    };
    let Some(problem) = &one.problem else {
        return State::Cosigning;
    };
    match NotCosigned::from_code(problem) {
        Some(NotCosigned::Away) => State::Away,
        Some(NotCosigned::UnknownLog) => State::UnknownLog,
        // One that only a newer version has.
        Some(NotCosigned::Refused) | None => State::Refused,
        Some(NotCosigned::NotBelieved) => State::NotBelieved,
        Some(NotCosigned::RolledBack) => State::RolledBack,
        Some(NotCosigned::Inconsistent) => State::Inconsistent,
    }
}
