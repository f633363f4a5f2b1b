//! The two directions between a client and a server that speak in lines. Neither waits for the other, or two full pipes would
//! hold each other up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
};

use super::{
    call::Session,
    calls::{Calls, Deciding, Ruled},
    guard::Guard,
    lines::{self, Line},
};
use crate::output::note;

/// How many calls one client may make at the same time.
const CALLS_MAX: usize = 64;

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
        self.calls.all_ended().await;
        *self.to_server.lock().await = None;
    }

    /// From the server to the client, until one of them closes its end.
    pub(super) async fn from_server(self: Arc<Self>, mut output: impl AsyncBufRead + Unpin) {
        while let Some(line) = lines::next_from(&mut output).await {
            let Line::Whole(message) = line else {
                note("watchbell: the MCP server sent a line of more than 16 MiB, so it is ended");
                return;
            };
            if self.server_says(message).await.is_err() {
                return;
            }
        }
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
        // To a server whose lines may also end like this, what follows is a message of its own.
        if message.contains(&b'\r') {
            let why = "a message is one line, without a carriage return in it";
            return self
                .answer(&answer::error(None, INVALID_REQUEST, why))
                .await;
        }
        match FromClient::read(&message) {
            FromClient::Passes => self.pass(&message).await,
            FromClient::Lists { id, is_first } => {
                if self.calls.lists(id.clone(), is_first) {
                    return self.pass(&message).await;
                }
                let why = "too many lists of tools are not answered yet";
                self.answer(&answer::error(Some(&id), UNDECIDED, why)).await
            }
            FromClient::Begins {
                protocol_version,
                client_name,
            } => {
                self.know(protocol_version, client_name);
                self.pass(&message).await
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

    async fn server_says(&self, message: Bytes) -> Result<(), Closed> {
        if message.is_empty() {
            return Ok(());
        }
        let session = self.session().clone();
        match self
            .calls
            .pass_back(&session, message, RequestId::clone)
            .await
        {
            Ok(Some(message)) => self.to_client.send(message).await.map_err(|_| Closed),
            Ok(None) => Ok(()),
            // The client could take it for something that nobody has looked at.
            Err(error) => {
                note(format_args!(
                    "watchbell: a line of the MCP server is left out: {error}"
                ));
                Ok(())
            }
        }
    }

    async fn answer(&self, message: &Value) -> Result<(), Closed> {
        let message = message.to_string().into();
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
