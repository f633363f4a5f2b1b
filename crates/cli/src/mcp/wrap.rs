//! `watchbell mcp wrap`: the client starts this command, and this command starts the MCP server.

use std::{
    process::{ExitCode, Stdio},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use tokio::{
    io::BufReader,
    process::{Child, Command},
    select,
    time::timeout,
};

use super::{call::Session, guard::Guard, lines, options::Options, pump::Pump, recorder::Recorder};
use crate::{
    exit::{self, usage},
    machine::random,
    server::KEY_VARIABLE,
    stop::Stop,
};

/// How long the server may take to end once its input has; clients wait as long before they end it by force (MCP, shutdown).
const END_MAX: Duration = Duration::from_secs(2);
/// How much of the server's output is read at a time.
const BUFFER_BYTES: usize = 64 * 1024;

#[derive(Debug, Args)]
pub struct Wrap {
    #[command(flatten)]
    options: Options,
    /// The command that runs the MCP server, and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Wrap {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let mut stop = Stop::listen()?;
        let (recorder, recording) = Recorder::start(self.options.address.api()?);
        let guard = Guard::new(&self.options, recorder)?;
        let mut server = self.start()?;
        let input = server.stdin.take().context("its input is piped")?;
        let output = server.stdout.take().context("its output is piped")?;
        let (to_client, written) = lines::to_stdout()?;
        let session = Session {
            id: session_id(),
            ..Session::default()
        };
        let pump = Arc::new(Pump::new(guard, session, to_client, input));

        let from_client = Arc::clone(&pump).from_client(lines::of_stdin()?);
        let from_server =
            Arc::clone(&pump).from_server(BufReader::with_capacity(BUFFER_BYTES, output));
        tokio::pin!(from_server);
        select! {
            () = from_client => {
                let _ = timeout(END_MAX, &mut from_server).await;
            }
            () = &mut from_server => {}
            () = stop.asked() => {}
        }
        pump.close();
        let code = end(&mut server).await;
        // The last of the pump, the writer and the recorder: each ends when nobody has anything more for it.
        drop(pump);
        let _ = timeout(END_MAX, written).await;
        recording.finish().await;
        Ok(code)
    }

    fn start(&self) -> anyhow::Result<Child> {
        let (program, arguments) = self
            .command
            .split_first()
            .context(usage("there is no command"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            // It is whose calls are guarded; it must not speak for the agent.
            .env_remove(KEY_VARIABLE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let started = command.spawn();
        started.with_context(|| exit::invalid(format!("cannot start {program}")))
    }
}

/// Names a run of the guard.
pub(super) fn session_id() -> String {
    format!("mcp-{}", hex::encode(random::<12>()))
}

/// How the server ended, once it has.
async fn end(server: &mut Child) -> ExitCode {
    let ended = match timeout(END_MAX, server.wait()).await {
        Ok(ended) => ended.ok(),
        Err(_) => {
            // It may have ended at this moment.
            let _ = server.kill().await;
            return exit::DONE;
        }
    };
    let code = ended.and_then(|status| status.code()).unwrap_or_default();
    u8::try_from(code).map_or(exit::FAILED, ExitCode::from)
}
