//! `watchbell export`: a whole file or none.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::process::Command;
use std::thread;

use sha2::{Digest as _, Sha256};

use crate::cli::{Said, Terminal, Way, closed, full, proxy, reads_as_before};
use crate::cli_events::lines;
use crate::deployment::{Deployment, Running};

const EVENTS: usize = 1_500;

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
        "--file",
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
            "--file",
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
    // What the name says is what is in it.
    let named = terminal.run(&[&few[..], &["--file", "few.csv"]].concat());
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    let csv = fs::read_to_string(terminal.path("few.csv")).expect("a file");
    assert!(csv.starts_with("id,occurred_at,"), "{csv}");
    fs::remove_file(terminal.path("few.csv")).expect("a file");
    let to_stdout = terminal.run(&[&few[..], &["--file", "-"]].concat());
    assert_eq!(
        (to_stdout.code, to_stdout.stdout.lines().count()),
        (Some(0), 3)
    );
    let lost = [&few[..], &["--file", "-"]].concat();
    for said in [
        terminal.run_into(closed(), "", &lost),
        terminal.run_into(full(), "", &lost),
    ] {
        assert_eq!(said.code, Some(1), "{}", said.stderr);
        assert!(said.stderr.contains("do not use"), "{}", said.stderr);
    }
    // What is no file stays what it is.
    let pipe = terminal.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let reading = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).expect("text")
    });
    let said = terminal.run(&[&few[..], &["--file", "pipe"]].concat());
    assert_eq!((said.code, &*said.stdout), (Some(0), ""), "{}", said.stderr);
    assert_eq!(reading.join().expect("read"), to_stdout.stdout);
    let kind = fs::metadata(&pipe).expect("there").file_type();
    assert!(kind.is_fifo());
    fs::remove_file(pipe).expect("there");
    let said: Vec<Said> = [
        few.to_vec(),
        few.to_vec(),
        [&few[..], &["--file", "none/x"]].concat(),
        [&few[..], &["--file", "x.csv", "--format", "ndjson"]].concat(),
        [&few[..], &["--file", "x.csv", "--compression", "gzip"]].concat(),
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
        let url = proxy(&running.customer.base_url, move |_| Way::Cut(bytes));
        for format in ["ndjson", "csv", "parquet"] {
            let said =
                terminal.run(&["export", "--url", &url, "--format", format, "--file", "cut"]);
            assert_eq!(said.code, Some(1), "{bytes} {format}: {}", said.stdout);
            assert!(said.stderr.contains("no file was kept"), "{}", said.stderr);
            assert_eq!(names(&terminal), Vec::<String>::new());
        }
    }
}
