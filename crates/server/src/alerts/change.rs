//! Saves what people decide about a rule, makes it known to every node, and tells the trail.

use domain::{
    OrgId, RuleId,
    error_code::ErrorCode,
    fault::Fault,
    rule::{
        Definition, Rule,
        change::{What, changed_fields},
    },
};
use journal::kv::Change;
use serde_json::Value;
use store::rules::{
    change::{DEAR_MAX, Outcome, RuleChange},
    read::StoredRule,
    versions::Version,
};

use crate::{
    announce, change_outbox,
    edge::{Caller, Problem, caller::RulesWrite, if_match::IfMatch},
    planes::ControlPlane,
};

/// Who asks for changes.
pub(super) struct Author<'a> {
    plane: &'a ControlPlane,
    /// The key or the person.
    by: String,
}

/// A rule as it was written, or everything that is wrong with it.
pub(super) fn read_definition(plane: &ControlPlane, source: Value) -> Result<Definition, Problem> {
    parsed(plane, source).map_err(Problem::invalid)
}

/// The next version of a rule. An endpoint that is not changed is not judged again: it may have been allowed
/// when the rule was made, and then nothing else of the rule could be changed.
pub(super) fn read_next(
    plane: &ControlPlane,
    was: &Definition,
    source: Value,
) -> Result<Definition, Problem> {
    let is_same = source.get("url").and_then(Value::as_str) == Some(&*was.url);
    let read = if is_same {
        Definition::parse(source)
    } else {
        parsed(plane, source)
    };
    read.map_err(Problem::invalid)
}

/// The same as [`read_definition`], for a rule that is a part of a body.
pub(super) fn parsed(plane: &ControlPlane, source: Value) -> Result<Definition, Vec<Fault>> {
    let url = source.get("url").and_then(Value::as_str);
    let refused = url.and_then(|url| plane.targets.parse(url).err());
    let refused = refused.map(|refusal| Fault::invalid("/url", refusal.to_string()));
    match (Definition::parse(source), refused) {
        (Ok(definition), None) => Ok(definition),
        (Ok(_), Some(fault)) => Err(vec![fault]),
        (Err(mut faults), refused) => {
            let is_said = faults.iter().any(|fault| fault.pointer == "/url");
            faults.extend(refused.filter(|_| !is_said));
            Err(faults)
        }
    }
}

pub(super) async fn found(
    plane: &ControlPlane,
    org: OrgId,
    id: RuleId,
) -> Result<StoredRule, Problem> {
    let rule = plane.store.rule(org, id).await?;
    rule.ok_or_else(|| Problem::not_found("alert rule"))
}

impl<'a> Author<'a> {
    pub(super) fn of(plane: &'a ControlPlane, caller: &Caller<RulesWrite>) -> Self {
        let by = caller.identity.counted_as();
        Self { plane, by }
    }

    /// Makes a rule; `None` if it was made before.
    pub(super) async fn create(&self, rule: Rule) -> Result<Option<StoredRule>, Problem> {
        let version = self.version(&rule, What::Created, &[]);
        let change = RuleChange {
            rule: &rule,
            version: &version,
            announcement: &announce::entry(Change::rule_saved(&for_matching(&rule))),
        };
        let most = self.plane.rules_per_org_max;
        match self.plane.store.create_rule(&change, most).await? {
            Outcome::Done => {}
            Outcome::Outdated => return Ok(None),
            outcome => return Err(self.refusal(outcome)),
        }
        self.announce(rule.id).await?;
        change_outbox::publish(self.plane, &version.told(rule.org_id, rule.id)).await;
        Ok(Some(StoredRule {
            rule,
            created_by: self.by.clone(),
            updated_by: self.by.clone(),
        }))
    }

    /// Makes the next version of a rule that meets the condition. What changes nothing makes none.
    pub(super) async fn replace(
        &self,
        current: StoredRule,
        definition: Definition,
        condition: &IfMatch,
    ) -> Result<StoredRule, Problem> {
        let was = current.rule;
        let changed = changed_fields(&was.definition, &definition);
        if changed.is_empty() {
            // Whoever sends a change again because they were told to wait may wait here.
            self.announce(was.id).await?;
            return Ok(StoredRule {
                rule: was,
                ..current
            });
        }
        let (next, what) = (was.version + 1, What::between(&was.definition, &definition));
        let goes_on_counting = definition.counts_like(&was.definition);
        let rule = Rule {
            definition,
            updated_at: self.plane.clock.now(),
            version: next,
            counts_since: if goes_on_counting {
                was.counts_since
            } else {
                next
            },
            ..was
        };
        let version = self.version(&rule, what, &changed);
        let change = RuleChange {
            rule: &rule,
            version: &version,
            announcement: &announce::entry(Change::rule_saved(&for_matching(&rule))),
        };
        match self.plane.store.replace_rule(&change).await? {
            Outcome::Done => {}
            Outcome::Outdated => return Err(self.overtaken(&rule, condition).await),
            outcome => return Err(self.refusal(outcome)),
        }
        self.announce(rule.id).await?;
        change_outbox::publish(self.plane, &version.told(rule.org_id, rule.id)).await;
        Ok(StoredRule {
            rule,
            updated_by: self.by.clone(),
            ..current
        })
    }

    pub(super) async fn delete(
        &self,
        current: StoredRule,
        condition: &IfMatch,
    ) -> Result<(), Problem> {
        condition.check("alert rule", current.rule.version)?;
        let rule = Rule {
            version: current.rule.version + 1,
            updated_at: self.plane.clock.now(),
            ..current.rule
        };
        let version = self.version(&rule, What::Deleted, &[]);
        let change = RuleChange {
            rule: &rule,
            version: &version,
            announcement: &announce::entry(Change::rule_gone(rule.org_id, rule.id)),
        };
        match self.plane.store.delete_rule(&change).await? {
            Outcome::Done => {}
            Outcome::Outdated => return Err(self.overtaken(&rule, condition).await),
            outcome => return Err(self.refusal(outcome)),
        }
        let id = rule.id;
        let saved = || {
            format!(
                "The rule {id} is deleted, but keeps matching events until the journal is back."
            )
        };
        self.plane.announce(saved).await?;
        change_outbox::publish(self.plane, &version.told(rule.org_id, id)).await;
        Ok(())
    }

    /// Makes what is saved of a rule known to every node.
    pub(super) async fn announce(&self, rule: RuleId) -> Result<(), Problem> {
        let saved = || {
            format!(
                "The rule {rule} was saved and takes effect once the journal is back. Do not send it \
                 again; GET /v1/alert-rules/{rule} shows it."
            )
        };
        self.plane.announce(saved).await
    }

    fn version(&self, rule: &Rule, what: What, changed: &[&str]) -> Version {
        Version {
            version: rule.version,
            what,
            changed: changed.iter().map(ToString::to_string).collect(),
            definition: rule.definition.clone(),
            by: self.by.clone(),
            at: rule.updated_at,
        }
    }

    /// Somebody else changed or deleted the rule since it was read.
    async fn overtaken(&self, rule: &Rule, condition: &IfMatch) -> Problem {
        let now = match found(self.plane, rule.org_id, rule.id).await {
            Ok(now) => now,
            Err(problem) => return problem,
        };
        let conflict = Problem::new(ErrorCode::Conflict, ErrorCode::Conflict.what_to_do());
        let met = condition.check("alert rule", now.rule.version);
        met.err().unwrap_or(conflict)
    }

    fn refusal(&self, outcome: Outcome) -> Problem {
        let detail = match outcome {
            Outcome::TooManyDear => format!(
                "Your organization already has {DEAR_MAX} expensive rules, and cannot have more. A rule is expensive \
                 if no value of an event leads to it, so that every event has to be tested against it, or if it lists \
                 a lot to look for. In `match`, ask for exact values, a prefix or a suffix of at least one field, such \
                 as `\"event_type\": [\"tool_call\"]`, and do so in every pattern of `$or`; and use `contains`, \
                 `wildcard`, `equals-ignore-case`, `cidr` and long lists in `metadata` sparingly."
            ),
            _ => {
                let most = self.plane.rules_per_org_max;
                format!("Your organization already has {most} rules; delete some first.")
            }
        };
        Problem::new(ErrorCode::LimitReached, detail)
    }
}

/// A rule as matchers need it: they hold all rules in memory, and never try the examples.
pub(crate) fn for_matching(rule: &Rule) -> Rule {
    let mut rule = rule.clone();
    rule.definition.tests = Vec::new();
    rule
}
