//! A request that may be sent again: what its `Idempotency-Key` makes of it.
//!
//! The key names the request, among those of one API key. What follows from the name (the ids of the
//! request's events, or of the rule or delivery that it makes) is the same however often the request is sent.

use sha2::{Digest as _, Sha256};

use crate::{
    DeliveryId, OrgId, RecoveryId, RuleId, Timestamp,
    batch::Form,
    id::{Tail, derived},
};

/// The longest key.
pub const KEY_CHARS_MAX: usize = 128;

/// A request, named by its sender. Names of different senders never meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestName([u8; 32]);

impl RequestName {
    /// `None` if the key is empty, too long, or not printable ASCII.
    pub fn new(org: OrgId, sender: &str, idempotency_key: &str) -> Option<Self> {
        let is_key = (1..=KEY_CHARS_MAX).contains(&idempotency_key.len())
            && idempotency_key
                .bytes()
                .all(|byte| matches!(byte, b' '..=b'~'));
        is_key.then(|| {
            let digest = Sha256::new()
                .chain_update(org.uuid().as_bytes())
                .chain_update((sender.len() as u64).to_le_bytes())
                .chain_update(sender)
                .chain_update(idempotency_key)
                .finalize();
            Self(digest.into())
        })
    }

    /// The name as text, for the journal.
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }

    /// What makes the id of the request's event at `index`.
    pub fn tail(&self, index: usize) -> Tail {
        Tail::Derived(derived(&self.0, &(index as u64).to_le_bytes()))
    }

    /// What makes the id of the event that a test delivery of the request carries.
    pub fn test_event_tail(&self) -> Tail {
        Tail::Derived(derived(&self.0, b"event"))
    }

    /// The id of the rule that the request makes, if it came first at that time.
    pub fn rule_id(&self, at: Timestamp) -> RuleId {
        RuleId::new(at, derived(&self.0, b"rule"))
    }

    /// The id of the delivery that the request asks for, likewise.
    pub fn delivery_id(&self, at: Timestamp) -> DeliveryId {
        DeliveryId::new(at, derived(&self.0, b"delivery"))
    }

    /// The id of the recovery that the request asks for, likewise.
    pub fn recovery_id(&self, at: Timestamp) -> RecoveryId {
        RecoveryId::new(at, derived(&self.0, b"recovery"))
    }
}

/// What a request says, in hex: sent again it must say the same.
pub fn fingerprint(form: Form, is_atomic: bool, body: &[u8]) -> String {
    let digest = Sha256::new()
        .chain_update(form.media_type())
        .chain_update([0, u8::from(is_atomic)])
        .chain_update(body)
        .finalize();
    hex::encode(digest)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::EventId;

    fn name(org: u128, sender: &str, key: &str) -> Option<RequestName> {
        RequestName::new(OrgId::from_uuid(Uuid::from_u128(org)), sender, key)
    }

    #[test]
    fn a_name_tells_organizations_senders_and_keys_apart() {
        let one = name(1, "key_a", "k");
        assert_eq!(one, name(1, "key_a", "k"));
        for other in [
            name(2, "key_a", "k"),
            name(1, "key_b", "k"),
            name(1, "key_a", "l"),
            name(1, "key_", "ak"),
        ] {
            assert_ne!(one, other);
        }
        assert!(name(1, "a", &"x".repeat(128)).is_some());
        for bad in ["", "é", "a\tb", &"x".repeat(129)] {
            assert_eq!(name(1, "a", bad), None, "{bad}");
        }
    }

    #[test]
    fn each_event_of_a_request_has_its_own_id_and_always_the_same() {
        let name = name(1, "key_a", "k").expect("a name");
        let at = Timestamp::from_unix_millis(1_763_200_000_000);
        let id = |index| EventId::with_tail(at, name.tail(index));
        assert_eq!(id(0), id(0));
        assert_ne!(id(0), id(1));
        assert!(id(0).is_derived());
        assert_ne!(id(0), EventId::with_tail(at, name.test_event_tail()));
    }

    #[test]
    fn a_fingerprint_is_of_all_that_a_request_says() {
        let one = fingerprint(Form::Json, false, b"{}");
        assert_ne!(one, fingerprint(Form::Json, true, b"{}"));
        assert_ne!(one, fingerprint(Form::CloudEvent, false, b"{}"));
        assert_ne!(one, fingerprint(Form::Json, false, b"{} "));
    }
}
