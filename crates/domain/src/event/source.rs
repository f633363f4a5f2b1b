//! Who wrote an event: the server itself, or an API key. The server says so; a client cannot.

use std::fmt;

use serde::{Serialize, Serializer};

use super::filter::NotAFilter;
use crate::KeyId;

/// Who wrote an event, as its field `source` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Watchbell itself, also where somebody's request made it do so.
    Server,
    /// A client, by this API key.
    Key(KeyId),
    /// Nobody: it is the event of a test delivery, which no trail has.
    Test,
}

/// Which writers somebody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourcePattern {
    /// The server, or this API key.
    Is(Source),
    /// Any API key.
    AnyKey,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("server"),
            Self::Key(key) => f.write_str(key.text().as_str()),
            Self::Test => f.write_str("test"),
        }
    }
}

impl SourcePattern {
    /// What the `source` of every event by an API key starts with.
    pub const KEYS_START: &'static str = "key_";

    pub(crate) fn parse(text: &str) -> Result<Self, NotAFilter> {
        match text {
            "server" => Ok(Self::Is(Source::Server)),
            "key" => Ok(Self::AnyKey),
            _ => {
                let key = text.parse::<KeyId>();
                let key = key.map(|key| Self::Is(Source::Key(key)));
                key.map_err(|_| NotAFilter::Invalid {
                    field: "source",
                    detail:
                        "`source` must be `server`, `key` (any API key), or the id of an API key."
                            .to_owned(),
                })
            }
        }
    }

    /// Whether an event with this `source` is asked for.
    pub fn matches(&self, source: &str) -> bool {
        match self {
            Self::Is(writer) => writer.to_string() == source,
            Self::AnyKey => source.starts_with(Self::KEYS_START),
        }
    }
}

impl fmt::Display for SourcePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(writer) => fmt::Display::fmt(writer, f),
            Self::AnyKey => f.write_str("key"),
        }
    }
}

impl Serialize for SourcePattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_server_any_key_and_one_key_can_be_asked_for_and_nobody_else() {
        let key = KeyId::from_uuid(Uuid::from_u128(7));
        let (server, key) = (Source::Server.to_string(), Source::Key(key).to_string());
        assert!(key.starts_with(SourcePattern::KEYS_START));
        for (asked, finds_server, finds_key) in [
            ("server", true, false),
            ("key", false, true),
            (key.as_str(), false, true),
            ("key_00000000000000000000000008", false, false),
        ] {
            let pattern = SourcePattern::parse(asked).expect(asked);
            assert_eq!(pattern.matches(&server), finds_server, "{asked}");
            assert_eq!(pattern.matches(&key), finds_key, "{asked}");
            assert_eq!(pattern.to_string(), asked);
            assert!(!pattern.matches(""), "{asked}");
        }
        for nobody in [
            "",
            "test",
            "Server",
            "key_",
            "org_00000000000000000000000008",
        ] {
            assert!(SourcePattern::parse(nobody).is_err(), "{nobody}");
        }
    }
}
