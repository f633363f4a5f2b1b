//! A process whose clock jumps while it runs, and nobody else's does.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testkit::Clock;

use crate::can_be_had;

/// Says every 50 ms how late it is, and for how long it has run.
const TELLS_TIME: &str = "
import select, time
started = time.monotonic()
while True:
    print(time.time(), time.monotonic() - started, flush=True)
    select.select([], [], [], 0.05)
";

#[test]
fn a_clock_jumps_while_its_process_runs_and_durations_do_not() {
    if !can_be_had("a clock that jumps", Clock::unavailable()) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Clock::new(folder.path()).expect("a clock");
    let mut process = Command::new("python3")
        .args(["-c", TELLS_TIME])
        .envs(clock.variables())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let started = Instant::now();
    let mut lines = BufReader::new(process.stdout.take().expect("piped")).lines();
    let mut told = || {
        let line = lines.next().expect("it goes on").expect("a line");
        let (time, ran) = line.split_once(' ').expect("both");
        let ran = Duration::from_secs_f64(ran.parse().expect("seconds"));
        assert!(ran <= started.elapsed(), "{line}");
        let time: f64 = time.parse().expect("seconds");
        time - seconds_now()
    };
    assert!(told().abs() < 60.0, "it is right so far");
    for by_s in [3_600, -3_600] {
        clock.shift(by_s).expect("shifted");
        let deadline = Instant::now() + Duration::from_secs(20);
        let by = f64::from(i32::try_from(by_s).expect("small"));
        while (told() - by).abs() > 60.0 {
            assert!(Instant::now() < deadline, "no jump of {by_s} s was seen");
        }
    }
    process.kill().expect("killed");
    process.wait().expect("gone");
}

fn seconds_now() -> f64 {
    #[expect(clippy::disallowed_methods, reason = "the machine's own clock")]
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH);
    since.expect("after 1970").as_secs_f64()
}
