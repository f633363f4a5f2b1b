//! Which page of an organization's rules is wanted.

use axum::{extract::FromRequestParts, http::request::Parts};
use domain::{RuleId, rule::definition::TAG_MAX};
use store::rules::read::RuleFilter;
use utoipa::IntoParams;

use crate::edge::{Problem, extract};

/// How the rules are listed.
#[derive(Debug, Default, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RuleParams {
    /// `true` or `false`: only rules that are enabled, or only rules that are not.
    #[param(value_type = Option<bool>)]
    enabled: Option<String>,
    /// Only rules with this tag.
    tag: Option<String>,
    /// How many to return, 1 to 1,000 (default 100).
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// The page, already checked.
#[derive(Debug)]
pub struct RulesQuery {
    pub filter: RuleFilter,
    pub before: Option<RuleId>,
    pub limit: u32,
}

impl<S: Send + Sync> FromRequestParts<S> for RulesQuery {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let mut params = RuleParams::default();
        for (name, value) in extract::pairs(parts, state).await? {
            match name.as_str() {
                "enabled" => extract::once(&name, &mut params.enabled, value)?,
                "tag" => extract::once(&name, &mut params.tag, value)?,
                "limit" => extract::once(&name, &mut params.limit, value)?,
                "cursor" => extract::once(&name, &mut params.cursor, value)?,
                _ => {
                    let known = ["enabled", "tag", "limit", "cursor"];
                    return Err(extract::unknown_parameter(&name, &known));
                }
            }
        }
        let before = params.cursor.as_deref().map(extract::read_cursor);
        Ok(Self {
            filter: RuleFilter {
                enabled: params.enabled.as_deref().map(truth).transpose()?,
                tag: params.tag.map(tag).transpose()?,
            },
            before: before.transpose()?,
            limit: extract::read_limit(params.limit.as_deref())?,
        })
    }
}

fn truth(text: &str) -> Result<bool, Problem> {
    let detail = "`enabled` must be `true` or `false`.";
    text.parse()
        .map_err(|_| Problem::parameter("enabled", detail))
}

fn tag(text: String) -> Result<String, Problem> {
    if text.is_empty() || text.chars().count() > TAG_MAX || text.contains('\0') {
        let detail = format!("`tag` must be 1 to {TAG_MAX} characters.");
        return Err(Problem::parameter("tag", detail));
    }
    Ok(text)
}
