//! Ids: a prefix that says the kind, and a UUID in Crockford base32 (`evt_01j9z...`).
//!
//! Each kind is its own type, so two ids of different kinds cannot be swapped by accident.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::Timestamp;

/// How many random bytes a new id needs beside its time (a UUID v7 keeps 74 bits of them).
pub const RANDOM_BYTES: usize = 10;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// A new id that sorts by `at`.
            pub fn new(at: Timestamp, random: [u8; RANDOM_BYTES]) -> Self {
                Self(time_ordered(at, random))
            }

            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl $name {
            /// The id as people see it, without an allocation.
            pub fn text(self) -> IdText {
                const { assert!($prefix.len() == PREFIX_BYTES) };
                IdText::new($prefix, self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text().as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                let digits = text.strip_prefix(concat!($prefix, "_"));
                let uuid = digits.and_then(parse_base32);
                uuid.map(Self).ok_or(NotAnId { prefix: $prefix })
            }
        }

        /// Text for people (JSON), sixteen bytes for machines (journal records).
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.serialize_str(self.text().as_str())
                } else {
                    self.0.serialize(serializer)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
                } else {
                    Uuid::deserialize(deserializer).map(Self)
                }
            }
        }
    )*};
}

ids! {
    /// An organization: the owner of everything else.
    OrgId = "org";
    /// A person who logs in.
    UserId = "usr";
    /// A person's login on one device (never the cookie's text).
    SessionId = "ses";
    /// An invitation to join an organization.
    InvitationId = "inv";
    /// An API key (never the key's text).
    KeyId = "key";
    /// One answer to "may this agent do this?".
    DecisionId = "dec";
    /// An audit event. Its time is the event's `occurred_at`, so ids sort in event time.
    EventId = "evt";
    /// An alert rule.
    RuleId = "rul";
    /// One matched event on its way to one rule's endpoint; the receiver's dedupe key.
    DeliveryId = "dlv";
    /// One send of a delivery.
    AttemptId = "att";
    /// An export that is made in the background.
    ExportId = "exp";
    /// Where an organization's webhooks go: one URL, whichever rules name it.
    EndpointId = "end";
    /// A signing secret (never the secret's text).
    SecretId = "sec";
    /// A job that sends deliveries of the past again.
    RecoveryId = "rcv";
    /// A job that erases events.
    ErasureId = "era";
    /// A search that is kept under a name.
    ViewId = "vie";
}

impl EventId {
    /// The id of an event that follows from what was said: who sent it, what they call it, its content. Said
    /// again it is the same id, on every node, after every restart, without a look-up.
    pub fn from_client(org: OrgId, said: &[&str], occurred_at: Timestamp) -> Self {
        let mut hash = Sha256::new()
            .chain_update(org.uuid().as_bytes())
            .chain_update(b"\0event\0");
        for part in said {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self::with_tail(occurred_at, Tail::Derived(cut(hash)))
    }

    /// The id of an event that occurred at `at`.
    pub fn with_tail(at: Timestamp, tail: Tail) -> Self {
        match tail {
            Tail::Random(bytes) => Self::new(at, bytes),
            Tail::Derived(bytes) => Self(marked_as_derived(time_ordered(at, bytes))),
        }
    }

    /// Whether the id follows from what the client said, so that the event may come twice. Such an id
    /// is of UUID version 8 (RFC 9562: the maker's own); all others are of version 7.
    pub fn is_derived(self) -> bool {
        self.0.get_version_num() == 8
    }

    /// No event that occurred at `at` or later has a smaller id.
    pub fn first_at(at: Timestamp) -> Self {
        let millis = u128::try_from(at.unix_millis()).unwrap_or(0);
        Self(Uuid::from_u128(millis << 80))
    }

    /// The event's `occurred_at`, which its id carries.
    pub fn time(self) -> Timestamp {
        time_of(self.0)
    }
}

impl DecisionId {
    /// When it was asked for, which its id carries.
    pub fn time(self) -> Timestamp {
        time_of(self.0)
    }
}

/// What makes an event's id beside its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    Random([u8; RANDOM_BYTES]),
    /// It follows from what the client said, so the event may come twice.
    Derived([u8; RANDOM_BYTES]),
}

impl ErasureId {
    /// What makes the id of the event that tells of one page of it: told twice, it is the same event.
    pub fn tail_of_page(self, number: u32) -> Tail {
        Tail::Derived(derived(self.0.as_bytes(), &number.to_be_bytes()))
    }
}

impl DeliveryId {
    /// Matching the same event with the same rule again can never make a second delivery. The time
    /// is the event's, so that deliveries are stored by day as events are.
    pub fn of(event: EventId, rule: RuleId) -> Self {
        Self::new(
            event.time(),
            derived(event.uuid().as_bytes(), rule.uuid().as_bytes()),
        )
    }

    /// The delivery that says how many alerts were kept back, the last of them about this event.
    pub fn of_summary(event: EventId, rule: RuleId) -> Self {
        let cause = [rule.uuid().as_bytes().as_slice(), b"summary"].concat();
        Self::new(event.time(), derived(event.uuid().as_bytes(), &cause))
    }
}

impl EndpointId {
    /// Rules of an organization that name the same URL share its endpoint.
    pub fn of(org: OrgId, url: &str) -> Self {
        let digest = Sha256::new()
            .chain_update(org.uuid().as_bytes())
            .chain_update(url)
            .finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self(marked_as_derived(Uuid::from_bytes(bytes)))
    }
}

/// The text is not an id of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an id of the form {prefix}_ followed by 26 characters")]
pub struct NotAnId {
    prefix: &'static str,
}

/// The "random" part of an id that follows from what caused it: 74 bits of a SHA-256.
pub(crate) fn derived(owner: &[u8], cause: &[u8]) -> [u8; RANDOM_BYTES] {
    cut(Sha256::new().chain_update(owner).chain_update(cause))
}

fn cut(hash: Sha256) -> [u8; RANDOM_BYTES] {
    let mut random = [0; RANDOM_BYTES];
    random.copy_from_slice(&hash.finalize()[..RANDOM_BYTES]);
    random
}

fn marked_as_derived(uuid: Uuid) -> Uuid {
    uuid::Builder::from_bytes(uuid.into_bytes())
        .with_version(uuid::Version::Custom)
        .into_uuid()
}

fn time_of(uuid: Uuid) -> Timestamp {
    let millis = uuid.as_u128() >> 80;
    Timestamp::from_unix_millis(i64::try_from(millis).expect("48 bits fit an i64"))
}

fn time_ordered(at: Timestamp, random: [u8; RANDOM_BYTES]) -> Uuid {
    let millis = u64::try_from(at.unix_millis()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

/// Crockford's alphabet: no i, l, o, u, so that ids survive being read aloud.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 128 bits at five bits a digit.
const DIGITS: usize = 26;

/// Every prefix has as many letters, so that every id has as many.
const PREFIX_BYTES: usize = 3;
const TEXT_BYTES: usize = PREFIX_BYTES + 1 + DIGITS;

/// An id's text, on the stack: a request may write a thousand of them.
#[derive(Clone, Copy)]
pub struct IdText([u8; TEXT_BYTES]);

impl IdText {
    fn new(prefix: &str, uuid: Uuid) -> Self {
        let mut text = [b'_'; TEXT_BYTES];
        text[..PREFIX_BYTES].copy_from_slice(prefix.as_bytes());
        let mut value = uuid.as_u128();
        for digit in text[PREFIX_BYTES + 1..].iter_mut().rev() {
            *digit = ALPHABET[(value & 31) as usize];
            value >>= 5;
        }
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("prefix and digits are ASCII")
    }
}

fn parse_base32(digits: &str) -> Option<Uuid> {
    if digits.len() != DIGITS || digits.as_bytes()[0] > b'7' {
        return None;
    }
    let value = digits.bytes().try_fold(0u128, |value, digit| {
        let five_bits = ALPHABET.iter().position(|letter| *letter == digit)?;
        Some(value << 5 | five_bits as u128)
    })?;
    Some(Uuid::from_u128(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_reads_back_as_written(value: u128) {
            let id = EventId::from_uuid(Uuid::from_u128(value));
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert_eq!(id.to_string().len(), 30);
        }

        #[test]
        fn ids_sort_as_their_texts(a: u128, b: u128) {
            let (a, b) = (RuleId::from_uuid(Uuid::from_u128(a)), RuleId::from_uuid(Uuid::from_u128(b)));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = text.parse::<OrgId>();
        }
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let rule = RuleId::from_uuid(Uuid::from_u128(7));
        assert!(rule.to_string().parse::<EventId>().is_err());
    }

    #[test]
    fn a_delivery_follows_from_its_event_and_rule_and_sorts_by_the_events_time() {
        let at = Timestamp::from_unix_millis(1_700_000_000_000);
        let (event, rule) = (
            EventId::new(at, [1; 10]),
            RuleId::from_uuid(Uuid::from_u128(9)),
        );
        let delivery = DeliveryId::of(event, rule);
        assert_eq!(delivery, DeliveryId::of(event, rule));
        assert_ne!(delivery, DeliveryId::of(EventId::new(at, [2; 10]), rule));
        assert_eq!(time_of(delivery.uuid()), at);
    }

    #[test]
    fn what_is_said_always_gives_the_same_id_within_its_organization_and_nothing_else_does() {
        let at = Timestamp::from_unix_millis(1_700_000_000_000);
        let id = |org, said: &[&str]| {
            EventId::from_client(OrgId::from_uuid(Uuid::from_u128(org)), said, at)
        };
        let said = id(1, &["key_a", "x", "{}"]);
        assert_eq!(said, id(1, &["key_a", "x", "{}"]));
        for other in [
            id(2, &["key_a", "x", "{}"]),
            id(1, &["key_b", "x", "{}"]),
            id(1, &["key_a", "y", "{}"]),
            id(1, &["key_a", "x", "{ }"]),
            id(1, &["key_", "ax", "{}"]),
        ] {
            assert_ne!(said, other);
        }
    }

    #[test]
    fn an_id_tells_whether_its_event_may_come_twice_and_where_its_time_begins() {
        let at = Timestamp::from_unix_millis(1_700_000_000_000);
        let org = OrgId::from_uuid(Uuid::from_u128(1));
        let (named, random) = (
            EventId::from_client(org, &["x"], at),
            EventId::new(at, [0; 10]),
        );
        assert!(named.is_derived() && !random.is_derived());
        assert_eq!(named.time(), at);
        for id in [named, random] {
            assert!(EventId::first_at(at) <= id);
            assert!(id < EventId::first_at(Timestamp::from_unix_millis(1_700_000_000_001)));
        }
    }
}
