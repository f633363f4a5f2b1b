//! Sequencers that work on the same logs at the same time, without a lease: there is one order, and nothing is lost or doubled.

use std::{collections::HashSet, sync::Arc};

use archive::{Bucket, bucket::S3Options};
use deliver::secrets::seal::Vault;
use domain::{EventId, OrgId, Timestamp, partition::Partitions};
use secrecy::SecretString;
use store::{
    Store,
    events::EventRow,
    watermark::{Source, Span},
};
use testkit::{Database, folder::TestFolder};
use trail_proof::leaf::Salt;
use transparency_log::{Edge, Hash, SignedCheckpoint};
use uuid::Uuid;

use super::{
    files::LogFiles,
    sequencer::{Sequencer, Tools},
};
use crate::system_clock;

const SEALING_KEY: &str = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const BATCHES: u32 = 60;
const BATCH_EVENTS: u32 = 23;

fn partitions() -> Partitions {
    Partitions::new(1).expect("one")
}

fn tools(database: &Database, folder: &TestFolder) -> Tools {
    let store = Store::new(database.url(), 8).expect("a store");
    let url = format!("file://{}", folder.path().display());
    let key = SecretString::from(SEALING_KEY);
    Tools {
        store: store.with_transparency_log(partitions()),
        bucket: Bucket::open(&url, &S3Options::default()).expect("a folder"),
        vault: Arc::new(Vault::open(Some(&key), None).expect("a vault")),
        clock: system_clock::SYSTEM,
        host: "watchbell.example".to_owned(),
    }
}

/// Writes events of an organization, batch by batch.
async fn write(store: &Store, org: OrgId) {
    let mut index = store.event_index().await.expect("an index");
    let source = Source {
        stream: format!("EVENTS of {org}"),
        created: "once".to_owned(),
    };
    for batch in 0..BATCHES {
        let rows: Vec<EventRow<'_>> = (0..BATCH_EVENTS)
            .map(|number| row(org, batch * BATCH_EVENTS + number))
            .collect();
        let from = u64::from(batch);
        let applied = index.apply(&source, Span::new(from, from + 1), &rows);
        applied.await.expect("applied");
    }
}

fn row(org: OrgId, number: u32) -> EventRow<'static> {
    let at = Timestamp::from_unix_millis(1_790_000_000_000 + i64::from(number));
    let mut random = [0; 10];
    random[..4].copy_from_slice(&number.to_be_bytes());
    EventRow {
        org,
        id: EventId::new(at, random),
        received_at: at,
        event_type: "tool_call",
        agent_id: "agent",
        action: "files.delete",
        result: "denied",
        severity: None,
        session_id: None,
        trace_id: None,
        decision_id: None,
        source: None,
        json: "{}",
        salt: Salt([7; 16]),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sequencers_that_work_at_the_same_time_make_one_log() {
    let database = Database::from_template_async("store", migrate);
    let database = database.await.expect("a database");
    let folder = TestFolder::create().expect("a folder");
    let tools = tools(&database, &folder);
    let orgs = [1, 2].map(|number| OrgId::from_uuid(Uuid::from_u128(number)));
    let partition = partitions().of(orgs[0]);
    let sequencers = [(); 3].map(|()| Sequencer::new(tools.clone(), partition));
    let all = u64::from(BATCHES * BATCH_EVENTS);
    let mut signed: [Vec<SignedCheckpoint>; 2] = Default::default();
    let sequence = async |sequencer: &Sequencer| {
        loop {
            // One that loses a race goes on in the next round.
            let _ = sequencer.round().await;
            let mut done = 0;
            for org in orgs {
                let log = tools.store.transparency_log(org).await.expect("an answer");
                done += u64::from(log.is_some_and(|log| log.size == all));
            }
            if done == 2 {
                return;
            }
        }
    };
    let watch = async {
        while signed.iter().any(|seen| {
            seen.last()
                .is_none_or(|last| last.unverified().size() < all)
        }) {
            for (org, seen) in orgs.iter().zip(&mut signed) {
                let log = tools.store.transparency_log(*org).await.expect("an answer");
                let note = log.and_then(|log| log.checkpoint);
                seen.extend(note.map(|note| SignedCheckpoint::parse(&note).expect("a checkpoint")));
            }
        }
    };
    tokio::join!(
        write(&tools.store, orgs[0]),
        write(&tools.store, orgs[1]),
        sequence(&sequencers[0]),
        sequence(&sequencers[1]),
        sequence(&sequencers[2]),
        watch,
    );
    for (org, seen) in orgs.into_iter().zip(&signed) {
        check(&tools, org, all, seen).await;
    }
}

/// The steps are one chain, every record is in it once, and everything that was ever signed is a beginning of it.
async fn check(tools: &Tools, org: OrgId, all: u64, signed: &[SignedCheckpoint]) {
    let bucket = &tools.bucket;
    let files = LogFiles { bucket, org };
    let mut signed = signed.iter().map(SignedCheckpoint::unverified).peekable();
    let (mut edge, mut leaves) = (Edge::new(), HashSet::new());
    for from in files.steps().await.expect("steps").into_keys() {
        assert_eq!(
            from,
            edge.size(),
            "a step goes on where the one before ended"
        );
        let step = files.step(from).await.expect("readable").expect("there");
        for leaf in step.leaves.iter() {
            edge.append(Hash::of_leaf(leaf)).expect("room");
            assert!(leaves.insert(*leaf), "a leaf twice");
            while let Some(one) = signed.next_if(|one| one.size() == edge.size()) {
                assert_eq!(*one.root(), edge.root());
            }
        }
        assert_eq!(step.root, edge.root());
    }
    assert_eq!(edge.size(), all);
    assert!(signed.next().is_none(), "what was signed is in the chain");
}

async fn migrate(url: String) -> anyhow::Result<()> {
    let store = Store::for_command(&url, 1)?;
    store.migrate().await?;
    Ok(())
}
