//! How long it takes to verify an export: `cargo run --release -p trail-proof --example verify_speed FILE [EVENTS]`.
//!
//! The file is made if it is not there, so a second run shows how much memory verifying takes.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;
use std::time::Instant;

use trail_proof::export::{Header, Trust, Writer, ids, verify};
use trail_proof::leaf::{Commitment, Kind, Leaf, Salt};
use transparency_log::{Checkpoint, Edge, Hash, SignedCheckpoint, SigningKey};

const ORIGIN: &str = "log.example/org_1";
const EVENT_BYTES: usize = 700;

#[allow(clippy::print_stdout, reason = "that is what it is for")]
fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("a file");
    let events = arguments.next();
    let events: u64 = events.map_or(1_000_000, |text| text.parse().expect("a number"));
    let key = SigningKey::from_seed(ORIGIN, &[1; 32]).expect("a key");
    if !Path::new(&path).exists() {
        fs::write(&path, made(events, &key)).expect("a place to write");
    }

    let trust = Trust {
        keys: vec![key.verifier_key().clone()],
        ..Trust::default()
    };
    let began = Instant::now();
    let file = BufReader::new(File::open(path).expect("it was made"));
    let mut bytes = 0;
    let report = verify(file, trust, |read| bytes = read);
    let took = began.elapsed();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let events = report.counts.events;
    let each = took.as_nanos() / u128::from(events.max(1));
    println!("{events} events, {bytes} bytes: {took:.1?}, {each} ns each");
}

fn made(events: u64, key: &SigningKey) -> Vec<u8> {
    let mut edge = Edge::new();
    let mut body = Vec::new();
    let mut writer = Writer::default();
    for index in 0..events {
        let (leaf, salt, stored) = event(index);
        edge.append(Hash::of_leaf(&leaf)).expect("it fits");
        writer.record(Kind::Event, &leaf, salt, &stored, &mut body);
    }
    writer.end(&mut body);

    let checkpoint = Checkpoint::of(ORIGIN, &edge).expect("a checkpoint");
    let header = Header {
        made_at: "2026-11-18T10:00:00.000Z".to_owned(),
        origin: ORIGIN.to_owned(),
        checkpoint: SignedCheckpoint::sign(checkpoint, &[key]).expect("a note"),
        keys: vec![key.verifier_key().to_string()],
        first: 0,
        end: events,
        filter: None,
        before: Vec::new(),
        after: Vec::new(),
    };
    let mut file = Vec::new();
    Writer::begin(&header, &mut file);
    file.append(&mut body);
    file
}

fn event(index: u64) -> ([u8; 66], Salt, String) {
    let id = u128::from(index).to_be_bytes();
    let salt = Salt(u128::from(index * 7).to_le_bytes());
    let name = ids::encode(Kind::Event, id);
    let mut stored = format!(
        r#"{{"id":"{name}","received_at":"2026-11-18T09:46:40.007Z","source":"key_1","occurred_at":"2026-11-18T09:46:40.000Z","event_type":"tool_call","agent_id":"billing","action":"files.read","result":"success","metadata":{{"#
    );
    let mut member = 0;
    while stored.len() < EVENT_BYTES - 30 {
        write!(stored, r#""member_{member}":"value {member}","#).expect("a text");
        member += 1;
    }
    stored.push_str(r#""last":1}}"#);
    let leaf = Leaf {
        kind: Kind::Event,
        id,
        occurred_ms: 1_794_995_200_000,
        received_ms: 1_794_995_200_007,
        commitment: Commitment::to(salt, stored.as_bytes()),
    };
    (leaf.encode(), salt, stored)
}
