//! The server and its witnesses: checkpoints are cosigned a moment after they are signed, and a witness that is away, restored or
//! lying costs nothing but its cosignature.

use std::{process::Command, slice, time::Duration};

use serde_json::Value;
use testkit::{Answer, Receiver, Watchbell, eventually, folder::TestFolder};
use transparency_log::{AddCheckpoint, Cosigner, SignedCheckpoint, VerifierKey};

use crate::{
    cli::Terminal,
    deployment::{Customer, DEADLINE, Deployment, http},
    proven_exports::{Audit, codes},
    transparency::{Auditor, kept_in, send},
};

/// How soon after an event there is a checkpoint that has it and is cosigned.
const PROMISED: Duration = Duration::from_secs(5);

/// A witness on somebody else's machine: a process, its folder, and where it listens.
pub(crate) struct Watcher {
    process: Option<Watchbell>,
    terminal: Terminal,
    name: String,
    logs: Vec<String>,
    address: String,
    pub(crate) key: VerifierKey,
}

impl Watcher {
    pub(crate) fn of(name: &str, log: &str) -> Self {
        let terminal = Terminal::bare();
        let (logs, listen) = (vec![log.to_owned()], "127.0.0.1:0");
        let mut process = start(&terminal, name, &logs, listen);
        let said = |process: &mut Watchbell, what: &str| {
            let line = process.wait_for_line(DEADLINE, |line| line.contains(what));
            line.rsplit(' ').next().expect("a word").to_owned()
        };
        let key = said(&mut process, "this witness is");
        let url = said(&mut process, "listening on");
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        Self {
            process: Some(process),
            address: address.to_owned(),
            key: key.parse().expect("a key"),
            name: name.to_owned(),
            terminal,
            logs,
        }
    }

    /// As an operator sets it.
    pub(crate) fn setting(&self) -> String {
        format!("http://{} {}", self.address, self.key)
    }

    fn kill(&mut self) {
        self.process.take().expect("it runs").kill();
    }

    fn start_again(&mut self) {
        let mut process = start(&self.terminal, &self.name, &self.logs, &self.address);
        process.wait_for_line(DEADLINE, |line| line.contains("listening on"));
        self.process = Some(process);
    }

    fn cp(&self, from: &str, to: &str) {
        let (from, to) = (self.terminal.path(from), self.terminal.path(to));
        let copied = Command::new("cp").arg("-r").arg(from).arg(to).status();
        assert!(copied.expect("cp runs").success());
    }

    /// What it has kept of the log that contradicts what it saw, by the names of the files.
    pub(crate) fn evidence(&self) -> Vec<String> {
        let folder = self.terminal.path("witness").join("evidence");
        let listed = std::fs::read_dir(folder).into_iter().flatten();
        let name = |entry: std::fs::DirEntry| entry.file_name().into_string().expect("UTF-8");
        listed.map(|entry| name(entry.expect("a file"))).collect()
    }

    fn has_cosigned(&mut self) {
        let process = self.process.as_mut().expect("it runs");
        process.wait_for_line(DEADLINE, |said| said.contains("  cosigned  "));
    }
}

fn start(terminal: &Terminal, name: &str, logs: &[String], listen: &str) -> Watchbell {
    let folder = terminal.path("witness");
    let folder = folder.to_str().expect("UTF-8");
    let mut arguments = vec![
        "witness", "--folder", folder, "--name", name, "--listen", listen,
    ];
    for log in logs {
        arguments.extend(["--log", log]);
    }
    terminal.start(&arguments)
}

/// A log that witnesses watch.
pub(crate) struct Scene {
    // In this order: the process ends before its database and its files go.
    pub(crate) server: Watchbell,
    pub(crate) customer: Customer,
    pub(crate) deployment: Deployment,
    pub(crate) folder: TestFolder,
    /// The log's key.
    pub(crate) log: String,
    /// How many events were sent.
    pub(crate) sent: u64,
}

impl Scene {
    /// A log of one event, which nobody watches yet.
    pub(crate) async fn of_a_log() -> Self {
        let folder = TestFolder::create().expect("a folder");
        let deployment = kept_in(&folder);
        let mut server = deployment.serve("api,index");
        let customer = deployment.customer(&mut server);
        send(&customer, 1).await;
        let log = Auditor::of(&customer).await.key();
        Self {
            server,
            customer,
            deployment,
            folder,
            log,
            sent: 1,
        }
    }

    /// The server is stopped and started with these witnesses.
    pub(crate) fn is_watched_by(&mut self, settings: &[String]) {
        self.server.terminate(DEADLINE);
        let settings = settings.join(", ");
        self.deployment.set("TRANSPARENCY__WITNESSES", &settings);
        self.start();
    }

    pub(crate) fn start(&mut self) {
        self.server = self.deployment.serve("api,index");
        self.customer = self.customer.at(&mut self.server);
    }

    pub(crate) async fn send(&mut self, count: usize) {
        send(&self.customer, count).await;
        self.sent += count as u64;
    }

    /// The checkpoint that is shown now.
    pub(crate) async fn checkpoint(&self) -> SignedCheckpoint {
        let answer = self.customer.get("/v1/log/checkpoint").await;
        let text = answer.text().await.expect("a text");
        text.parse().expect("a checkpoint")
    }

    /// Waits until a checkpoint with everything that was sent has the cosignatures of all these witnesses.
    pub(crate) async fn is_cosigned_by(&self, keys: &[&VerifierKey], within: Duration) {
        let what = format!("a cosigned checkpoint of {} entries", self.sent);
        eventually(within, &what, async || {
            let checkpoint = self.checkpoint().await;
            let has_all = checkpoint.unverified().size() >= self.sent;
            (has_all && keys.iter().all(|key| has(&checkpoint, key))).then_some(())
        })
        .await;
    }

    /// How a witness is with the log, by its name.
    pub(crate) async fn standing(&self, name: &str) -> Value {
        let list = self.customer.get_json("/v1/log/witnesses").await;
        let mut witnesses = list["witnesses"].as_array().expect("a list").iter();
        let found = witnesses.find(|one| one["name"] == name);
        found.expect("it is listed").clone()
    }

    pub(crate) async fn stands(&self, name: &str, state: &str) -> Value {
        eventually(DEADLINE, &format!("{name} is {state}"), async || {
            let standing = self.standing(name).await;
            (standing["state"] == state).then_some(standing)
        })
        .await
    }
}

fn has(checkpoint: &SignedCheckpoint, key: &VerifierKey) -> bool {
    let by = checkpoint.cosigned_by(slice::from_ref(key));
    by.expect("it verifies").len() == 1
}

#[tokio::test]
async fn what_happened_is_cosigned_within_five_seconds_and_exports_carry_it() {
    let mut scene = Scene::of_a_log().await;
    let watcher = Watcher::of("w.example/1", &scene.log);
    scene.is_watched_by(&[watcher.setting()]);
    scene.is_cosigned_by(&[&watcher.key], DEADLINE).await;
    for _ in 0..3 {
        scene.send(20).await;
        scene.is_cosigned_by(&[&watcher.key], PROMISED).await;
    }
    let standing = scene.standing("w.example/1").await;
    assert_eq!(standing["state"], "cosigning");
    assert_eq!(standing["verifier"], watcher.key.to_string());
    assert!(standing["size"].as_u64() >= Some(61), "{standing}");
    assert!(standing["cosigned_at"].is_string(), "{standing}");
    assert!(standing["silent_since"].is_null(), "{standing}");

    // While something new happens all the time, whatever is shown is cosigned.
    let audit = Audit::of(&scene.customer).await;
    let key = watcher.key.to_string();
    for round in 0..5 {
        scene.send(1).await;
        let checkpoint = scene.checkpoint().await;
        assert!(has(&checkpoint, &watcher.key), "{checkpoint}");
        let file = format!("{round}.bundle");
        audit.export(&file, &[]);
        let report = audit.report(&file, &["--witness", &key]);
        assert_eq!(report["verdict"], "proven", "{report}");
        let leaves = report["counts"]["leaves"].as_u64();
        assert!(leaves >= Some(scene.sent), "{report}");
    }
    let events = scene.customer.get_json("/v1/audit/events?limit=1").await;
    let id = events["data"][0]["id"]
        .as_str()
        .expect("an event")
        .to_owned();
    let path = format!("/v1/audit/events/{id}/proof");
    let proof = eventually(DEADLINE, "it is in the log", async || {
        let proof = scene.customer.get(&path).await;
        proof.status().is_success().then_some(proof)
    })
    .await;
    let proof = proof.text().await.expect("a text");
    assert!(proof.contains("\u{2014} w.example/1 "), "{proof}");
}

#[tokio::test]
async fn of_two_witnesses_one_dies_and_the_other_cosigns_while_the_log_goes_on() {
    let mut scene = Scene::of_a_log().await;
    let watchers = ["w.example/1", "w.example/2"].map(|name| Watcher::of(name, &scene.log));
    let settings: Vec<String> = watchers.iter().map(Watcher::setting).collect();
    scene.is_watched_by(&settings);
    let [lives, mut dies] = watchers;
    scene
        .is_cosigned_by(&[&lives.key, &dies.key], DEADLINE)
        .await;

    dies.kill();
    for _ in 0..3 {
        scene.send(10).await;
        scene.is_cosigned_by(&[&lives.key], PROMISED).await;
    }
    assert!(!has(&scene.checkpoint().await, &dies.key));
    let standing = scene.stands("w.example/2", "away").await;
    assert!(standing["silent_since"].is_string(), "{standing}");
    assert_eq!(scene.standing("w.example/1").await["state"], "cosigning");

    // It catches up, with whatever it missed, although nothing more happens.
    dies.start_again();
    scene
        .is_cosigned_by(&[&lives.key, &dies.key], DEADLINE)
        .await;
    let standing = scene.stands("w.example/2", "cosigning").await;
    assert!(standing["size"].as_u64() >= Some(scene.sent), "{standing}");
    assert!(standing["silent_since"].is_null(), "{standing}");
}

#[tokio::test]
async fn a_witness_that_remembers_less_than_it_signed_is_told_the_way_from_there() {
    let mut scene = Scene::of_a_log().await;
    let mut watcher = Watcher::of("w.example/1", &scene.log);
    scene.is_watched_by(&[watcher.setting()]);
    scene.is_cosigned_by(&[&watcher.key], DEADLINE).await;
    watcher.kill();
    watcher.cp("witness", "old");
    watcher.start_again();
    scene.send(300).await;
    scene.is_cosigned_by(&[&watcher.key], DEADLINE).await;

    // Its folder is that of before, which nobody should do; the log does not know.
    watcher.kill();
    std::fs::remove_dir_all(watcher.terminal.path("witness")).expect("deleted");
    watcher.cp("old", "witness");
    watcher.start_again();
    scene.send(300).await;
    scene.is_cosigned_by(&[&watcher.key], DEADLINE).await;
    assert_eq!(watcher.evidence(), Vec::<String>::new());
}

#[tokio::test]
async fn liars_are_not_believed_and_cost_the_others_nothing() {
    let mut scene = Scene::of_a_log().await;
    let honest = Watcher::of("honest.example/1", &scene.log);
    let mut settings = vec![honest.setting()];
    let mut liars = Vec::new();
    let another = Cosigner::from_seed("another.example/1", &[9; 32]).expect("a key");
    for (number, (name, state)) in LIES.into_iter().enumerate() {
        let number = u8::try_from(number).expect("few");
        let own = Cosigner::from_seed(name, &[number; 32]).expect("a key");
        let receiver = Receiver::start().expect("a receiver");
        settings.push(format!("{} {}", receiver.url(), own.verifier_key()));
        let (lie, another) = (name, another.clone());
        receiver.answer_by(move |request| {
            let asked = str::from_utf8(&request.body).expect("UTF-8");
            let asked = AddCheckpoint::parse(asked).expect("a request");
            tell(lie, &own, &another, &asked)
        });
        liars.push((receiver, name, state));
    }
    scene.is_watched_by(&settings);
    scene.is_cosigned_by(&[&honest.key], DEADLINE).await;
    for (receiver, name, state) in &liars {
        scene.stands(name, state).await;
        assert!(receiver.count() > 0, "{name}");
    }
    for _ in 0..3 {
        scene.send(10).await;
        scene.is_cosigned_by(&[&honest.key], PROMISED).await;
    }
    let checkpoint = scene.checkpoint().await;
    // The log's and the honest witness's.
    assert_eq!(checkpoint.note().signatures().len(), 2, "{checkpoint}");
}

/// What the liars do, by their names, and as what it is shown.
const LIES: [(&str, &str); 11] = [
    ("garbage.example/1", "not_believed"),
    ("endless.example/1", "not_believed"),
    ("somebody-else.example/1", "not_believed"),
    ("another-tree.example/1", "not_believed"),
    ("sizes.example/1", "refused"),
    // They saw another tree of this size, one of them without saying so.
    ("fork.example/1", "inconsistent"),
    ("silent-fork.example/1", "inconsistent"),
    ("no-size.example/1", "not_believed"),
    ("redirect.example/1", "refused"),
    ("broken.example/1", "away"),
    ("silent.example/1", "away"),
];

fn tell(lie: &str, own: &Cosigner, another: &Cosigner, asked: &AddCheckpoint) -> Answer {
    let cosigned = |by: &Cosigner, checkpoint: &transparency_log::Checkpoint| {
        let signature = by.cosign(checkpoint, 1_790_000_000).expect("signed");
        Answer::status(200).body(format!("{signature}\n"))
    };
    let checkpoint = asked.checkpoint().unverified();
    match lie.split('.').next() {
        Some("garbage") => Answer::status(200).body("<html>It works!</html>"),
        Some("endless") => Answer::status(200).endless(1 << 30),
        Some("somebody-else") => cosigned(another, checkpoint),
        Some("another-tree") => {
            let (origin, root) = (checkpoint.origin(), *checkpoint.root());
            let other = transparency_log::Checkpoint::new(origin, checkpoint.size() + 1, root);
            cosigned(own, &other.expect("a checkpoint"))
        }
        Some("sizes") => {
            let size = u64::from(asked.old_size() == 0);
            Answer::status(409).body(format!("{size}\n"))
        }
        Some("silent-fork") if asked.old_size() == checkpoint.size() => Answer::status(409),
        Some("fork" | "silent-fork") => {
            Answer::status(409).body(format!("{}\n", checkpoint.size()))
        }
        Some("no-size") => Answer::status(409).body("-1\n"),
        Some("redirect") => Answer::status(307).header("location", "http://127.0.0.1:1/"),
        Some("broken") => Answer::hang_up(),
        _ => Answer::never(),
    }
}

#[tokio::test]
async fn a_server_that_is_killed_before_it_has_the_cosignature_asks_again() {
    let mut scene = Scene::of_a_log().await;
    let mut watcher = Watcher::of("w.example/1", &scene.log);
    // The witness is asked, and its answer is held back.
    let between = Receiver::start().expect("a receiver");
    let url = format!("http://{}/add-checkpoint", watcher.address);
    between.answer_by(move |request| {
        let (url, body) = (url.clone(), request.body.clone());
        let asking = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            let client = http();
            runtime.block_on(async move { client.post(url).body(body).send().await })
        });
        asking.join().expect("it ends").expect("an answer");
        Answer::never()
    });
    scene.is_watched_by(&[format!("{} {}", between.url(), watcher.key)]);
    watcher.has_cosigned();
    scene.server.kill();
    let setting = watcher.setting();
    scene.deployment.set("TRANSPARENCY__WITNESSES", &setting);
    scene.start();
    assert!(scene.standing("w.example/1").await["size"].is_null());
    scene.is_cosigned_by(&[&watcher.key], DEADLINE).await;
}

#[tokio::test]
async fn an_auditor_is_told_when_no_witness_cosigns() {
    let mut scene = Scene::of_a_log().await;
    let mut watcher = Watcher::of("w.example/1", &scene.log);
    scene.is_watched_by(&[watcher.setting()]);
    scene.is_cosigned_by(&[&watcher.key], DEADLINE).await;
    watcher.kill();
    scene.send(10).await;
    let audit = Audit::of(&scene.customer).await;
    audit.export("alone.bundle", &[]);
    let report = audit.report("alone.bundle", &["--witness", &watcher.key.to_string()]);
    assert_eq!(codes(&report, "findings"), ["witness_missing"]);
    // Everything else is proven as it was.
    assert!(audit.is_proven("alone.bundle")["counts"]["leaves"].as_u64() >= Some(scene.sent));
    // An operator, too, once it has been for a minute: as if that had passed.
    scene.stands("w.example/1", "away").await;
    scene.deployment.sql(
        "UPDATE transparency_witnesses SET problem_since = problem_since - interval '2 minutes'",
    );
    let mut doctor = scene.deployment.command(&["doctor"]);
    doctor.wait_for_line(DEADLINE, |line| {
        line.contains("FAIL  witnesses") && line.contains("w.example/1 does not cosign (away)")
    });
    let server = &mut scene.server;
    server.wait_for_line(DEADLINE, |line| {
        line.contains("a witness does not cosign; see")
    });
    let metrics = http().get(format!("{}/metrics", scene.customer.base_url));
    let metrics = metrics.send().await.expect("an answer").text().await;
    let metrics = metrics.expect("a text");
    let name = "watchbell_transparency_witness_lag_seconds{witness=\"w.example/1\"} ";
    let lag = metrics.lines().find_map(|line| line.strip_prefix(name));
    let lag: f64 = lag.expect("it is there").parse().expect("a number");
    assert!(lag > 120.0, "{lag}");
    // The newest checkpoint is shown after a while, as it is.
    eventually(DEADLINE, "the log goes on", async || {
        let checkpoint = scene.checkpoint().await;
        checkpoint.unverified().size() >= scene.sent && !has(&checkpoint, &watcher.key)
    })
    .await;
}
