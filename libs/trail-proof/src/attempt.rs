//! What the log commits to of an attempt to deliver an alert: who was sent what, when, and what they said.

use serde::Serialize;

use transparency_log::sha256;

/// One attempt, as it is written down for its leaf. Every time is RFC 3339 in UTC with milliseconds.
///
/// The bytes of [`AttemptStatement::bytes`] never change for the same attempt: fields are neither moved nor renamed, and a
/// new one is left out where there is nothing to say.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptStatement<'a> {
    pub id: &'a str,
    pub delivery_id: &'a str,
    pub number: u32,
    pub trigger: &'a str,
    pub started_at: &'a str,
    pub finished_at: &'a str,
    /// The time in the signature. With the event and the secrets it makes the bytes that were sent.
    pub signed_at: &'a str,
    pub url: &'a str,
    pub remote_address: Option<&'a str>,
    pub tls: Option<&'a str>,
    /// Of the bytes that were signed and sent.
    pub body_sha256: &'a str,
    pub body_bytes: u32,
    /// The secrets it was signed with; the first gave the main signature.
    pub secrets: &'a [String],
    pub status: Option<u16>,
    pub outcome: &'a str,
    /// Of the first bytes of what the receiver said, in hexadecimal.
    pub answer_sha256: String,
}

impl AttemptStatement<'_> {
    /// The bytes that the leaf commits to.
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers always encode")
    }
}

/// The hash of what a receiver said.
pub fn answer_sha256(answer: &str) -> String {
    hex::encode(sha256(&[answer.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_an_attempt_stay_as_they_are() {
        let statement = AttemptStatement {
            id: "att_1",
            delivery_id: "dlv_1",
            number: 2,
            trigger: "retry",
            started_at: "2026-11-18T09:30:00.125Z",
            finished_at: "2026-11-18T09:30:00.250Z",
            signed_at: "2026-11-18T09:30:00.125Z",
            url: "https://example.com/hook",
            remote_address: None,
            tls: Some("TLSv1.3"),
            body_sha256: "ab",
            body_bytes: 512,
            secrets: &["deployment".to_owned()],
            status: Some(200),
            outcome: "delivered",
            answer_sha256: answer_sha256("ok"),
        };
        let expected = concat!(
            r#"{"id":"att_1","delivery_id":"dlv_1","number":2,"trigger":"retry","#,
            r#""started_at":"2026-11-18T09:30:00.125Z","finished_at":"2026-11-18T09:30:00.250Z","#,
            r#""signed_at":"2026-11-18T09:30:00.125Z","url":"https://example.com/hook","remote_address":null,"#,
            r#""tls":"TLSv1.3","body_sha256":"ab","body_bytes":512,"secrets":["deployment"],"status":200,"#,
            r#""outcome":"delivered","answer_sha256":"2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df"}"#,
        );
        assert_eq!(String::from_utf8_lossy(&statement.bytes()), expected);
    }
}
