//! `POST /v1/policies/versions/{version}/backtest`: what a version would have decided.

use axum::{Json as JsonAnswer, extract::State};
use domain::Timestamp;
use policy::{CedarRequest, PolicySet, recorded::Recorded};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    check_pool,
    decision_scan::{Look, walk},
    flips::{Compared, FlipsBody},
    versions::{text_of, unreadable},
};
use crate::{
    alerts::backtest::request::{RangeBody, bounds},
    edge::{Caller, Problem, caller::PoliciesWrite, extract::IdInPath, strict_json::PolicyJson},
    planes::ControlPlane,
};

/// What a version would have decided.
#[derive(Serialize, ToSchema)]
#[schema(as = PolicyBacktest)]
pub struct BacktestAnswer {
    version: u32,
    digest: String,
    #[serde(flatten)]
    flips: FlipsBody,
    /// Null if the whole range was covered. Otherwise time ran out after the decisions made at or after this time; ask
    /// again with this as `to` for the earlier ones.
    #[schema(value_type = Option<String>, format = DateTime)]
    searched_to: Option<Timestamp>,
}

/// Backtests a version: reports what it would have decided.
///
/// Recorded decisions are made again with this version, newest first, and compared with what the policies said at the
/// time. Nothing is recorded. The record shows only whether an agent had a payload, not what it was: a change by
/// `@obligation` counts as a change, and a decision is skipped if a policy looks at the payload.
#[utoipa::path(
    post, path = "/v1/policies/versions/{version}/backtest", tag = "policies",
    security(("api_key" = ["policies:write"]), ("session" = [])),
    params(("version" = u32, Path, description = "The version's number")),
    request_body = RangeBody,
    responses((status = 200, description = "What would have been different", body = BacktestAnswer)),
)]
pub async fn backtest(
    State(plane): State<ControlPlane>,
    caller: Caller<PoliciesWrite>,
    IdInPath(version): IdInPath<u32>,
    PolicyJson(range): PolicyJson<RangeBody>,
) -> Result<JsonAnswer<BacktestAnswer>, Problem> {
    let range = bounds(&range, plane.clock.now(), plane.retention)?;
    let text = text_of(&plane, caller.org, version).await?;
    let slot = plane.backtests.take(caller.org)?;
    let digest = text.digest.clone();
    let read = move || PolicySet::read(&text.policies, text.schema.as_deref());
    let policies = check_pool::run(&plane, caller.org, read).await?;
    let policies = policies.map_err(|faults| unreadable(caller.org, &faults))?;
    let look = Anew {
        policies,
        compared: Compared::default(),
    };
    let (looked, reached) = walk(&plane, caller.org, range, look, slot).await?;
    Ok(JsonAnswer(BacktestAnswer {
        version,
        digest,
        flips: looked.compared.into(),
        searched_to: reached.searched_to,
    }))
}

/// Makes decisions anew.
struct Anew {
    policies: PolicySet,
    compared: Compared,
}

impl Look for Anew {
    fn look_at(&mut self, decision: &Recorded) {
        let asked = CedarRequest::new(&decision.question).ok();
        match asked.and_then(|asked| decision.decide_by(&self.policies, &asked)) {
            Some(decided) => {
                let reason = Some(decided.reason);
                self.compared.add(decision, decided.verdict, reason);
            }
            None => self.compared.skip(),
        }
    }

    fn skip(&mut self) {
        self.compared.skip();
    }
}
