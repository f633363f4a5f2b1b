//! Signs a delivery: the contract's header, those of a rotation, and the Standard Webhooks ones beside them.
//!
//! The secret that an organization promoted comes first; without one its initial secret is used. What cannot be
//! signed as it should be is not sent: never with another secret, and never unsigned.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use domain::{DeliveryId, OrgId, SecretId, Timestamp, secret::State};
use hyper::http::{HeaderMap, HeaderName, HeaderValue};
use journal::record::SecretUsed;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use webhook_signature::{
    NEXT_SIGNATURE_HEADER, PREVIOUS_SIGNATURE_HEADER, SIGNATURE_HEADER, standard,
};

use crate::{
    secrets::{derive::derived, key::Key, seal::Unsealable},
    snapshots::{
        Secrets,
        secrets::{FoundSecret, Unknown},
    },
};

/// Organizations whose initial secrets are kept ready for use; beyond it all are made anew.
const INITIAL_KEPT_MAX: usize = 10_000;

/// What this node signs with. Cheap to clone.
#[derive(Clone)]
pub struct Signing {
    deployment: Arc<DeploymentKeys>,
    initial: Arc<RwLock<HashMap<OrgId, InitialKeys>>>,
    own: Secrets,
}

/// The keys that an organization has without having made any.
#[derive(Clone)]
struct InitialKeys {
    signs: Option<Key>,
    signed_before: Option<Key>,
}

/// The secrets of the configuration, from which each organization has its initial one.
#[derive(Debug)]
pub struct DeploymentKeys {
    pub current: Option<SecretString>,
    pub previous: Option<SecretString>,
    /// Signs for all organizations in place of their initial secrets, while receivers are changed over.
    pub shared: Option<SecretString>,
}

/// One message to be signed.
#[derive(Clone, Copy, Debug)]
pub struct Message<'m> {
    pub delivery: DeliveryId,
    pub signed_at: Timestamp,
    pub body: &'m str,
}

/// The keys of one message, by the header that each gets.
#[derive(Clone, Debug, Default)]
pub struct Keys<T> {
    pub main: Option<T>,
    pub previous: Option<T>,
    pub next: Option<T>,
}

/// Why a delivery cannot be signed: ours to mend, not the receiver's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsigned {
    #[error(transparent)]
    Unknown(#[from] Unknown),
    #[error("the signing secret {id} cannot be unsealed: {reason}")]
    Unsealable { id: SecretId, reason: Unsealable },
}

impl Signing {
    pub fn new(deployment: Arc<DeploymentKeys>, own: Secrets) -> Self {
        Self {
            deployment,
            initial: Arc::default(),
            own,
        }
    }

    /// Returns once it is known what to sign with, or when stopped. Nothing may be sent before.
    pub async fn load(&self, stopping: &CancellationToken) {
        self.own.load(stopping).await;
    }

    /// Adds the signatures over exactly these bytes. Returns which secrets they were made with, the main
    /// one first; none if there is no secret.
    pub fn sign(
        &self,
        headers: &mut HeaderMap,
        org: OrgId,
        message: Message<'_>,
    ) -> Result<Vec<SecretUsed>, Unsigned> {
        let now = message.signed_at;
        let own = self.own.of(org)?;
        let own = own.as_deref();
        let in_state = |state| usable(own.and_then(|own| own.in_state(state, now)));
        let initial = |key: Option<Key>| key.map(|key| (SecretUsed::Deployment, key));
        let mut keys = match in_state(State::Current)? {
            Some(current) => Keys {
                main: Some(current),
                previous: in_state(State::Previous)?,
                next: None,
            },
            None => {
                let keys = self.initial(org);
                Keys {
                    main: initial(keys.signs),
                    previous: initial(keys.signed_before),
                    next: None,
                }
            }
        };
        if own.is_some_and(|own| own.replaces_deployment(now)) {
            keys.previous = initial(self.initial(org).signs);
        }
        // Nobody depends on it yet, so one that cannot be read holds up nothing. What was not signed
        // before is signed from the promotion on.
        keys.next = in_state(State::Staged)
            .ok()
            .flatten()
            .filter(|_| keys.main.is_some());
        keys.sign(headers, message);
        Ok(keys.into_used())
    }

    /// To derive a secret takes as long as to sign twice, so it is done once.
    fn initial(&self, org: OrgId) -> InitialKeys {
        let known = self.initial.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = known.get(&org) {
            return keys.clone();
        }
        drop(known);
        let key = |text: Option<SecretString>| text.as_ref().map(Key::new);
        let keys = InitialKeys {
            signs: key(self.deployment.signs_for(org)),
            signed_before: key(self.deployment.signed_for(org)),
        };
        let mut known = self.initial.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= INITIAL_KEPT_MAX {
            known.clear();
        }
        known.insert(org, keys.clone());
        keys
    }
}

/// The key of a secret that must be signed with, if there is one.
fn usable(wanted: FoundSecret<'_>) -> Result<Option<(SecretUsed, Key)>, Unsigned> {
    match wanted {
        None => Ok(None),
        Some((id, Ok(key))) => Ok(Some((SecretUsed::Own(id), key.clone()))),
        Some((id, Err(reason))) => Err(Unsigned::Unsealable {
            id,
            reason: reason.clone(),
        }),
    }
}

impl<T> Keys<T> {
    pub fn filter_map<U>(self, mut change: impl FnMut(T) -> Option<U>) -> Keys<U> {
        Keys {
            main: self.main.and_then(&mut change),
            previous: self.previous.and_then(&mut change),
            next: self.next.and_then(&mut change),
        }
    }

    /// Each with the header that it gives its signature to, the main one first.
    pub fn by_header(&self) -> impl Iterator<Item = (&'static str, &T)> {
        [
            (SIGNATURE_HEADER, &self.main),
            (PREVIOUS_SIGNATURE_HEADER, &self.previous),
            (NEXT_SIGNATURE_HEADER, &self.next),
        ]
        .into_iter()
        .filter_map(|(header, key)| Some((header, key.as_ref()?)))
    }
}

impl Keys<(SecretUsed, Key)> {
    pub fn sign(&self, headers: &mut HeaderMap, message: Message<'_>) {
        let (timestamp, body) = (message.signed_at.to_string(), message.body.as_bytes());
        for (header, (_, key)) in self.by_header() {
            insert(headers, header, &key.service.sign(&timestamp, body));
        }
        let (id, seconds) = (
            message.delivery.to_string(),
            message.signed_at.unix_seconds(),
        );
        let standard: Vec<String> = self
            .by_header()
            .filter_map(|(_, (_, key))| key.standard.as_ref())
            .map(|key| standard::sign(key, &id, seconds, body))
            .collect();
        if !standard.is_empty() {
            insert(headers, standard::ID_HEADER, &id);
            insert(headers, standard::TIMESTAMP_HEADER, &seconds.to_string());
            insert(headers, standard::SIGNATURE_HEADER, &standard.join(" "));
        }
    }

    fn into_used(self) -> Vec<SecretUsed> {
        let all = [self.main, self.previous, self.next];
        all.into_iter().flatten().map(|(used, _)| used).collect()
    }
}

/// Which header each of the secrets of an attempt signed for, the main one first. Of two secrets of an
/// organization the one with the greater id is the newer, and the initial one is older than all of them.
pub fn roles(used: &[SecretUsed]) -> Keys<SecretUsed> {
    let mut keys = Keys {
        main: used.first().copied(),
        previous: None,
        next: None,
    };
    for other in used.iter().skip(1).copied() {
        let is_next = match (used[0], other) {
            (_, SecretUsed::Deployment) => false,
            (SecretUsed::Deployment, SecretUsed::Own(_)) => true,
            (SecretUsed::Own(main), SecretUsed::Own(other)) => other > main,
        };
        let place = if is_next {
            &mut keys.next
        } else {
            &mut keys.previous
        };
        *place = Some(other);
    }
    keys
}

impl DeploymentKeys {
    /// Whether organizations have an initial secret.
    pub fn is_there(&self) -> bool {
        self.current.is_some()
    }

    /// The secret that an organization has from its first minute.
    pub fn initial(&self, org: OrgId) -> Option<SecretString> {
        self.current.as_ref().map(|secret| derived(secret, org))
    }

    /// What signs for an organization that promoted none.
    pub fn signs_for(&self, org: OrgId) -> Option<SecretString> {
        self.shared.clone().or_else(|| self.initial(org))
    }

    /// What signed for it before the deployment's was changed.
    pub fn signed_for(&self, org: OrgId) -> Option<SecretString> {
        let previous = self.previous.as_ref().filter(|_| self.shared.is_none());
        previous.map(|secret| derived(secret, org))
    }
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    let value = HeaderValue::from_str(value).expect("ids, numbers, hex and base64 are plain ASCII");
    headers.insert(HeaderName::from_static(name), value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_secret_signed_for_which_header_follows_from_their_order() {
        let at = |millis: i64| Timestamp::from_unix_millis(1_794_735_000_000 + millis);
        let own = |millis| SecretUsed::Own(SecretId::new(at(millis), [0; 10]));
        let (deployment, old, current, new) = (SecretUsed::Deployment, own(1), own(2), own(3));
        let cases = [
            (vec![], [None, None, None]),
            (vec![deployment], [Some(deployment), None, None]),
            (
                vec![deployment, deployment],
                [Some(deployment), Some(deployment), None],
            ),
            (
                vec![deployment, deployment, new],
                [Some(deployment), Some(deployment), Some(new)],
            ),
            (vec![deployment, new], [Some(deployment), None, Some(new)]),
            (
                vec![current, deployment],
                [Some(current), Some(deployment), None],
            ),
            (vec![current, old], [Some(current), Some(old), None]),
            (vec![current, new], [Some(current), None, Some(new)]),
            (
                vec![current, old, new],
                [Some(current), Some(old), Some(new)],
            ),
        ];
        for (used, expected) in cases {
            let keys = roles(&used);
            assert_eq!([keys.main, keys.previous, keys.next], expected, "{used:?}");
        }
    }
}
