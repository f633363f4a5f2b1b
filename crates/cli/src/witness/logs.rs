//! The logs that a witness cosigns for, by the origin in their checkpoints, each with the keys that it may sign with.

use std::{collections::HashMap, path::Path, str::FromStr as _, sync::Arc};

use anyhow::Context as _;
use tokio::sync::Mutex;
use transparency_log::{Algorithm, VerifierKey};

use crate::{exit::invalid, input, output::counted};

/// All of them.
#[derive(Debug)]
pub(super) struct Logs(HashMap<String, Arc<Log>>);

#[derive(Debug, Default)]
pub(super) struct Log {
    /// More than one while the log replaces its key.
    pub(super) keys: Vec<VerifierKey>,
    /// Held while a checkpoint is compared and stored: two at once could both continue the same tree.
    pub(super) lock: Arc<Mutex<()>>,
}

impl Logs {
    /// Those of the arguments, and those in the file.
    pub(super) fn new(arguments: Vec<VerifierKey>, file: Option<&Path>) -> anyhow::Result<Self> {
        let mut keys = arguments;
        if let Some(file) = file {
            let text = input::text(file)?;
            for (number, line) in (1..).zip(text.lines().map(str::trim)) {
                if !line.is_empty() && !line.starts_with('#') {
                    let key = key(line).map_err(anyhow::Error::msg);
                    keys.push(
                        key.with_context(|| invalid(format!("{}, line {number}", file.display())))?,
                    );
                }
            }
            anyhow::ensure!(
                !keys.is_empty(),
                invalid(format!("{} has no keys", file.display()))
            );
        }
        let mut logs: HashMap<String, Log> = HashMap::new();
        for key in keys {
            let log = logs.entry(key.name().to_owned()).or_default();
            if !log.keys.contains(&key) {
                log.keys.push(key);
            }
        }
        let shared = logs
            .into_iter()
            .map(|(origin, log)| (origin, Arc::new(log)));
        Ok(Self(shared.collect()))
    }

    pub(super) fn get(&self, origin: &str) -> Option<Arc<Log>> {
        self.0.get(origin).cloned()
    }

    /// How many, in words.
    pub(super) fn counted(&self) -> String {
        counted(self.0.len() as u64, "log")
    }
}

/// A log's key, whose name is the log's origin; for clap too.
pub(super) fn key(text: &str) -> Result<VerifierKey, String> {
    let key = VerifierKey::from_str(text).map_err(|error| error.to_string())?;
    match key.algorithm() {
        Algorithm::Ed25519 => Ok(key),
        Algorithm::CosignatureV1 => Err(format!(
            "{} is the key of a witness, not of a log",
            key.name()
        )),
    }
}

#[cfg(test)]
mod tests {
    use transparency_log::{Cosigner, SigningKey};

    use super::*;

    #[test]
    fn a_log_may_have_two_keys_and_a_witness_is_no_log() {
        let vkey = |name: &str, seed| {
            let key = SigningKey::from_seed(name, &[seed; 32]).expect("a key");
            key.verifier_key().to_string()
        };
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("logs");
        let (old, new, other) = (vkey("a/1", 1), vkey("a/1", 2), vkey("b/2", 1));
        let text = format!("# ours\n\n{old}\n  {new}\n{old}\n{other}\n");
        std::fs::write(&file, text).expect("written");
        let logs = Logs::new(Vec::new(), Some(&file)).expect("logs");
        assert_eq!(logs.counted(), "2 logs");
        assert_eq!(logs.get("a/1").expect("a log").keys.len(), 2);
        assert!(logs.get("a").is_none());

        let witness = Cosigner::from_seed("w/1", &[3; 32]).expect("a key");
        let witness = witness.verifier_key().to_string();
        std::fs::write(&file, format!("{old}\n{witness}\n")).expect("written");
        let error = Logs::new(Vec::new(), Some(&file)).expect_err("refused");
        let said = format!("{error:#}");
        assert!(
            said.contains("line 2: w/1 is the key of a witness"),
            "{said}"
        );
        std::fs::write(&file, "# none yet\n").expect("written");
        assert!(Logs::new(Vec::new(), Some(&file)).is_err());
    }
}
