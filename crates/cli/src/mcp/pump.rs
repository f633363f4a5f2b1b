//! The two directions between a client and a server that speak in lines. Neither waits for the other, or two full pipes would
//! hold each other up.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use domain::mcp::{
    FromClient, RequestId,
    answer::{self, INVALID_REQUEST, UNDECIDED},
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufRead, AsyncWriteExt as _},
    process::ChildStdin,
    select,
    sync::{Mutex as Turn, mpsc},
    task::JoinSet,
    time::timeout,
};

use super::{
    call::Session,
    calls::{Back, Calls, Deciding, Ruled},
    guard::Guard,
    in_flight::Kind,
    lines::{self, Line},
};
use crate::output::note;

/// How many calls one client may make at the same time.
const CALLS_MAX: usize = 64;
/// How long the server may take for its last answers when the client has no more to say; clients give up on a call by then.
const LAST_MAX: Duration = Duration::from_secs(60);

/// What both directions share.
pub(super) struct Pump {
    calls: Arc<Calls<RequestId>>,
    session: Mutex<Session>,
    to_client: mpsc::Sender<Bytes>,
    /// Closed when the client has said all that it has to say.
    to_server: Turn<Option<ChildStdin>>,
}

/// Nobody reads any more on the other side.
struct Closed;

/// How the output of the server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputEnd {
    /// It or the client has closed its end.
    Closed,
    /// It was told to end, and has not in time.
    Late,
    /// It sent a line that has no end.
    TooLong,
}

impl Pump {
    pub(super) fn new(
        guard: Guard,
        session: Session,
        to_client: mpsc::Sender<Bytes>,
        to_server: ChildStdin,
    ) -> Self {
        Self {
            calls: Arc::new(Calls::new(guard, CALLS_MAX)),
            session: Mutex::new(session),
            to_client,
            to_server: Turn::new(Some(to_server)),
        }
    }

    /// From the client to the server, until the client has no more to say and everything that it called has ended.
    pub(super) async fn from_client(self: Arc<Self>, mut lines: mpsc::Receiver<Line>) {
        let mut deciding = JoinSet::new();
        loop {
            select! {
                line = lines.recv() => match line {
                    None => break,
                    Some(line) => if self.client_says(line, &mut deciding).await.is_err() {
                        return;
                    },
                },
                Some(_) = deciding.join_next() => {}
            }
        }
        while deciding.join_next().await.is_some() {}
        let _ = timeout(LAST_MAX, self.calls.all_ended()).await;
    }

    /// The server is told nothing more, and is to end by that.
    pub(super) async fn end_input(&self) {
        *self.to_server.lock().await = None;
    }

    /// From the server to the client, until one of them closes its end.
    pub(super) async fn from_server(
        self: Arc<Self>,
        mut output: impl AsyncBufRead + Unpin,
    ) -> OutputEnd {
        // Lists that policies are asked about; other messages do not wait for them.
        let mut listing = JoinSet::new();
        while let Some(line) = lines::next_from(&mut output).await {
            while listing.try_join_next().is_some() {}
            let Line::Whole(message) = line else {
                note("watchbell: the MCP server sent a line of more than 16 MiB, so it is ended");
                return OutputEnd::TooLong;
            };
            if self.server_says(message, &mut listing).await.is_err() {
                return OutputEnd::Closed;
            }
        }
        while listing.join_next().await.is_some() {}
        OutputEnd::Closed
    }

    /// Both have ended. What was passed on and never answered is recorded.
    pub(super) fn close(&self) {
        self.calls.close(|_| true);
    }

    async fn client_says(
        self: &Arc<Self>,
        line: Line,
        deciding: &mut JoinSet<()>,
    ) -> Result<(), Closed> {
        let Line::Whole(message) = line else {
            let why = "a message can have at most 16 MiB";
            return self
                .answer(&answer::error(None, INVALID_REQUEST, why))
                .await;
        };
        if message.is_empty() {
            return Ok(());
        }
        match FromClient::read(&message) {
            FromClient::Passes { requests } => self.ask(&requests, Kind::Other, &message).await,
            FromClient::Lists { id, is_first } => {
                let kind = Kind::ToolsList { is_first };
                self.ask(&[id], kind, &message).await
            }
            FromClient::Begins {
                id,
                protocol_version,
                client_name,
            } => {
                self.know(protocol_version, client_name);
                self.ask(&[id], Kind::Other, &message).await
            }
            FromClient::Cancels { id } => {
                self.calls.cancel(&id);
                self.pass(&message).await
            }
            FromClient::Refused { answer, why } => {
                note(format_args!("watchbell: a message was refused: {why}"));
                match answer {
                    Some(answer) => self.answer(&answer).await,
                    None => Ok(()),
                }
            }
            FromClient::Calls { id, call } => {
                let begun = self.calls.begin(id.clone(), &id, &self.session(), call);
                match begun {
                    Ok(call) => {
                        deciding.spawn(Arc::clone(self).call(id, call, message));
                        Ok(())
                    }
                    Err(refusal) => self.answer(&refusal).await,
                }
            }
        }
    }

    /// Requests that call no tool.
    async fn ask(&self, ids: &[RequestId], kind: Kind, message: &Bytes) -> Result<(), Closed> {
        match self.calls.ask(ids, RequestId::clone, kind) {
            Ok(_) => self.pass(message).await,
            Err(refusal) => self.answer(&refusal).await,
        }
    }

    /// A call, until it is passed on or answered. That the other side is gone is noticed by whoever reads from it.
    async fn call(self: Arc<Self>, id: RequestId, call: Deciding<RequestId>, message: Bytes) {
        match call.ruled(&id, message).await {
            Ruled::GivenUp => {}
            Ruled::Answered(answer) => {
                let _ = self.answer(&answer).await;
            }
            Ruled::Passes(message) => {
                if self.pass(&message).await.is_err() {
                    let why = "the MCP server has ended";
                    let _ = self.answer(&answer::error(Some(&id), UNDECIDED, why)).await;
                }
            }
        }
    }

    async fn server_says(
        self: &Arc<Self>,
        message: Bytes,
        listing: &mut JoinSet<()>,
    ) -> Result<(), Closed> {
        if message.is_empty() {
            return Ok(());
        }
        let session = self.session().clone();
        let back = self.calls.take_back(&session, message, RequestId::clone);
        match back {
            Ok(Back::Passes(message)) => self.send(message).await,
            Ok(Back::Lists(message, listed)) => {
                let pump = Arc::clone(self);
                listing.spawn(async move {
                    let shown = pump.calls.show(&session, message, listed).await;
                    // That nobody reads any more is noticed by whoever goes on.
                    let _ = pump.send(shown).await;
                });
                Ok(())
            }
            // The client could take it for something that nobody has looked at.
            Err(left_out) => {
                note(format_args!(
                    "watchbell: a line of the MCP server is left out: {}",
                    left_out.why
                ));
                match left_out.answer {
                    Some(answer) => self.send(answer).await,
                    None => Ok(()),
                }
            }
        }
    }

    async fn answer(&self, message: &Value) -> Result<(), Closed> {
        self.send(message.to_string().into()).await
    }

    async fn send(&self, message: Bytes) -> Result<(), Closed> {
        self.to_client.send(message).await.map_err(|_| Closed)
    }

    async fn pass(&self, message: &Bytes) -> Result<(), Closed> {
        let mut to_server = self.to_server.lock().await;
        let Some(input) = to_server.as_mut() else {
            return Err(Closed);
        };
        let written = async {
            input.write_all(message).await?;
            input.write_all(b"\n").await?;
            input.flush().await
        };
        written.await.map_err(|_| Closed)
    }

    fn know(&self, protocol_version: Option<String>, client_name: Option<String>) {
        let mut session = self.session();
        session.protocol_version = protocol_version;
        session.client_name = client_name;
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
