//! Every case of `vectors/`, which were computed by another implementation.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use webhook_signature::{
    NEXT_SIGNATURE_HEADER, PREVIOUS_SIGNATURE_HEADER, Refusal, SIGNATURE_HEADER, TIMESTAMP_HEADER,
    Verifier, sign, standard,
};

#[test]
fn every_service_case_is_answered_as_expected() {
    let file = read(include_str!("../vectors/service.json"), "service");
    for case in &file.cases {
        let timestamp = case.header(TIMESTAMP_HEADER);
        let signatures = [
            SIGNATURE_HEADER,
            PREVIOUS_SIGNATURE_HEADER,
            NEXT_SIGNATURE_HEADER,
        ]
        .map(|name| case.header(name));
        let (body, now) = (case.body_bytes(), case.now());

        let verifier = Verifier::new(&case.secrets);
        case.check(verifier.verify_any(timestamp, &signatures, &body, now));

        // The two functions differ only in how many signatures they look at.
        if signatures[1..].iter().all(Option::is_none) {
            case.check(verifier.verify(timestamp, signatures[0], &body, now));
        }
        if case.is_accepted() {
            let signs = |secret: &String| {
                let made = sign(secret.as_bytes(), timestamp.unwrap_or_default(), &body);
                signatures.contains(&Some(made.as_str()))
            };
            assert!(
                case.secrets.iter().any(signs),
                "{}: sign() gives another value",
                case.name
            );
        }
    }
}

#[test]
fn every_standard_webhooks_case_is_answered_as_expected() {
    let file = read(include_str!("../vectors/standard.json"), "standard");
    for case in &file.cases {
        let keys: Vec<_> = case
            .secrets
            .iter()
            .map(|secret| standard::Key::parse(secret).expect("vectors hold whsec_ secrets"))
            .collect();
        let id = case.header(standard::ID_HEADER);
        let timestamp = case.header(standard::TIMESTAMP_HEADER);
        let signatures = case.header(standard::SIGNATURE_HEADER);
        let body = case.body_bytes();

        case.check(standard::verify(
            &keys,
            id,
            timestamp,
            signatures,
            &body,
            case.now(),
        ));

        if case.is_accepted() {
            let (id, signatures) = (id.unwrap_or_default(), signatures.unwrap_or_default());
            let seconds = timestamp
                .unwrap_or_default()
                .parse()
                .expect("accepted, so a number");
            let signs = |key| {
                let made = standard::sign(key, id, seconds, &body);
                signatures.split(' ').any(|signature| signature == made)
            };
            assert!(
                keys.iter().any(signs),
                "{}: sign() gives another value",
                case.name
            );
        }
    }
}

#[derive(Deserialize)]
struct File {
    version: u32,
    scheme: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(rename = "why")]
    _why: String,
    secrets: Vec<String>,
    now_unix_ms: u64,
    headers: HashMap<String, String>,
    body: Option<String>,
    body_base64: Option<String>,
    expect: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    status: u16,
    code: String,
}

fn read(json: &str, scheme: &str) -> File {
    let file: File = serde_json::from_str(json).expect("the vectors have the documented format");
    assert_eq!((file.version, file.scheme.as_str()), (1, scheme));
    assert!(!file.cases.is_empty());
    file
}

impl Case {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    fn body_bytes(&self) -> Vec<u8> {
        match (&self.body, &self.body_base64) {
            (Some(text), None) => text.clone().into_bytes(),
            (None, Some(encoded)) => BASE64.decode(encoded).expect("body_base64 is base64"),
            _ => panic!("{}: exactly one of body and body_base64", self.name),
        }
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.now_unix_ms)
    }

    fn is_accepted(&self) -> bool {
        self.expect.code == "accepted"
    }

    fn check(&self, answer: Result<(), Refusal>) {
        let (status, code) = match answer {
            Ok(()) => (200, "accepted"),
            Err(refusal) => (refusal.http_status(), refusal.code()),
        };
        assert_eq!(
            (status, code),
            (self.expect.status, self.expect.code.as_str()),
            "{}",
            self.name
        );
    }
}
