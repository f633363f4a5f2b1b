//! `watchbell mcp wrap`: the client starts this command, and this command starts the MCP server.

use std::{
    os::unix::process::ExitStatusExt as _,
    process::{ExitCode, Stdio},
    sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use tokio::{
    io::{AsyncBufRead, BufReader},
    process::{Child, Command},
    select,
    time::timeout,
};

use super::{
    call::Session,
    guard::Guard,
    lines,
    options::Options,
    pump::{OutputEnd, Pump},
    recorder::Recorder,
};
use crate::{
    exit::{self, usage},
    machine::{our_variables, random},
    stop::Stop,
};

/// How long the server may take to end once its input has; clients wait as long before they end it by force (MCP, shutdown).
const END_MAX: Duration = Duration::from_secs(2);
/// What a shell adds to the number of the signal that a program was ended by.
const SIGNALED: i32 = 128;
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
        let output = BufReader::with_capacity(BUFFER_BYTES, output);
        let (to_client, written) = lines::to_stdout()?;
        let session = Session {
            id: session_id(),
            ..Session::default()
        };
        let pump = Arc::new(Pump::new(guard, session, to_client, input));
        let output_end = converse(&pump, output, &mut stop).await?;
        pump.close();
        // The last of the pump, the writer and the recorder: each ends when nobody has anything more for it.
        drop(pump);
        let code = end(&mut server, output_end).await;
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
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        // It is whose calls are guarded; it must not speak for the agent, or read its webhooks.
        for name in our_variables() {
            command.env_remove(name);
        }
        let started = command.spawn();
        started.with_context(|| exit::invalid(format!("cannot start {program}")))
    }
}

/// Names a run of the guard.
pub(super) fn session_id() -> String {
    format!("mcp-{}", hex::encode(random::<12>()))
}

/// Until the client or the server has no more to say, or somebody asks the guard to end. Then the server is told, and what it says yet
/// passes.
async fn converse(
    pump: &Arc<Pump>,
    output: impl AsyncBufRead + Unpin,
    stop: &mut Stop,
) -> anyhow::Result<OutputEnd> {
    let from_client = Arc::clone(pump).from_client(lines::of_stdin()?);
    let from_server = Arc::clone(pump).from_server(output);
    tokio::pin!(from_server);
    select! {
        () = from_client => {}
        output_end = &mut from_server => return Ok(output_end),
        () = stop.asked() => {}
    }
    let last = async {
        pump.end_input().await;
        from_server.await
    };
    Ok(timeout(END_MAX, last).await.unwrap_or(OutputEnd::Late))
}

/// How the server ended, once it has. One that somebody asked to end, and that must be ended by force, has done nothing wrong.
async fn end(server: &mut Child, output_end: OutputEnd) -> ExitCode {
    let ended = match output_end {
        OutputEnd::Closed => timeout(END_MAX, server.wait()).await.ok(),
        // How it would end now, as nobody reads what it says, is no word of its own.
        OutputEnd::Late | OutputEnd::TooLong => None,
    };
    let Some(ended) = ended else {
        // It may have ended at this moment.
        let _ = server.kill().await;
        return exit::done_if(output_end != OutputEnd::TooLong);
    };
    let Ok(ended) = ended else {
        return exit::FAILED;
    };
    let signal = ended.signal().map(|signal| SIGNALED + signal);
    let code = ended.code().or(signal);
    let code = code.and_then(|code| u8::try_from(code).ok());
    code.map_or(exit::FAILED, ExitCode::from)
}
