//! `watchbell witness` when it is killed, its answer is lost, or its memory is damaged: it never cosigns a second history.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use testkit::{Dice, eventually};

use crate::cli::Terminal;
use crate::deployment::{DEADLINE, http};
use crate::witness::{Log, ORIGIN, Witness, assert_cosigned, folder};

const SEED: u64 = 26;

/// The moment that matters: the tree is remembered, and nobody has the cosignature yet.
#[tokio::test]
async fn a_cosignature_that_nobody_received_still_binds_the_witness() {
    let terminal = Terminal::bare();
    let log = Log::new(ORIGIN).and(4, "a");
    let witness = Witness::start(&terminal, &log);
    let address = witness
        .url
        .trim_start_matches("http://")
        .trim_end_matches('/');
    let body = log.request(0);
    let mut stream = TcpStream::connect(address).expect("the witness");
    let head = "POST /add-checkpoint HTTP/1.1\r\nHost: witness\r\nContent-Length:";
    write!(stream, "{head} {}\r\n\r\n{body}", body.len()).expect("sent");
    // Nobody reads the answer.
    eventually(DEADLINE, "it is remembered", async || witness.last().await).await;
    let witness = witness.killed(&log);
    drop(stream);
    let fork = Log::new(ORIGIN).and(4, "b");
    assert_eq!(witness.refuses(fork.request(0), 409).await, "4\n");
    assert_eq!(witness.refuses(fork.request(4), 409).await, "4\n");
    witness.cosigns(&log, 4).await;
}

/// The cosignatures, if it was cosigned; `None` where no answer came.
async fn cosigned_by(url: &str, tree: &Log, old_size: u64) -> Option<Option<String>> {
    let request = http().post(url).body(tree.request(old_size));
    let answer = request.send().await.ok()?;
    let is_cosigned = answer.status() == 200;
    let lines = answer.text().await.ok()?;
    Some(is_cosigned.then_some(lines))
}

/// A log that shows two trees at once, and a witness that is killed at any moment.
#[tokio::test]
async fn of_two_trees_one_is_cosigned_whenever_the_witness_is_killed() {
    const ROUNDS: u64 = 12;
    let terminal = Terminal::bare();
    let mut dice = Dice(SEED);
    let mut log = Log::new(ORIGIN).and(1, "first");
    let mut witness = Witness::start(&terminal, &log);
    let key = witness.key();
    // How long a request takes on this machine: the moments are to be within it.
    let asked = Instant::now();
    let url = format!("{}add-checkpoint", witness.url);
    let first = cosigned_by(&url, &log, 0).await.flatten();
    assert_cosigned(&log, &first.expect("cosigned"), &key);
    let takes = asked.elapsed();
    let mut cut_off = 0;
    for round in 0..ROUNDS {
        let old_size = log.edge.size();
        let trees = ["left", "right"].map(|side| log.and(1, &format!("{side} {round}")));
        let url = format!("{}add-checkpoint", witness.url);
        let moment = takes * dice.below(1_000_u32) / 1_000;
        let killing = tokio::task::spawn_blocking(move || {
            // waits for: any moment of two requests; those of tokio are whole milliseconds
            thread::sleep(moment);
            witness.process.kill();
        });
        let (left, right, killed) = tokio::join!(
            cosigned_by(&url, &trees[0], old_size),
            cosigned_by(&url, &trees[1], old_size),
            killing
        );
        killed.expect("killed");
        witness = Witness::start(&terminal, &log);
        let mut cosigned = [false; 2];
        for ((tree, answer), cosigned) in trees.iter().zip([left, right]).zip(&mut cosigned) {
            match answer {
                Some(Some(lines)) => {
                    assert_cosigned(tree, &lines, &key);
                    *cosigned = true;
                }
                Some(None) => {}
                None => cut_off += 1,
            }
        }
        // Whoever was not answered asks again.
        for (tree, cosigned) in trees.iter().zip(&mut cosigned) {
            let last = witness.last().await.expect("a checkpoint");
            let answer = witness.post(tree.request(last.unverified().size())).await;
            match answer.status().as_u16() {
                200 => *cosigned = true,
                409 => assert!(!*cosigned, "round {round}: it was cosigned before"),
                other => panic!("round {round}: {other}"),
            }
        }
        assert_ne!(cosigned[0], cosigned[1], "round {round}");
        let [left, right] = trees;
        log = if cosigned[0] { left } else { right };
    }
    assert!(
        cut_off > 0,
        "it was never killed in the middle of a request"
    );
}

#[tokio::test]
async fn a_memory_that_was_damaged_is_not_taken_for_none() {
    let terminal = Terminal::bare();
    let log = Log::new(ORIGIN).and(3, "a");
    let mut witness = Witness::start(&terminal, &log);
    witness.cosigns(&log, 0).await;
    let listed = fs::read_dir(folder(&terminal).join("checkpoints")).expect("a folder");
    let files: Vec<PathBuf> = listed.map(|entry| entry.expect("a file").path()).collect();
    let [file] = &files[..] else {
        panic!("{files:?}");
    };
    let whole = fs::read_to_string(file).expect("a file");
    let forged = Log::new(ORIGIN).and(3, "b").signed().to_string();
    for damaged in ["", &whole[..whole.len() / 2], &forged] {
        fs::write(file, damaged).expect("written");
        for old_size in [0, 3] {
            witness.refuses(log.request(old_size), 500).await;
        }
    }
    witness.process.wait_for_line(DEADLINE, |line| {
        line.contains("is not what this witness wrote")
    });
    fs::write(file, whole).expect("written");
    witness.cosigns(&log, 3).await;
}
