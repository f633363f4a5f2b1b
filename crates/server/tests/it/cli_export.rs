//! `watchbell export`: a whole file or none.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use sha2::{Digest as _, Sha256};

use crate::cli::{Said, Terminal, reads_as_before};
use crate::cli_events::lines;
use crate::deployment::{Deployment, Running};

const EVENTS: usize = 1_500;

/// Passes connections on to a server and ends the answer after some bytes.
fn cutting(server: &str, bytes: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = server.trim_start_matches("http://").to_owned();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let upstream = TcpStream::connect(&server).expect("the server");
            let (mut asking, mut asked) = (
                client.try_clone().expect("a socket"),
                upstream.try_clone().expect("a socket"),
            );
            thread::spawn(move || std::io::copy(&mut asking, &mut asked));
            let (mut client, mut answer) = (client, Vec::new());
            let _ = upstream.take(bytes as u64).read_to_end(&mut answer);
            let _ = client.write_all(&answer);
            let _ = client.shutdown(Shutdown::Both);
        }
    });
    format!("http://{address}")
}

fn names(terminal: &Terminal) -> Vec<String> {
    let entries = fs::read_dir(terminal.path("")).expect("a folder").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    // Held by the test itself.
    names.retain(|name| name != "lock");
    names
}

#[test]
fn an_export_is_whole_or_there_is_no_file() {
    let running = Running::start(Deployment::new());
    let terminal = Terminal::of(&running.customer);
    assert_eq!(
        terminal.run_with(&lines(EVENTS), &["events", "send"]).code,
        Some(0)
    );
    terminal.settled(&["events", "list", "--limit", "1"]);

    let whole = terminal.run(&[
        "export",
        "--type",
        "tool_call",
        "--to",
        "all.ndjson",
        "-o",
        "json",
    ]);
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    let file = fs::read(terminal.path("all.ndjson")).expect("a file");
    assert_eq!(
        file.split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .count(),
        EVENTS + 1
    );
    let said: serde_json::Value = serde_json::from_str(&whole.stdout).expect("JSON");
    assert_eq!(
        (&said["events"], &said["bytes"]),
        (&EVENTS.into(), &file.len().into())
    );
    assert_eq!(said["sha256"], hex::encode(Sha256::digest(&file)));

    for (format, compression, name) in [
        ("csv", "gzip", "x.csv.gz"),
        ("parquet", "zstd", "x.parquet"),
        ("json", "none", "x.json"),
        ("ndjson", "zstd", "x.ndjson.zst"),
    ] {
        let said = terminal.run(&[
            "export",
            "--type",
            "tool_call",
            "--format",
            format,
            "--compression",
            compression,
            "--to",
            name,
        ]);
        assert_eq!(said.code, Some(0), "{format}: {}", said.stderr);
        assert!(
            said.stdout
                .starts_with(&format!("{name}: {EVENTS} events, ")),
            "{}",
            said.stdout
        );
        fs::remove_file(terminal.path(name)).expect("a file");
    }
    fs::remove_file(terminal.path("all.ndjson")).expect("a file");

    let few = [
        "export", "--agent", "agent-7", "--agent", "agent-8", "--result", "denied",
    ];
    let to_stdout = terminal.run(&[&few[..], &["--to", "-"]].concat());
    assert_eq!(
        (to_stdout.code, to_stdout.stdout.lines().count()),
        (Some(0), 3)
    );
    let said: Vec<Said> = [
        few.to_vec(),
        few.to_vec(),
        [&few[..], &["--to", "none/x"]].concat(),
    ]
    .iter()
    .map(|arguments| terminal.run(arguments))
    .collect();
    let text = terminal.shown(&said);
    let text = text.replace(
        &hex::encode(Sha256::digest(
            fs::read(terminal.path("audit-events.ndjson")).expect("a file"),
        )),
        "HEX",
    );
    reads_as_before("export", &text);
    fs::remove_file(terminal.path("audit-events.ndjson")).expect("a file");

    // Cut off in the first event, and in the middle.
    for bytes in [1_000, 10_000] {
        let url = cutting(&running.customer.base_url, bytes);
        for format in ["ndjson", "csv", "parquet"] {
            let said = terminal.run(&["export", "--url", &url, "--format", format, "--to", "cut"]);
            assert_eq!(said.code, Some(1), "{bytes} {format}: {}", said.stdout);
            assert!(
                said.stderr.contains("nothing is kept of it"),
                "{}",
                said.stderr
            );
            assert_eq!(names(&terminal), Vec::<String>::new());
        }
    }
}
