//! A terminal in which somebody runs the client commands, and what they read there as a whole.

use std::fs::{self, File};
use std::io::{self, PipeWriter, Read as _, Write as _, pipe};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use testkit::folder::TestFolder;
use testkit::{Watchbell, eventually_blocking};

use crate::deployment::{BINARY, Customer, DEADLINE, SECRET};

/// What differs from run to run, and what is read in its place.
/// As long as what they stand for where that is in a table.
const FILTERS: [(&str, &str); 12] = [
    (
        r"\b(evt|rul|dlv|att|dec|key|rcv|exp|end|org|usr|inv|sec)_[0-9a-z]{26}\b",
        "${1}_00000000000000000000000000",
    ),
    (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
        "YYYY-MM-DDTHH:MM:SS.mmmZ",
    ),
    (r"\d{4}-\d\d-\d\d\b", "YYYY-MM-DD"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"\b(wb_live|whsec|wbt)_[0-9A-Za-z+/=]+", "${1}_TEXT"),
    (r"Request: \S+", "Request: ID"),
    (r#""request_id":"[^"]*""#, r#""request_id":"ID""#),
    (r#""next_cursor":"[^"]*""#, r#""next_cursor":"CURSOR""#),
    (r"\b\d+ ms\b", "N ms"),
    (
        r#""(took_ms|latency_us|queued_ms|body_bytes)":\d+"#,
        r#""$1":N"#,
    ),
    (r"sha256=[0-9a-f]{64}", "sha256=HEX"),
    (r"in \d+ s\b", "in N s"),
];

/// A folder to work in, and variables.
pub(crate) struct Terminal {
    folder: TestFolder,
    variables: Vec<(&'static str, String)>,
}

/// A command that has ended.
pub(crate) struct Said {
    command: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Terminal {
    /// With no variables set.
    pub(crate) fn bare() -> Self {
        Self {
            folder: TestFolder::create().expect("a folder"),
            variables: Vec::new(),
        }
    }

    /// As `watchbell dev` says: with the three variables.
    pub(crate) fn of(customer: &Customer) -> Self {
        Self::bare()
            .with("WATCHBELL_URL", &customer.base_url)
            .with("WATCHBELL_API_KEY", &customer.api_key)
            .with("WATCHBELL_SIGNING_SECRET", SECRET)
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn set(&mut self, name: &'static str, value: &str) {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.to_owned()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .envs(self.variables.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        self.run_with("", arguments)
    }

    /// With this on its standard input.
    pub(crate) fn run_with(&self, input: &str, arguments: &[&str]) -> Said {
        self.run_into(Stdio::piped(), input, arguments)
    }

    /// With this on its standard input, and its standard output there.
    pub(crate) fn run_into(
        &self,
        output: impl Into<Stdio>,
        input: &str,
        arguments: &[&str],
    ) -> Said {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(output)
            .spawn()
            .expect("watchbell starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_owned();
        // A command that reads nothing closes it; that is its business.
        let writing = thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().expect("it ends");
        let _ = writing.join();
        Said {
            command: arguments.join(" "),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Runs it until what it is about is applied: a list says when it is not.
    pub(crate) fn settled(&self, arguments: &[&str]) -> Said {
        eventually_blocking(DEADLINE, "the list is fresh", || {
            let said = self.run(arguments);
            let is_fresh =
                !said.stderr.contains("not listed yet") && !said.stdout.contains("\"fresh\":false");
            is_fresh.then_some(said)
        })
    }

    /// Starts one that goes on.
    pub(crate) fn start(&self, arguments: &[&str]) -> Watchbell {
        let home = self.folder.path().to_str().expect("UTF-8");
        let variables = self
            .variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        let variables = variables.chain([("HOME", home), ("XDG_CONFIG_HOME", "")]);
        Watchbell::spawn(Path::new(BINARY), arguments, variables).expect("watchbell starts")
    }

    /// What was said, as a whole, with what differs taken out.
    pub(crate) fn shown(&self, said: &[Said]) -> String {
        let text: Vec<String> = said.iter().map(Said::shown).collect();
        let folder = self.folder.path().to_str().expect("UTF-8");
        text.join("\n").replace(folder, "FOLDER")
    }
}

impl Said {
    fn shown(&self) -> String {
        let Self {
            command,
            code,
            stdout,
            stderr,
        } = self;
        let code = code.map_or("a signal".to_owned(), |code| code.to_string());
        let beside = if stderr.is_empty() {
            String::new()
        } else {
            format!("[standard error]\n{stderr}")
        };
        format!("$ watchbell {command}\n{stdout}{beside}[exit {code}]\n")
    }
}

/// An output that nobody reads any more.
pub(crate) fn closed() -> PipeWriter {
    let (_, writer) = pipe().expect("a pipe");
    writer
}

/// An output on a disk that is full.
pub(crate) fn full() -> File {
    File::create("/dev/full").expect("a device")
}

/// What becomes of an answer on its way.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Through,
    /// The connection breaks after so many bytes.
    Cut(u64),
    /// A proxy says that it cannot reach the server.
    BadGateway,
}

/// A proxy before a server. `ways` says what becomes of each connection, by its number from 0.
pub(crate) fn proxy(server: &str, ways: impl Fn(usize) -> Way + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = server.trim_start_matches("http://").to_owned();
    thread::spawn(move || {
        for (number, client) in listener.incoming().flatten().enumerate() {
            let (way, server) = (ways(number), server.clone());
            thread::spawn(move || pass_on(client, &server, way));
        }
    });
    format!("http://{address}")
}

fn pass_on(mut client: TcpStream, server: &str, way: Way) {
    let mut asking = client.try_clone().expect("a socket");
    let bytes = match way {
        Way::Through => u64::MAX,
        Way::Cut(bytes) => bytes,
        Way::BadGateway => {
            let answer =
                "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            // Asked first, and taken to the end, so that the answer is read.
            let _ = asking.read(&mut [0]);
            let _ = client.write_all(answer.as_bytes());
            let _ = io::copy(&mut asking, &mut io::sink());
            return;
        }
    };
    let upstream = TcpStream::connect(server).expect("the server");
    let mut asked = upstream.try_clone().expect("a socket");
    thread::spawn(move || {
        let _ = io::copy(&mut asking, &mut asked);
        let _ = asked.shutdown(Shutdown::Both);
    });
    let _ = io::copy(&mut upstream.take(bytes), &mut client);
    let _ = client.shutdown(Shutdown::Both);
}

/// Compares what somebody reads with what they read before, but for what differs each time.
pub(crate) fn reads_as_before(name: &str, text: &str) {
    insta::with_settings!({filters => FILTERS}, { is_as_before(name, text) });
}

/// Compares what somebody reads with what they read before.
pub(crate) fn is_as_before(name: &str, text: &str) {
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!(name, text);
    });
}
