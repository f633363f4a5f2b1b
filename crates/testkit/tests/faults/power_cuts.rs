//! The real engines on a disk that loses power: what they acknowledged is there, if they were told to sync.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use engines::{Nats, NatsOptions, Postgres, PostgresOptions};
use testkit::{Dice, Disk, environment, eventually_blocking};

use crate::disks::disk;

const DEADLINE: Duration = Duration::from_secs(20);
const CUTS: usize = 4;
const EACH: usize = 20;

#[test]
fn postgresql_has_every_row_that_it_committed() {
    let Some((_folder, disk)) = disk() else {
        return;
    };
    let binaries = environment::binaries().expect("engines").postgres;
    let options = PostgresOptions::default();
    let mut postgres =
        Postgres::start(&disk.path().join("postgres"), &binaries, &options).expect("it starts");
    // What `initdb` made, it did not sync.
    disk.sync();
    postgres
        .query("CREATE TABLE kept (value int, filler text)")
        .expect("created");
    let mut dice = Dice(25);
    for cut in 1..=CUTS {
        for value in 0..EACH {
            let sql = format!("INSERT INTO kept VALUES ({value}, repeat('x', 1000))");
            postgres.query(&sql).expect("committed");
        }
        postgres.kill();
        cut_power(&disk, cut, &mut dice);
        postgres.restart().expect("it recovers");
        let rows = postgres.query("SELECT count(*), count(DISTINCT value) FROM kept");
        assert_eq!(rows.expect("counted"), format!("{}|{EACH}", cut * EACH));
    }
}

#[test]
fn nats_has_every_message_that_it_acknowledged_when_it_syncs_always() {
    let Some((_folder, disk)) = disk() else {
        return;
    };
    let mut nats = nats(&disk.path().join("nats"));
    // Its settings are ours, and not synced.
    disk.sync();
    let mut client = Client::connect(&nats);
    client.create_stream();
    let mut dice = Dice(25);
    let mut before = 0;
    for cut in 1..=CUTS {
        let acknowledged = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while client.publish().is_ok() {
                    acknowledged.fetch_add(1, Ordering::SeqCst);
                }
            });
            eventually_blocking(DEADLINE, "some are acknowledged", || {
                acknowledged.load(Ordering::SeqCst) >= EACH
            });
            // While one is on its way.
            nats.kill();
        });
        cut_power(&disk, cut, &mut dice);
        nats.restart().expect("it recovers");
        client = Client::connect(&nats);
        let messages = client.messages().expect("a stream");
        let added = messages - before;
        let acknowledged = acknowledged.into_inner();
        assert!(
            added == acknowledged || added == acknowledged + 1,
            "{added} of {acknowledged}"
        );
        before = messages;
    }
}

#[test]
fn nats_that_does_not_sync_loses_what_it_acknowledged() {
    let Some((_folder, disk)) = disk() else {
        return;
    };
    let mut nats = nats(&disk.path().join("nats"));
    nats.stop();
    let config = disk.path().join("nats/nats.conf");
    let text = fs::read_to_string(&config).expect("there");
    let text = text.replace("sync_interval: always", "sync_interval: 10m");
    fs::write(&config, text).expect("written");
    nats.restart().expect("it starts");
    let mut client = Client::connect(&nats);
    client.create_stream();
    client.publish().expect("acknowledged");
    disk.sync();
    for _ in 1..EACH {
        client.publish().expect("acknowledged");
    }
    nats.kill();
    disk.cut_power();
    nats.restart().expect("it recovers");
    assert_eq!(Client::connect(&nats).messages(), Some(1));
    assert!(disk.lost_bytes() > 0);
}

/// Every other time, some of what was not synced is there.
fn cut_power(disk: &Disk, cut: usize, dice: &mut Dice) {
    if cut.is_multiple_of(2) {
        disk.cut_power_torn(dice);
    } else {
        disk.cut_power();
    }
}

fn nats(folder: &Path) -> Nats {
    let binary = environment::binaries().expect("engines").nats;
    Nats::start(folder, &binary, &NatsOptions::default()).expect("it starts")
}

/// Just enough of NATS's protocol to ask and hear the answer.
struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    fn connect(nats: &Nats) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", nats.port())).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("set");
        let mut stream = BufReader::new(stream);
        stream
            .get_mut()
            .write_all(b"CONNECT {\"verbose\":false}\r\nSUB answers 1\r\n")
            .expect("sent");
        Self { stream }
    }

    fn create_stream(&mut self) {
        let config = r#"{"name":"KEPT","subjects":["kept"],"storage":"file"}"#;
        let made = self.ask("$JS.API.STREAM.CREATE.KEPT", config);
        let made = made.expect("an answer");
        assert!(made.contains("\"did_create\":true"), "{made}");
    }

    fn publish(&mut self) -> io::Result<()> {
        let acknowledged = self.ask("kept", &"x".repeat(1_000))?;
        assert!(acknowledged.contains("\"seq\":"), "{acknowledged}");
        Ok(())
    }

    /// How many the stream has, or `None` if there is no stream.
    fn messages(&mut self) -> Option<usize> {
        let facts = self.ask("$JS.API.STREAM.INFO.KEPT", "");
        let facts = facts.expect("an answer");
        let facts: serde_json::Value = serde_json::from_str(&facts).expect("JSON");
        usize::try_from(facts["state"]["messages"].as_u64()?).ok()
    }

    fn ask(&mut self, subject: &str, body: &str) -> io::Result<String> {
        let length = body.len();
        let request = format!("PUB {subject} answers {length}\r\n{body}\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if line.starts_with("PING") {
                self.stream.get_mut().write_all(b"PONG\r\n")?;
            }
            if line.starts_with("MSG") {
                let length = line.split_whitespace().next_back().expect("a length");
                let mut answer = vec![0; length.parse().expect("a number")];
                self.stream.read_exact(&mut answer)?;
                return Ok(String::from_utf8(answer).expect("text"));
            }
            assert!(!line.starts_with("-ERR"), "{line}");
        }
    }
}
