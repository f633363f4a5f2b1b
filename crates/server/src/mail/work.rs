//! Sends letters: finds out what each says, and tries until the mail server takes it or time is up.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use domain::{
    account::{EmailAddress, SecretToken, TokenKind},
    clock::Clock,
};
use futures::{StreamExt as _, stream::FuturesUnordered};
use lettre::{
    Address, AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor,
    message::{Mailbox, SinglePart},
    transport::smtp,
};
use store::Store;
use tokio::{sync::mpsc, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{
    post::Letter,
    text::{self, Text},
};
use crate::{chance, config::PublicUrl, error_chain::chain, telemetry::metrics as names};

/// How many letters are on their way at a time; one that waits for its next try keeps its place.
pub(super) const IN_FLIGHT_MAX: u32 = 16;
/// How long one command to the mail server may take.
pub(super) const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// Tries of one letter. With the pauses below the last is some six minutes after the first: a mail
/// server that restarts is back, and the link in the letter still works.
const TRIES_MAX: u32 = 12;
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How long letters may go on once the process stops: one more try for each that is on its way,
/// within the time that stopping may take.
const LAST_CALL: Duration = Duration::from_secs(14);

pub(super) struct Worker {
    pub(super) smtp: AsyncSmtpTransport<Tokio1Executor>,
    pub(super) from: Mailbox,
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) public_url: Arc<PublicUrl>,
    pub(super) stopping: CancellationToken,
}

/// Why a try failed, without the address that the mail server likes to repeat.
struct Failure {
    reason: String,
    is_final: bool,
}

impl Worker {
    /// Sends until nobody can hand in letters any more.
    pub(super) async fn run(self, mut letters: mpsc::Receiver<Letter>) {
        let mut on_their_way = FuturesUnordered::new();
        let last_call = async {
            self.stopping.cancelled().await;
            sleep(LAST_CALL).await;
        };
        tokio::pin!(last_call);
        loop {
            let has_room = on_their_way.len() < IN_FLIGHT_MAX as usize;
            tokio::select! {
                letter = letters.recv(), if has_room => match letter {
                    Some(letter) => on_their_way.push(self.deliver(letter)),
                    None => break,
                },
                Some(()) = on_their_way.next(), if !on_their_way.is_empty() => {}
                () = &mut last_call => break,
            }
        }
        tokio::select! {
            () = async { while on_their_way.next().await.is_some() {} } => {}
            () = &mut last_call => {}
        }
        let left = on_their_way.len() + letters.len();
        if left > 0 {
            metrics::counter!(names::MAILS, "outcome" => "dropped").increment(left as u64);
            tracing::warn!(left, "stopped with mails unsent");
        }
    }

    async fn deliver(&self, letter: Letter) {
        let mut written = None;
        let mut pause = PAUSE_MIN;
        for number in 1..=TRIES_MAX {
            let Err(failure) = self.try_once(&letter, &mut written).await else {
                return;
            };
            if failure.is_final || number == TRIES_MAX || self.stopping.is_cancelled() {
                metrics::counter!(names::MAILS, "outcome" => "failed").increment(1);
                tracing::error!(
                    reason = failure.reason,
                    tries = number,
                    "a mail was given up"
                );
                return;
            }
            tracing::warn!(
                reason = failure.reason,
                tries = number,
                "a mail waits for its next try"
            );
            tokio::select! {
                () = sleep(pause) => {}
                () = self.stopping.cancelled() => {}
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Writes the letter, unless an earlier try did, and sends it.
    async fn try_once(
        &self,
        letter: &Letter,
        written: &mut Option<Message>,
    ) -> Result<(), Failure> {
        let message = match written {
            Some(message) => message,
            None => match self.write(letter).await? {
                Some(message) => written.insert(message),
                None => return Ok(()),
            },
        };
        self.smtp.send(message.clone()).await?;
        metrics::counter!(names::MAILS, "outcome" => "sent").increment(1);
        Ok(())
    }

    /// `None` if there is nothing to say: nobody has the address that wants a new password.
    async fn write(&self, letter: &Letter) -> Result<Option<Message>, Failure> {
        let (email, text) = match letter {
            Letter::Registration {
                email,
                org_name,
                registered_at,
                token,
            } => {
                let text = if self.store.has_account(email).await? {
                    text::has_account()
                } else {
                    text::verify(&self.public_url, org_name, *registered_at, token)
                };
                (email, text)
            }
            Letter::PasswordReset { email } => {
                let token = SecretToken::new(TokenKind::Link, chance::bytes());
                let now = self.clock.now();
                let saved = self
                    .store
                    .save_password_reset(email, &token.hash(), now)
                    .await?;
                if !saved {
                    return Ok(None);
                }
                (email, text::reset(&self.public_url, &token))
            }
            Letter::Invitation {
                email,
                org_name,
                role,
                token,
            } => {
                let text = if self.store.has_account(email).await? {
                    text::invited_with_account(org_name)
                } else {
                    text::invitation(&self.public_url, org_name, *role, token)
                };
                (email, text)
            }
        };
        self.addressed(email, text).map(Some)
    }

    fn addressed(&self, email: &EmailAddress, text: Text) -> Result<Message, Failure> {
        let unsendable = || Failure {
            reason: "the mail could not be written".to_owned(),
            is_final: true,
        };
        let address: Address = email.as_str().parse().map_err(|_| unsendable())?;
        let since_1970 = u64::try_from(self.clock.now().unix_millis()).unwrap_or(0);
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, address))
            .date(UNIX_EPOCH + Duration::from_millis(since_1970))
            .subject(text.subject)
            .singlepart(SinglePart::plain(text.body))
            .map_err(|_| unsendable())
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self {
            reason: chain(&error),
            is_final: false,
        }
    }
}

impl From<smtp::Error> for Failure {
    fn from(error: smtp::Error) -> Self {
        let reason = if let Some(status) = error.status() {
            format!("the mail server answered {status}")
        } else if error.is_timeout() {
            "the mail server did not answer in time".to_owned()
        } else if error.is_response() || error.is_client() {
            "the mail server was not understood".to_owned()
        } else {
            // About the connection, before anything was said.
            chain(&error)
        };
        Self {
            reason,
            is_final: error.is_permanent() || error.is_client(),
        }
    }
}
