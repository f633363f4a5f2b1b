//! `POST /access/v1/evaluations`: up to a hundred questions at once, with values that all of them share.

use axum::{Json, extract::State};
use domain::{error_code::ErrorCode, fault::Fault};
use policy::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::task::yield_now;
use utoipa::ToSchema;

use super::{
    evaluate::{Evaluation, is_permit, one},
    request::{Body, EvaluationRequest, in_request, malformed},
};
use crate::{
    decisions::{
        answer::answer_all,
        request::{Ask, Asker},
    },
    edge::{Caller, Problem, caller::DecisionsWrite},
    planes::DataPlane,
};

/// How many questions a request may have: each is evaluated and recorded, and the request counts once against
/// the limit.
const EVALUATIONS_MAX: usize = 100;

/// The largest body: a hundred questions of 2 KiB, or fewer that are longer.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// How many bytes of shared values all questions together may take, each of them a copy: as many as a hundred
/// questions may have that are as long as they may be.
const SHARED_BYTES_MAX: usize = 1024 * 1024;

/// What a question can share with the others.
const SHARED: [&str; 4] = ["subject", "action", "resource", "context"];

/// What an entity must have; what one of a batch lacks of it is that of all.
const REQUIRED: [(&str, &[&str]); 3] = [
    ("subject", &["type", "id"]),
    ("action", &["name"]),
    ("resource", &["type", "id"]),
];

/// Several questions. Fields next to `evaluations` apply to every question that does not set its own; without
/// `evaluations`, the request is one question. Other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
pub struct EvaluationsRequest {
    /// Up to 100, each with any of `subject`, `action`, `resource`, `context` and `approval`.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    evaluations: Vec<Value>,
    #[serde(default)]
    options: Options,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    shared: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct Options {
    #[serde(default)]
    evaluations_semantic: Semantic,
}

/// When to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Semantic {
    #[default]
    ExecuteAll,
    DenyOnFirstDeny,
    PermitOnFirstPermit,
}

impl Semantic {
    fn goes_on_after(self, is_permit: bool) -> bool {
        match self {
            Self::ExecuteAll => true,
            Self::DenyOnFirstDeny => is_permit,
            Self::PermitOnFirstPermit => !is_permit,
        }
    }
}

/// One answer per question, in the same order; fewer if the request says to stop early.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum Evaluations {
    Batch { evaluations: Vec<Evaluation> },
    One(Evaluation),
}

/// Asks several questions at once (AuthZEN 1.0, Access Evaluations).
///
/// An invalid question is answered with `false` and an `error`; the others are not affected. Without `evaluations`, the
/// request and the response are those of `/access/v1/evaluation`.
#[utoipa::path(
    post, path = "/access/v1/evaluations", tag = "authzen", security(("api_key" = ["decisions:write"])),
    request_body = EvaluationsRequest,
    params(("X-Request-ID" = Option<String>, Header, description = "Returned unchanged")),
    responses(
        (status = 200, description = "Decided and recorded", body = Evaluations),
    ),
)]
pub async fn evaluate(
    State(plane): State<DataPlane>,
    caller: Caller<DecisionsWrite>,
    Body(request): Body<EvaluationsRequest, BODY_BYTES_MAX>,
) -> Result<Json<Evaluations>, Problem> {
    if request.evaluations.is_empty() {
        let request = read(request.shared).map_err(malformed)?;
        let only = one(&plane, &caller, request).await?;
        return Ok(Json(Evaluations::One(only)));
    }
    if request.evaluations.len() > EVALUATIONS_MAX {
        let detail = format!("`evaluations` can have at most {EVALUATIONS_MAX} entries.");
        return Err(Problem::new(ErrorCode::InvalidBody, detail));
    }
    check_shared(&request.evaluations, &request.shared)?;
    let mut items = Vec::new();
    for item in request.evaluations {
        items.push(item_of(item, &request.shared));
        // Many take long, and others of this thread have their turn in between.
        yield_now().await;
    }
    for ask in items.iter().flatten() {
        caller.speaks_for(&ask.named.agent_id)?;
    }
    let semantic = request.options.evaluations_semantic;
    let evaluations = evaluated(&plane, &caller, items, semantic).await?;
    Ok(Json(Evaluations::Batch { evaluations }))
}

/// A question, or why it is none.
type Item = Result<Ask, String>;

/// Answers in order until it is to stop. What is no question is a no.
async fn evaluated(
    plane: &DataPlane,
    caller: &Caller<DecisionsWrite>,
    items: Vec<Item>,
    semantic: Semantic,
) -> Result<Vec<Evaluation>, Problem> {
    let mut asks = Vec::new();
    let mut failures = Vec::new();
    for item in items {
        match item {
            Ok(ask) => {
                asks.push(ask);
                failures.push(None);
            }
            Err(message) => {
                failures.push(Some(message));
                if !semantic.goes_on_after(false) {
                    break;
                }
            }
        }
    }
    let goes_on = |verdict: Verdict| semantic.goes_on_after(is_permit(verdict));
    let answers = answer_all(plane, Asker::of(caller), &asks, goes_on).await;
    let answers = answers.map_err(|unanswered| malformed(unanswered.in_words(in_request)))?;
    let mut answers = answers.into_iter().map(Evaluation::from);
    let mut evaluations = Vec::with_capacity(failures.len());
    for failure in failures {
        let Some(evaluation) = failure.map(Evaluation::failed).or_else(|| answers.next()) else {
            break;
        };
        let goes_on = semantic.goes_on_after(evaluation.is_permit());
        evaluations.push(evaluation);
        if !goes_on {
            break;
        }
    }
    Ok(evaluations)
}

/// Refuses values that so many questions share that their copies would be too large.
fn check_shared(items: &[Value], shared: &Map<String, Value>) -> Result<(), Problem> {
    let lacking = |name: &str| items.iter().filter(|item| lacks(item.get(name))).count();
    let copied = SHARED.iter().filter_map(|name| {
        let bytes = shared.get(*name)?.to_string().len();
        Some(bytes * lacking(name))
    });
    if copied.sum::<usize>() <= SHARED_BYTES_MAX {
        return Ok(());
    }
    let detail = format!(
        "What the evaluations share can be at most {SHARED_BYTES_MAX} bytes, counted once per \
         evaluation."
    );
    Err(Problem::new(ErrorCode::PayloadTooLarge, detail))
}

fn lacks(own: Option<&Value>) -> bool {
    own.is_none_or(Value::is_null)
}

fn item_of(item: Value, shared: &Map<String, Value>) -> Item {
    let Value::Object(own) = item else {
        return Err("An entry of `evaluations` must be an object.".to_owned());
    };
    let request: EvaluationRequest = serde_json::from_value(Value::Object(merged(own, shared)))
        .map_err(|error| error.to_string())?;
    request.into_ask().map_err(|faults| in_words(&faults))
}

fn in_words(faults: &[Fault]) -> String {
    let texts: Vec<String> = faults.iter().map(Fault::to_string).collect();
    texts.join(" ")
}

/// What is its own goes before what is shared, as a whole: properties are never mixed. Only what an entity
/// must have is taken from the shared one if its own lacks it.
fn merged(mut own: Map<String, Value>, shared: &Map<String, Value>) -> Map<String, Value> {
    for name in SHARED {
        if let (true, Some(value)) = (lacks(own.get(name)), shared.get(name)) {
            own.insert(name.to_owned(), value.clone());
        }
    }
    for (name, required) in REQUIRED {
        let (Some(Value::Object(own)), Some(Value::Object(shared))) =
            (own.get_mut(name), shared.get(name))
        else {
            continue;
        };
        for field in required {
            if let (false, Some(value)) = (own.contains_key(*field), shared.get(*field)) {
                own.insert((*field).to_owned(), value.clone());
            }
        }
    }
    own
}

fn read(shared: Map<String, Value>) -> Result<EvaluationRequest, Problem> {
    serde_json::from_value(Value::Object(shared)).map_err(|error| {
        let detail = format!("The body could not be read: {error}.");
        Problem::new(ErrorCode::InvalidBody, detail)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_many_share_is_counted_for_each_that_has_none_of_its_own() {
        let large = json!({"context": {"a": "x".repeat(SHARED_BYTES_MAX / 10)}});
        let large = large.as_object().expect("an object");
        let (bare, own) = (json!({}), json!({"context": {}}));
        let code = |items: &[Value]| check_shared(items, large).map_err(|problem| problem.code());
        assert_eq!(code(&vec![bare.clone(); 9]), Ok(()));
        assert_eq!(code(&vec![own; 100]), Ok(()));
        assert_eq!(code(&vec![bare; 10]), Err(ErrorCode::PayloadTooLarge));
    }

    #[test]
    fn an_entity_of_its_own_replaces_the_shared_one_but_for_what_it_must_have_and_lacks() {
        let object = |value: Value| value.as_object().expect("an object").clone();
        let shared = object(json!({
            "subject": {"type": "user", "id": "alice", "properties": {"role": "admin"}},
            "resource": {"type": "record", "properties": {"status": "archived"}},
            "context": {"time": "noon", "ip": "192.0.2.1"},
        }));
        let own = object(json!({
            "subject": null,
            "resource": {"id": "record-1"},
            "context": {"time": "night"},
        }));
        let expected = json!({
            "subject": {"type": "user", "id": "alice", "properties": {"role": "admin"}},
            "resource": {"type": "record", "id": "record-1"},
            "context": {"time": "night"},
        });
        assert_eq!(Value::Object(merged(own, &shared)), expected);
    }
}
