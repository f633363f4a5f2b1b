//! Sends letters: finds out what each says, and tries until the mail server takes it or time is up.

use std::time::{Duration, UNIX_EPOCH};

use domain::{
    account::{EmailAddress, SecretToken, TokenKind},
    limit::Operation::MailTo,
};
use futures::{StreamExt as _, stream::FuturesUnordered};
use lettre::{
    Address, AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor,
    message::{Mailbox, SinglePart},
    transport::smtp,
};
use runtime::{error_chain::chain, random};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    queue::{Letter, Office},
    retries::{Retries, TRIES_MAX, pause_after},
    text::{self, Text},
};
use crate::telemetry::metrics as names;

/// How many letters are being sent at a time.
pub(super) const IN_FLIGHT_MAX: u32 = 16;
/// How long one command to the mail server may take.
pub(super) const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// How long letters may go on once the process stops: one more try for each that is on its way or
/// waits for its next, within the time that stopping may take.
const LAST_CALL: Duration = Duration::from_secs(14);

pub(super) struct Worker {
    pub(super) smtp: AsyncSmtpTransport<Tokio1Executor>,
    pub(super) from: Mailbox,
    pub(super) office: Office,
    pub(super) stopping: CancellationToken,
}

/// A letter and what earlier tries made of it.
struct Envelope {
    letter: Letter,
    /// Whether it was counted as a mail to its address.
    is_counted: bool,
    written: Option<Message>,
    tries: u32,
}

/// Why a try failed, without the address that the mail server likes to repeat.
struct Failure {
    reason: String,
    is_final: bool,
}

impl Worker {
    /// Sends until nobody can hand in letters any more and none is left.
    pub(super) async fn run(self, mut letters: mpsc::Receiver<Letter>) {
        let mut on_their_way = FuturesUnordered::new();
        let mut retries = Retries::new();
        let mut is_open = true;
        let last_call = async {
            self.stopping.cancelled().await;
            sleep(LAST_CALL).await;
        };
        tokio::pin!(last_call);
        while is_open || !on_their_way.is_empty() || !retries.is_empty() {
            let has_room = on_their_way.len() < IN_FLIGHT_MAX as usize;
            tokio::select! {
                letter = letters.recv(), if is_open && has_room => match letter {
                    Some(letter) => on_their_way.push(self.attempt(Envelope::new(letter))),
                    None => is_open = false,
                },
                () = self.until(retries.next_due()), if has_room => {
                    on_their_way.extend(retries.pop().map(|parcel| self.attempt(parcel)));
                }
                Some(failed) = on_their_way.next(), if !on_their_way.is_empty() => {
                    if let Some(parcel) = failed {
                        retry_later(&mut retries, parcel);
                    }
                }
                () = &mut last_call => break,
            }
        }
        let left = on_their_way.len() + retries.len() + letters.len();
        if left > 0 {
            count("dropped", left as u64);
            tracing::warn!(left, "stopped with unsent mails");
        }
    }

    /// Waits until something is due; when the process stops, everything is.
    async fn until(&self, due: Option<Instant>) {
        let Some(due) = due else {
            return std::future::pending().await;
        };
        tokio::select! {
            () = sleep_until(due) => {}
            () = self.stopping.cancelled() => {}
        }
    }

    /// Tries once. What comes back is to be tried again.
    async fn attempt(&self, mut parcel: Envelope) -> Option<Envelope> {
        parcel.tries += 1;
        let failure = self.try_once(&mut parcel).await.err()?;
        let (reason, tries) = (failure.reason, parcel.tries);
        if failure.is_final || tries == TRIES_MAX || self.stopping.is_cancelled() {
            count("failed", 1);
            tracing::error!(reason, tries, "gave up on a mail");
            return None;
        }
        tracing::warn!(reason, tries, "a mail was not sent; will retry");
        Some(parcel)
    }

    /// Counts and writes the letter, unless an earlier try did, and sends it.
    async fn try_once(&self, parcel: &mut Envelope) -> Result<(), Failure> {
        if !parcel.is_counted {
            // Before it is written: what is not sent must not void the link that was.
            let counted_as = self.counted_as(&parcel.letter).await?;
            let quotas = &self.office.quotas;
            if quotas.admit(MailTo, &counted_as).await.is_err() {
                let kind = parcel.letter.kind();
                count("dropped", 1);
                tracing::warn!(
                    kind,
                    "an address got too many mails (limits.mails); one was dropped"
                );
                return Ok(());
            }
            parcel.is_counted = true;
        }
        let message = match &mut parcel.written {
            Some(message) => message,
            written => match self.write(&parcel.letter).await? {
                Some(message) => written.insert(message),
                None => return Ok(()),
            },
        };
        self.smtp.send(message.clone()).await?;
        count("sent", 1);
        Ok(())
    }

    /// Which mails it is counted among: those of its kind to its address. What somebody asks for with a browser that is
    /// known to be theirs is counted apart, so that strangers cannot use it up.
    async fn counted_as(&self, letter: &Letter) -> Result<String, Failure> {
        let counted_as = format!("{} {}", letter.kind(), letter.email().digest());
        if let Letter::PasswordReset { email, mark } = letter
            && let Some(mark) = mark
            && let Some(owner) = self.office.store.credentials(email).await?
            && mark.is_of(&owner.password_hash)
        {
            return Ok(format!("{counted_as} known"));
        }
        Ok(counted_as)
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
                let text = if self.office.store.has_account(email).await? {
                    text::has_account()
                } else {
                    text::verify(&self.office.public_url, org_name, *registered_at, token)
                };
                (email, text)
            }
            Letter::PasswordReset { email, .. } => {
                let token = SecretToken::new(TokenKind::Link, random::bytes());
                let now = self.office.clock.now();
                let saved = self
                    .office
                    .store
                    .save_password_reset(email, &token.hash(), now)
                    .await?;
                if !saved {
                    return Ok(None);
                }
                (email, text::reset(&self.office.public_url, &token))
            }
            Letter::Invitation {
                email,
                org_name,
                role,
                token,
            } => {
                let text = if self.office.store.has_account(email).await? {
                    text::invited_with_account(org_name)
                } else {
                    text::invitation(&self.office.public_url, org_name, *role, token)
                };
                (email, text)
            }
            Letter::Deletion {
                email,
                org_name,
                by,
                deletes_at,
            } => {
                let url = &self.office.public_url;
                let text = match deletes_at {
                    Some(at) => text::deletion(url, org_name, by, *at),
                    None => text::no_deletion(org_name, by),
                };
                (email, text)
            }
            Letter::EndpointNotice {
                email,
                subject,
                body,
            } => {
                let (subject, body) = (subject.clone(), body.clone());
                (email, Text { subject, body })
            }
        };
        self.addressed(email, text).map(Some)
    }

    fn addressed(&self, email: &EmailAddress, text: Text) -> Result<Message, Failure> {
        let unsendable = || Failure {
            reason: "could not compose a mail".to_owned(),
            is_final: true,
        };
        let address: Address = email.as_str().parse().map_err(|_| unsendable())?;
        let since_1970 = u64::try_from(self.office.clock.now().unix_millis()).unwrap_or(0);
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, address))
            .date(UNIX_EPOCH + Duration::from_millis(since_1970))
            .subject(text.subject)
            .singlepart(SinglePart::plain(text.body))
            .map_err(|_| unsendable())
    }
}

impl Envelope {
    fn new(letter: Letter) -> Self {
        Self {
            letter,
            is_counted: false,
            written: None,
            tries: 0,
        }
    }
}

/// Puts a letter where those wait that are to be tried again. The newest is dropped when they are too
/// many: the others have waited longer.
fn retry_later(retries: &mut Retries<Envelope>, parcel: Envelope) {
    let due = Instant::now() + pause_after(parcel.tries);
    if !retries.push(due, parcel) {
        count("dropped", 1);
        tracing::warn!(
            waiting = retries.len(),
            "too many mails are waiting for a retry; one was dropped"
        );
    }
}

fn count(outcome: &'static str, mails: u64) {
    metrics::counter!(names::MAILS, "outcome" => outcome).increment(mails);
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
            "the exchange with the mail server failed".to_owned()
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
