//! `watchbell witness`: somebody else's memory of a log, which a log that rewrites its history cannot get past.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use reqwest::{Client, Response, StatusCode};
use testkit::Watchbell;
use transparency_log::{
    AddCheckpoint, Checkpoint, Edge, Hash, Node, Signature, SignedCheckpoint, SigningKey,
    VerifierKey, consistency_nodes,
};

use crate::cli::{Terminal, reads_as_before};
use crate::deployment::{DEADLINE, http};

pub(crate) const ORIGIN: &str = "log.example/org_1";
const NAME: &str = "witness.example/w1";

/// A log in memory.
#[derive(Clone)]
pub(crate) struct Log {
    key: SigningKey,
    pub(crate) edge: Edge,
    roots: HashMap<Node, Hash>,
}

impl Log {
    pub(crate) fn new(origin: &str) -> Self {
        Self {
            key: SigningKey::from_seed(origin, &[1; 32]).expect("a key"),
            edge: Edge::new(),
            roots: HashMap::new(),
        }
    }

    /// The same log with more entries, all of them this one.
    pub(crate) fn and(&self, count: usize, entry: &str) -> Self {
        let mut grown = self.clone();
        for _ in 0..count {
            let leaf = Hash::of_leaf(entry.as_bytes());
            let roots = &mut grown.roots;
            let appended = grown.edge.append_each(leaf, |node, root| {
                roots.insert(node, *root);
            });
            appended.expect("a leaf more");
        }
        grown
    }

    fn vkey(&self) -> String {
        self.key.verifier_key().to_string()
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint::of(self.key.verifier_key().name(), &self.edge).expect("a checkpoint")
    }

    pub(crate) fn signed(&self) -> SignedCheckpoint {
        SignedCheckpoint::sign(self.checkpoint(), &[&self.key]).expect("signed")
    }

    fn proof(&self, old_size: u64) -> Vec<Hash> {
        let nodes = consistency_nodes(old_size, self.edge.size()).expect("sizes");
        let proof = nodes.prove(|node| self.roots.get(&node).copied());
        proof.expect("all nodes are there")
    }

    /// What the log sends to a witness that saw this size last.
    pub(crate) fn request(&self, old_size: u64) -> String {
        let request = AddCheckpoint::new(old_size, self.proof(old_size), self.signed());
        request.expect("a request").to_string()
    }
}

/// A witness that runs, of one log.
pub(crate) struct Witness<'t> {
    terminal: &'t Terminal,
    vkey: String,
    pub(crate) process: Watchbell,
    pub(crate) url: String,
    http: Client,
}

impl<'t> Witness<'t> {
    pub(crate) fn start(terminal: &'t Terminal, log: &Log) -> Self {
        let (folder, vkey) = (folder(terminal), log.vkey());
        let arguments = [
            "witness",
            "--folder",
            folder.to_str().expect("UTF-8"),
            "--name",
            NAME,
            "--listen",
            "127.0.0.1:0",
            "--log",
            &vkey,
        ];
        let mut process = terminal.start(&arguments);
        let line = process.wait_for_line(DEADLINE, |line| line.contains("listening on"));
        let url = line.rsplit(' ').next().expect("a URL").to_owned();
        Self {
            terminal,
            vkey,
            process,
            url,
            http: http(),
        }
    }

    /// As if the machine had been switched off and on.
    pub(crate) fn killed(mut self, log: &Log) -> Self {
        assert_eq!(self.vkey, log.vkey());
        self.process.kill();
        Self::start(self.terminal, log)
    }

    pub(crate) fn key(&self) -> VerifierKey {
        let folder = folder(self.terminal);
        let folder = folder.to_str().expect("UTF-8");
        let said = self.terminal.run(&["witness", "key", "--folder", folder]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.stdout.trim_end().parse().expect("a vkey")
    }

    pub(crate) async fn post(&self, body: impl Into<reqwest::Body>) -> Response {
        let url = format!("{}add-checkpoint", self.url);
        let sent = self.http.post(url).body(body).send().await;
        sent.expect("an answer")
    }

    /// Posts what must be refused with this status, and returns why.
    pub(crate) async fn refuses(&self, body: impl Into<reqwest::Body>, status: u16) -> String {
        let answer = self.post(body).await;
        let found = answer.status();
        let why = answer.text().await.expect("a body");
        assert_eq!(found, status, "{why}");
        why
    }

    /// Posts what must be cosigned, and verifies that it was.
    pub(crate) async fn cosigns(&self, log: &Log, old_size: u64) {
        let answer = self.post(log.request(old_size)).await;
        let status = answer.status();
        let lines = answer.text().await.expect("a body");
        assert_eq!(status, 200, "{lines}");
        assert_cosigned(log, &lines, &self.key());
    }

    /// The last checkpoint that it cosigned, as anyone can read it.
    pub(crate) async fn last(&self) -> Option<SignedCheckpoint> {
        use sha2::{Digest as _, Sha256};
        let url = format!(
            "{}{}/checkpoint",
            self.url,
            hex::encode(Sha256::digest(ORIGIN))
        );
        let answer = self.http.get(url).send().await.expect("an answer");
        if answer.status() == StatusCode::NOT_FOUND {
            return None;
        }
        assert_eq!(answer.status(), 200);
        let text = answer.text().await.expect("a body");
        Some(text.parse().expect("a checkpoint"))
    }

    fn evidence(&self) -> Vec<PathBuf> {
        let listed = fs::read_dir(folder(self.terminal).join("evidence"));
        let listed = listed.map(|listed| listed.map(|entry| entry.expect("a file").path()));
        listed.map(Iterator::collect).unwrap_or_default()
    }
}

pub(crate) fn folder(terminal: &Terminal) -> PathBuf {
    terminal.path("witness")
}

#[track_caller]
pub(crate) fn assert_cosigned(log: &Log, lines: &str, key: &VerifierKey) {
    let mut signed = log.signed();
    for signature in Signature::parse_lines(lines).expect("signatures") {
        signed.add(signature).expect("one more");
    }
    let cosigned = signed
        .cosigned_by(std::slice::from_ref(key))
        .expect("it verifies");
    assert_eq!(cosigned.len(), 1);
    assert!(cosigned[0].timestamp > Some(1_700_000_000));
}

#[tokio::test]
async fn a_log_that_only_grows_is_cosigned_and_goes_on_after_a_kill() {
    let terminal = Terminal::bare();
    let log = Log::new(ORIGIN);
    let witness = Witness::start(&terminal, &log);
    assert!(witness.last().await.is_none());
    witness.cosigns(&log, 0).await;
    let seven = log.and(7, "a");
    witness.cosigns(&seven, 0).await;
    // Once more, as after an answer that was lost.
    witness.cosigns(&seven, 7).await;
    let many = seven.and(300, "b");
    witness.cosigns(&many, 7).await;
    let key = witness.key();
    let line = witness.process.lines().join("\n");
    assert!(line.contains(&format!("this witness is {key}\n")), "{line}");
    assert!(
        line.contains("  cosigned  log.example/org_1  307 entries"),
        "{line}"
    );

    let witness = witness.killed(&log);
    assert_eq!(witness.key(), key);
    let unaware = witness.post(many.and(1, "c").request(0)).await;
    assert_eq!(unaware.status(), 409);
    assert_eq!(unaware.headers()["content-type"], "text/x.tlog.size");
    assert_eq!(unaware.text().await.expect("a body"), "307\n");
    let more = many.and(1, "c");
    witness.cosigns(&more, 307).await;

    let last = witness.last().await.expect("a checkpoint");
    let log_key = [log.key.verifier_key().clone()];
    assert_eq!(last.verify(ORIGIN, &log_key), Ok(&more.checkpoint()));
    assert_eq!(last.cosigned_by(&[key]).expect("it verifies").len(), 1);
    assert_eq!(witness.evidence(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_log_that_rewrites_its_history_is_refused_and_what_shows_it_is_kept() {
    let terminal = Terminal::bare();
    let log = Log::new(ORIGIN);
    let five = log.and(5, "a");
    let mut witness = Witness::start(&terminal, &log);
    witness.cosigns(&five, 0).await;

    // Smaller: rolled back to a backup.
    let smaller = log.and(4, "a");
    assert_eq!(witness.refuses(smaller.request(4), 409).await, "5\n");
    witness
        .refuses(format!("old 5\n\n{}", smaller.signed()), 400)
        .await;
    // Larger, without the entries that were there.
    let other = log.and(9, "b");
    let why = witness.refuses(other.request(5), 422).await;
    assert!(
        why.contains("does not begin with the entries of the older one"),
        "{why}"
    );
    witness.process.wait_for_line(DEADLINE, |line| {
        line.contains(
            "  ALARM  log.example/org_1 signed a tree of 9 entries, and it was not proven",
        )
    });
    // The same with another proof is the same evidence.
    witness
        .refuses(format!("old 5\n\n{}", other.signed()), 422)
        .await;
    assert_eq!(witness.evidence().len(), 1);

    // As large, and another one; also where it claims to continue what nobody saw.
    let fork = log.and(5, "b");
    assert_eq!(witness.refuses(fork.request(5), 409).await, "5\n");
    assert_eq!(
        witness
            .refuses(log.and(4, "a").and(1, "c").request(4), 409)
            .await,
        "5\n"
    );
    let line = witness.process.wait_for_line(DEADLINE, |line| {
        line.contains("  ALARM  log.example/org_1 signed two different trees of 5 entries")
    });
    let forks: Vec<PathBuf> = witness
        .evidence()
        .into_iter()
        .filter(|file| file.to_str().is_some_and(|name| name.contains("/fork-")))
        .collect();
    assert_eq!(forks.len(), 2);
    assert!(
        forks
            .iter()
            .any(|file| line.contains(file.to_str().expect("UTF-8"))),
        "{line}"
    );
    // It proves itself: both trees, signed by the log.
    let (kept, before) = (fork.request(5), witness.last().await.expect("a checkpoint"));
    let expected = format!("{before}\n{kept}");
    let texts = forks
        .iter()
        .map(|file| fs::read_to_string(file).expect("a file"));
    assert!(texts.into_iter().any(|text| text == expected));

    // Whatever was refused, the log that goes on is cosigned.
    witness.cosigns(&five.and(1, "a"), 5).await;

    // There is an end to what is kept.
    for number in 0..120 {
        let fork = log.and(6, &format!("fork {number}"));
        witness.refuses(fork.request(6), 409).await;
    }
    assert_eq!(witness.evidence().len(), 1 + 100);
    let is_enough = |line: &str| line.contains("enough evidence of this log");
    witness.process.wait_for_line(DEADLINE, is_enough);
    let said = witness.process.lines();
    assert_eq!(said.iter().filter(|line| is_enough(line)).count(), 1);
}

#[tokio::test]
async fn what_is_no_checkpoint_of_a_known_log_is_refused() {
    let terminal = Terminal::bare();
    let log = Log::new(ORIGIN).and(3, "a");
    let witness = Witness::start(&terminal, &log);
    witness
        .refuses(Log::new("log.example/org_2").and(3, "a").request(0), 404)
        .await;
    let stranger = SigningKey::from_seed(ORIGIN, &[2; 32]).expect("a key");
    let by_stranger = Log {
        key: stranger,
        ..log.clone()
    };
    witness.refuses(by_stranger.request(0), 403).await;
    let forged = log.request(0).replace("\n3\n", "\n4\n");
    witness.refuses(forged, 403).await;
    for body in ["", "old 0\n", "old 00\n\n", "old 0\n\nhello\n"] {
        witness.refuses(body, 400).await;
    }
    witness.refuses(vec![0xff], 400).await;

    let hash = Hash::of_empty_tree();
    let with_hashes = |count| {
        let proof = format!("{hash}\n").repeat(count);
        format!("old 1\n{proof}\n{}", log.signed())
    };
    assert_eq!(witness.refuses(with_hashes(63), 409).await, "0\n");
    let why = witness.refuses(with_hashes(64), 400).await;
    assert!(why.contains("more than 63 hashes"), "{why}");
    // At the limit it is read, and one byte more is not.
    let padded = |bytes: usize| {
        let request = log.request(0);
        let padding = "x".repeat(bytes - request.len());
        request.replacen(ORIGIN, &format!("{padding}{ORIGIN}"), 1)
    };
    witness.refuses(padded(64 * 1024), 404).await;
    witness.refuses(padded(64 * 1024 + 1), 413).await;
    let encoded = witness
        .http
        .get(format!("{}..%2Fkey/checkpoint", witness.url));
    assert_eq!(encoded.send().await.expect("an answer").status(), 404);

    assert!(witness.last().await.is_none());
    assert_eq!(witness.evidence(), Vec::<PathBuf>::new());
    witness.cosigns(&log, 0).await;
}

#[tokio::test]
async fn a_folder_belongs_to_one_witness_and_its_key_to_its_owner() {
    let terminal = Terminal::bare();
    let log = Log::new(ORIGIN).and(1, "a");
    let vkey = log.vkey();
    let run = |more: &[&str]| {
        let arguments = ["witness", "--folder", "witness", "--listen", "127.0.0.1:0"];
        terminal.run(&[&arguments[..], more].concat())
    };
    let nameless = run(&["--log", &vkey]);
    let misnamed = run(&["--log", &vkey, "--name", "two words"]);
    let witness = Witness::start(&terminal, &log);
    witness.cosigns(&log, 0).await;
    let second = run(&["--log", &vkey]);
    let own_vkey = witness.key().to_string();
    drop(witness);
    let renamed = run(&["--log", &vkey, "--name", "witness.example/w2"]);
    let no_log = run(&["--log", &own_vkey]);
    let damaged = run(&["--log", "log.example/org_1+00000000+AAAA"]);
    let key_file = folder(&terminal).join("key");
    let mode = fs::metadata(&key_file)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    fs::set_permissions(&key_file, Permissions::from_mode(0o640)).expect("opened");
    let open = run(&["--log", &vkey]);
    fs::set_permissions(&key_file, Permissions::from_mode(0o600)).expect("closed");
    let memory = folder(&terminal).join("checkpoints");
    fs::rename(&memory, terminal.path("away")).expect("moved");
    let forgot = run(&["--log", &vkey]);
    fs::rename(terminal.path("away"), &memory).expect("moved back");
    fs::remove_file(&key_file).expect("deleted");
    let keyless = run(&["--log", &vkey, "--name", NAME]);
    let nobody = terminal.run(&["witness", "key", "--folder", "nowhere"]);
    let said = [
        nameless, misnamed, second, renamed, no_log, damaged, open, forgot, keyless, nobody,
    ];
    let text = terminal.shown(&said).replace(&own_vkey, "WITNESS_VKEY");
    reads_as_before("witness", &text);
}
