//! The processes that a command leaves behind, or does not.

use std::fs;

use testkit::eventually_blocking;

use crate::deployment::DEADLINE;

/// Its children and theirs.
pub(crate) fn descendants(ancestor: u32) -> Vec<Running> {
    let all = processes();
    let mut found: Vec<Running> = Vec::new();
    loop {
        let is_below = |one: &&(Running, u32)| {
            let (process, parent) = *one;
            let is_known = found.contains(process);
            let is_child = *parent == ancestor || found.iter().any(|known| known.pid == *parent);
            is_child && !is_known
        };
        let Some((process, _)) = all.iter().find(is_below) else {
            return found;
        };
        found.push(*process);
    }
}

/// A process that has not ended; its start tells it from a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    pid: u32,
    started: u64,
}

/// Every process that has not ended, with its parent.
fn processes() -> Vec<(Running, u32)> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let process = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name in parentheses may hold anything; after it come state, parent and so on.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let (state, parent, started) = (fields[0], fields[1], fields[19]);
        let has_ended = state == "Z" || state == "X";
        let started = started.parse().ok()?;
        (!has_ended).then_some((Running { pid, started }, parent.parse().ok()?))
    };
    entries.filter_map(process).collect()
}

pub(crate) fn wait_until_gone(engines: &[Running]) {
    eventually_blocking(DEADLINE, "no engine is left", || {
        let all = processes();
        let left: Vec<Running> = engines
            .iter()
            .filter(|engine| all.iter().any(|(process, _)| process == *engine))
            .copied()
            .collect();
        if left.is_empty() { Ok(()) } else { Err(left) }
    });
}
