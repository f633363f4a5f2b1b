//! `watchbell witness`: somebody else's memory of a transparency log.
//!
//! A log's operator could show an auditor one tree and everybody else another, or roll back and start again. A witness runs on a
//! machine that this operator does not control. It keeps the last tree of each log that it signed for, and cosigns only what
//! continues that tree (C2SP tlog-witness). It needs no server, no configuration and no network but the log's requests.
//!
//! What holds, whatever crashes: of one log, a witness never cosigns two trees of the same size, nor one that does not continue
//! the other. The new tree is on disk before the cosignature is sent (`memory`), requests for a log wait for each other, and a folder
//! belongs to one process (`folder`). What does not hold: a folder that is restored from a backup has forgotten what was signed
//! since. A witness must not be restored; start a new one.
//!
//! | file | what |
//! |---|---|
//! | `serve` | HTTP, with limits |
//! | `cosign` | what is answered to a checkpoint |
//! | `logs` | which logs, and by which keys they sign |
//! | `memory` | the last checkpoint of each log |
//! | `evidence` | what a log should not have signed |
//! | `key` | the witness's own key |
//! | `folder` | where all that is kept, and writing it so that it stays |

mod cosign;
mod evidence;
mod folder;
mod key;
mod logs;
mod memory;
mod serve;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use tokio::net::TcpListener;
use transparency_log::VerifierKey;

use self::{cosign::Witness, folder::Folder, logs::Logs};
use crate::{
    exit::{self, usage},
    machine,
    output::{note, say},
    stop::Stop,
};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Run {
    #[command(subcommand)]
    command: Option<Command>,
    /// Where the witness keeps its key and what it saw. Created if missing. Never restore it from a backup.
    // Not required with a subcommand, which has its own.
    #[arg(long, value_name = "DIR", required = true)]
    folder: Option<PathBuf>,
    /// The witness's name, such as `witness.example.com/watchbell`. Needed once, when its key is made.
    #[arg(long)]
    name: Option<String>,
    /// Address to listen on; port 0 picks a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9090")]
    listen: SocketAddr,
    /// Public key of a log to cosign for, from its operator. Can be repeated.
    #[arg(long = "log", value_name = "VKEY", value_parser = logs::key, required_unless_present = "logs")]
    log_keys: Vec<VerifierKey>,
    /// A file with such keys, one per line. Lines that start with # are skipped.
    #[arg(long, value_name = "FILE")]
    logs: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the witness's public key, for auditors and for the log's operator.
    Key {
        /// The witness's folder.
        #[arg(long, value_name = "DIR")]
        folder: PathBuf,
    },
}

impl Run {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(Command::Key { folder }) = self.command {
            say(key::read(&folder)?.verifier_key())?;
            return Ok(exit::DONE);
        }
        let mut stop = Stop::listen()?;
        let logs = Logs::new(self.log_keys, self.logs.as_deref())?;
        let folder = self.folder.context(usage("--folder is missing"))?;
        let folder = Folder::open(folder)?;
        let cosigner = key::read_or_make(&folder, self.name.as_deref(), &machine::random())?;
        let listener = TcpListener::bind(self.listen).await.with_context(|| {
            format!(
                "cannot listen on {}; choose another address with --listen",
                self.listen
            )
        })?;
        note(format_args!(
            "watchbell: this witness is {}",
            cosigner.verifier_key()
        ));
        note(format_args!("watchbell: cosigning for {}", logs.counted()));
        note(format_args!(
            "watchbell: listening on http://{}/",
            listener.local_addr()?
        ));
        let witness = Witness::new(cosigner, logs, folder);
        tokio::select! {
            () = serve::serve(listener, witness) => {}
            () = stop.asked() => {}
        }
        Ok(exit::DONE)
    }
}
