//! Redis as far as the limiter knows it: what the three scripts do, on a clock that the simulation sets.

use std::collections::{BTreeMap, HashMap};

/// Who may be admitted how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) count: usize,
    pub(crate) window_ms: u64,
}

/// The admissions under one key, the oldest first.
#[derive(Clone, Debug, Default)]
struct List {
    admitted_at: Vec<u64>,
    expires_at: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Redis {
    lists: HashMap<String, List>,
    heard_of: BTreeMap<String, u64>,
    /// The process and the name of the data.
    epoch: Option<(u64, String)>,
    run: u64,
}

impl Redis {
    /// `exact.lua`: how many are granted, how many more would be, and in how many microseconds one more would be.
    pub(crate) fn decide(
        &mut self,
        key: &str,
        rule: Rule,
        now_us: u64,
        wanted: usize,
    ) -> (usize, usize, u64) {
        let list = self.list(key, now_us / 1_000);
        let (mut now_us, mut now) = (now_us, now_us / 1_000);
        if let Some(newest) = list.admitted_at.last().filter(|newest| **newest > now) {
            (now, now_us) = (*newest, *newest * 1_000);
        }
        list.admitted_at.retain(|at| at + rule.window_ms > now);
        let free = rule.count.saturating_sub(list.admitted_at.len());
        let granted = wanted.min(free);
        if granted > 0 {
            list.admitted_at.extend(std::iter::repeat_n(now, granted));
            list.expires_at = now_us / 1_000 + rule.window_ms;
        }
        let surplus = list.admitted_at.len().saturating_sub(rule.count);
        let oldest = list.admitted_at.get(surplus);
        let frees_at = oldest.map_or(now_us, |oldest| *oldest * 1_000) + rule.window_ms * 1_000;
        (granted, free - granted, frees_at - now_us)
    }

    /// `restore.lua`, for admissions so many milliseconds ago.
    pub(crate) fn restore(&mut self, key: &str, rule: Rule, now_us: u64, ages_ms: &[u64]) -> usize {
        let list = self.list(key, now_us / 1_000);
        let newest = list.admitted_at.last().copied().unwrap_or_default();
        let now = newest.max(now_us / 1_000);
        let known = list.admitted_at.len();
        let counted = ages_ms.iter().filter(|age| **age < rule.window_ms);
        list.admitted_at.extend(counted.map(|age| now - age));
        let restored = list.admitted_at.len() - known;
        if restored > 0 {
            list.admitted_at.sort_unstable();
            let surplus = list.admitted_at.len().saturating_sub(rule.count);
            list.admitted_at.drain(..surplus);
            list.expires_at = now_us / 1_000 + rule.window_ms;
        }
        restored
    }

    /// `heartbeat.lua`: the name of the data, and how many nodes were heard of.
    pub(super) fn heartbeat(
        &mut self,
        node: &str,
        new_epoch: &str,
        gone_after_ms: u64,
        now_us: u64,
    ) -> (String, usize) {
        let now = now_us / 1_000;
        self.heard_of.insert(node.to_owned(), now);
        self.heard_of.retain(|_, at| *at + gone_after_ms > now);
        if self.epoch.as_ref().is_none_or(|(run, _)| *run != self.run) {
            self.epoch = Some((self.run, new_epoch.to_owned()));
        }
        let epoch = self.epoch.as_ref().map(|(_, epoch)| epoch.clone());
        (epoch.unwrap_or_default(), self.heard_of.len())
    }

    /// The name of the data, if they have one.
    pub(super) fn epoch(&self) -> Option<&str> {
        let (run, epoch) = self.epoch.as_ref()?;
        (*run == self.run).then_some(epoch.as_str())
    }

    /// `FLUSHALL`.
    pub(super) fn flush(&mut self) {
        self.lists.clear();
        self.heard_of.clear();
        self.epoch = None;
    }

    /// Another process, which begins with these data.
    pub(super) fn restart(&mut self, from: Self) {
        let run = self.run + 1;
        *self = Self { run, ..from };
    }

    /// How many admissions it knows of in the epoch of now.
    pub(super) fn admissions(&self) -> usize {
        let epoch = format!(":{}:", self.epoch().unwrap_or_default());
        let lists = self.lists.iter().filter(|(key, _)| key.contains(&epoch));
        lists.map(|(_, list)| list.admitted_at.len()).sum()
    }

    fn list(&mut self, key: &str, now: u64) -> &mut List {
        let list = self.lists.entry(key.to_owned()).or_default();
        if list.expires_at <= now {
            list.admitted_at.clear();
        }
        list
    }
}
