//! Where the deliveries of each rule go now.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use domain::{EndpointId, OrgId, RuleId};
use journal::{Journal, kv::RuleChange, mirror::Mirror, streams::Bucket};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// Endpoints that rules left which a listener may be behind.
const NEWS_MAX: usize = 1_024;

/// The URL of every rule, and which rules are gone. Cheap to clone.
#[derive(Clone)]
pub struct Targets {
    journal: Journal,
    known: Arc<RwLock<Known>>,
    left: broadcast::Sender<EndpointId>,
    mirror: Mirror,
}

#[derive(Default)]
struct Known {
    rules: HashMap<RuleId, (OrgId, Target)>,
    named: HashMap<EndpointId, Named>,
}

/// An endpoint, and how many rules go there.
struct Named {
    org: OrgId,
    url: Arc<str>,
    rules: usize,
}

/// Where a rule's deliveries go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Url(Arc<str>),
    /// Somebody deleted the rule.
    Gone,
}

impl Targets {
    pub fn new(journal: Journal) -> Self {
        Self {
            mirror: Mirror::new(journal.clone(), Bucket::Rules),
            journal,
            known: Arc::default(),
            left: broadcast::Sender::new(NEWS_MAX),
        }
    }

    /// `None`: nothing is known of the rule, which may be the journal's loss; its deliveries go on.
    pub fn of(&self, rule: RuleId) -> Option<Target> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.rules.get(&rule).map(|(_, target)| target.clone())
    }

    /// Whether a rule goes there.
    pub fn are_at(&self, endpoint: EndpointId) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.named.contains_key(&endpoint)
    }

    /// Of the endpoints where rules go, those of which `wanted` says something: that, whose and where it is.
    pub fn endpoints<T>(
        &self,
        wanted: impl Fn(EndpointId) -> Option<T>,
    ) -> Vec<(T, OrgId, Arc<str>)> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let named = known.named.iter();
        named
            .filter_map(|(id, named)| Some((wanted(*id)?, named.org, Arc::clone(&named.url))))
            .collect()
    }

    /// The endpoints that rules leave, as they do.
    pub fn left(&self) -> broadcast::Receiver<EndpointId> {
        self.left.subscribe()
    }

    pub async fn catch_up(&self) -> Result<(), journal::Error> {
        self.mirror.catch_up().await
    }

    pub async fn follow(self, stopping: CancellationToken) -> anyhow::Result<()> {
        let changes = self.journal.rule_changes();
        let apply = |changes| self.apply(changes);
        self.mirror.follow(changes, apply, stopping).await
    }

    fn apply(&self, changes: Vec<RuleChange>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            let target = match change.value {
                Some(rule) => Target::Url(Arc::from(rule.definition.url)),
                None => Target::Gone,
            };
            if let Some(left) = known.set(change.rule, change.org, target) {
                // Nobody may be listening.
                let _ = self.left.send(left);
            }
        }
    }
}

impl Known {
    /// Says which endpoint the rule left, if it did.
    fn set(&mut self, rule: RuleId, org: OrgId, target: Target) -> Option<EndpointId> {
        let now = match &target {
            Target::Url(url) => Some(EndpointId::of(org, url)),
            Target::Gone => None,
        };
        if let Target::Url(url) = &target {
            let place = self.named.entry(EndpointId::of(org, url));
            let named = place.or_insert_with(|| Named {
                org,
                url: Arc::clone(url),
                rules: 0,
            });
            named.rules += 1;
        }
        let Some((org, Target::Url(before))) = self.rules.insert(rule, (org, target)) else {
            return None;
        };
        let before = EndpointId::of(org, &before);
        if let Some(named) = self.named.get_mut(&before) {
            named.rules -= 1;
            if named.rules == 0 {
                self.named.remove(&before);
            }
        }
        (now != Some(before)).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_endpoint_is_named_for_as_long_as_a_rule_goes_there() {
        let org = OrgId::from_uuid(Uuid::from_u128(1));
        let rule = |number| RuleId::from_uuid(Uuid::from_u128(number));
        let endpoint = |url| EndpointId::of(org, url);
        let (mut known, to) = (Known::default(), |url: &str| Target::Url(Arc::from(url)));
        let is_named = |known: &Known, url| known.named.contains_key(&endpoint(url));
        known.set(rule(1), org, to("https://a/"));
        known.set(rule(2), org, to("https://a/"));
        known.set(rule(1), org, to("https://a/"));
        known.set(rule(1), org, to("https://b/"));
        assert!(is_named(&known, "https://a/") && is_named(&known, "https://b/"));
        known.set(rule(2), org, Target::Gone);
        known.set(rule(2), org, Target::Gone);
        assert!(!is_named(&known, "https://a/") && is_named(&known, "https://b/"));
    }

    #[test]
    fn a_rule_leaves_its_endpoint_when_it_goes_elsewhere_or_is_gone_and_no_other_time() {
        let org = OrgId::from_uuid(Uuid::from_u128(1));
        let rule = RuleId::from_uuid(Uuid::from_u128(1));
        let endpoint = |url| Some(EndpointId::of(org, url));
        let to = |url: &str| Target::Url(Arc::from(url));
        let mut known = Known::default();
        assert_eq!(known.set(rule, org, to("https://a/")), None, "it is new");
        assert_eq!(known.set(rule, org, to("https://a/")), None, "it stays");
        let left = known.set(rule, org, to("https://b/"));
        assert_eq!(left, endpoint("https://a/"));
        let left = known.set(rule, org, Target::Gone);
        assert_eq!(left, endpoint("https://b/"));
        assert_eq!(known.set(rule, org, Target::Gone), None, "it is gone");
    }
}
