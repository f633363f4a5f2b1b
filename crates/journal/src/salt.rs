//! Salts of records: drawn once for a message, and each record's follows from that and its id.
//!
//! A record's leaf in the transparency log is a salted hash of it. The salt comes with the journal's message, so whoever
//! applies the message again, also after PostgreSQL was lost, makes the same leaf; and with the message it is gone, so that
//! nobody can derive again what was erased.

use runtime::random;
use sha2::{Digest as _, Sha256};
use trail_proof::leaf::Salt;
use uuid::Uuid;

/// The header of a message that has it.
pub(crate) const HEADER: &str = "Watchbell-Salt";

/// What the salts of a message's records follow from.
#[derive(Clone, Copy)]
pub struct MessageSalt([u8; 32]);

impl MessageSalt {
    /// Of a record that has left its message: another each time.
    pub fn random() -> Self {
        Self(random::bytes())
    }

    /// By what a message has in its headers that nobody can guess.
    pub(crate) fn from_header(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// That of one record.
    pub fn of(&self, record: Uuid) -> Salt {
        let hash = Sha256::new()
            .chain_update(self.0)
            .chain_update(record.as_bytes())
            .finalize();
        let (salt, _) = hash.split_at(16);
        Salt(salt.try_into().expect("16 of 32 bytes"))
    }
}

/// What goes into the header of a new message.
pub(crate) fn header() -> String {
    hex::encode(random::bytes::<16>())
}

impl std::fmt::Debug for MessageSalt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("MessageSalt(…)")
    }
}
