//! Rows in the binary form of PostgreSQL's COPY.

use domain::Timestamp;
use uuid::Uuid;

/// What such bytes start with.
pub(crate) const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// No flags, and no extension of the header.
const NOTHING_SPECIAL: &[u8] = &[0; 8];
const END: i16 = -1;
/// PostgreSQL counts microseconds from 2000-01-01.
const EPOCH_MILLIS: i64 = 946_684_800_000;

/// Writes rows of a fixed number of fields, to be sent in pieces.
pub(crate) struct Rows {
    bytes: Vec<u8>,
    fields: i16,
}

impl Rows {
    pub(crate) fn new(fields: i16) -> Self {
        Self {
            bytes: [SIGNATURE, NOTHING_SPECIAL].concat(),
            fields,
        }
    }

    /// Starts a row; exactly the promised number of fields must follow.
    pub(crate) fn row(&mut self) -> &mut Self {
        self.bytes.extend(self.fields.to_be_bytes());
        self
    }

    pub(crate) fn uuid(&mut self, value: Uuid) -> &mut Self {
        self.field(value.as_bytes())
    }

    pub(crate) fn text(&mut self, value: &str) -> &mut Self {
        self.field(value.as_bytes())
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.field(value)
    }

    pub(crate) fn text_or_null(&mut self, value: Option<&str>) -> &mut Self {
        match value {
            Some(text) => self.text(text),
            None => {
                self.bytes.extend((-1i32).to_be_bytes());
                self
            }
        }
    }

    pub(crate) fn time(&mut self, at: Timestamp) -> &mut Self {
        let micros = (at.unix_millis() - EPOCH_MILLIS) * 1_000;
        self.field(&micros.to_be_bytes())
    }

    /// What was written since the last piece was sent.
    pub(crate) fn piece(&self) -> &[u8] {
        &self.bytes
    }

    /// The piece was sent.
    pub(crate) fn next_piece(&mut self) {
        self.bytes.clear();
    }

    /// The last piece.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend(END.to_be_bytes());
        self.bytes
    }

    fn field(&mut self, value: &[u8]) -> &mut Self {
        let length = i32::try_from(value.len()).expect("a field is far below 2 GiB");
        self.bytes.extend(length.to_be_bytes());
        self.bytes.extend_from_slice(value);
        self
    }
}
