//! A real mail server that keeps what it is sent, as a process that a test may stop and start.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use engines::{Signal, Tethered};
use serde_json::Value;

use crate::installed::installed;
use crate::{environment, eventually};

const INSTALLER: &str = include_str!("../../../scripts/install-mail-sink");
const SERVER: &str = include_str!("mail-sink.py");

/// How long it may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// A mail as it arrived, decoded.
#[derive(Clone, Debug)]
pub struct Mail {
    pub to: Vec<String>,
    pub from: String,
    pub subject: String,
    pub body: String,
}

/// A running mail server. Dropping it ends it.
#[derive(Debug)]
pub struct MailSink {
    process: Tethered,
    port: u16,
    mails: Arc<Mutex<Vec<Mail>>>,
}

impl MailSink {
    /// On a free port.
    pub fn start() -> anyhow::Result<Self> {
        install()?;
        let mails = Arc::default();
        let (process, port) = launch(0, &mails)?;
        Ok(Self {
            process,
            port,
            mails,
        })
    }

    /// What to set as `mail.smtp_url`.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// Connections are refused from here on.
    pub fn stop(&mut self) {
        self.process.stop(Signal::Terminate, PATIENCE);
    }

    /// Starts it again on the same port; what arrived before is still there.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.stop();
        (self.process, self.port) = launch(self.port, &self.mails)?;
        Ok(())
    }

    /// What has arrived for an address, oldest first.
    pub fn mails_to(&self, address: &str) -> Vec<Mail> {
        let mails = lock(&self.mails);
        let is_for = |mail: &&Mail| mail.to.iter().any(|to| to == address);
        mails.iter().filter(is_for).cloned().collect()
    }

    /// How many have arrived, for whomever.
    pub fn count(&self) -> usize {
        lock(&self.mails).len()
    }

    /// Waits until this many have arrived, for whomever, and returns how many have.
    pub async fn count_after(&self, number: usize, deadline: Duration) -> usize {
        let what = format!("{number} mails");
        eventually(deadline, &what, async || {
            Some(self.count()).filter(|count| *count >= number)
        })
        .await
    }

    /// Waits for the `number`th mail to an address, counted from 1; panics when it has not come
    /// within `deadline`.
    pub async fn wait_for(&self, address: &str, number: usize, deadline: Duration) -> Mail {
        let what = format!("mail {number} for {address}");
        eventually(deadline, &what, async || {
            self.mails_to(address).into_iter().nth(number - 1)
        })
        .await
    }
}

impl Mail {
    /// The secret that its link carries in the fragment.
    pub fn token(&self) -> String {
        let (_, token) = self.body.split_once("#token=").expect("a link in the mail");
        token.split_whitespace().next().unwrap_or("").to_owned()
    }
}

fn launch(port: u16, mails: &Arc<Mutex<Vec<Mail>>>) -> anyhow::Result<(Tethered, u16)> {
    let python = environment::mail_sink_folder()?.join("bin/python");
    let mut process = Tethered::spawn(&python, Signal::Kill, |command| {
        command
            .args(["-c", SERVER, &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
    })
    .with_context(|| format!("start the mail server with {}", python.display()))?;
    let output = process.pipes().stdout.take();
    let mut lines = BufReader::new(output.context("its output is piped")?).lines();
    let first = lines
        .next()
        .context("the mail server ended before it listened")??;
    let port = serde_json::from_str::<Value>(&first)?["port"]
        .as_u64()
        .and_then(|port| u16::try_from(port).ok())
        .context("where the mail server listens")?;
    let mails = Arc::clone(mails);
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let mail = parsed(&line).expect("the mail server writes mails as we read them");
            lock(&mails).push(mail);
        }
    });
    Ok((process, port))
}

fn parsed(line: &str) -> Option<Mail> {
    let mail: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| mail[name].as_str().map(str::to_owned);
    let to = mail["to"].as_array()?.iter();
    Some(Mail {
        to: to
            .map(|one| Some(one.as_str()?.to_owned()))
            .collect::<Option<_>>()?,
        from: text("from")?,
        subject: text("subject")?,
        body: text("body")?,
    })
}

fn install() -> anyhow::Result<PathBuf> {
    let script = &["-c", INSTALLER, "install-mail-sink"];
    installed("the mail server", environment::mail_sink_folder()?, script)
}

fn lock(mails: &Mutex<Vec<Mail>>) -> MutexGuard<'_, Vec<Mail>> {
    mails.lock().unwrap_or_else(PoisonError::into_inner)
}
