//! Where letters are handed in: a bounded queue that never makes anybody wait.

use std::sync::Arc;

use anyhow::{Context as _, ensure};
use domain::{
    Timestamp,
    account::{EmailAddress, Role, SecretToken},
    clock::Clock,
};
use lettre::{
    AsyncSmtpTransport, Tokio1Executor,
    message::Mailbox,
    transport::smtp::{AsyncSmtpTransportBuilder, PoolConfig},
};
use store::Store;
use tokio::sync::mpsc;

use super::sender::{self, IN_FLIGHT_MAX, Worker};
use crate::{
    config::{self, PublicUrl},
    edge::{known_browser::BrowserMark, quotas::Quotas},
    lifecycle::Tasks,
    telemetry::metrics as names,
};

/// How many letters may wait. Some minutes of everybody registering at once, and a few hundred
/// kilobytes; the next ones are dropped and counted.
const WAITING_MAX: usize = 1_000;

/// A mail to be sent. What it says also depends on whether the address has an account.
#[derive(Debug)]
pub enum Letter {
    /// Somebody registered.
    Registration {
        email: EmailAddress,
        org_name: String,
        registered_at: Timestamp,
        token: SecretToken,
    },
    /// Somebody asked for a new password, with a browser that may have a mark.
    PasswordReset {
        email: EmailAddress,
        mark: Option<BrowserMark>,
    },
    /// Somebody was invited.
    Invitation {
        email: EmailAddress,
        org_name: String,
        role: Role,
        token: SecretToken,
    },
    /// An organization is to be deleted, or (`deletes_at: None`) is not after all.
    Deletion {
        email: EmailAddress,
        org_name: String,
        /// The address of who decided it.
        by: String,
        deletes_at: Option<Timestamp>,
    },
    /// An endpoint is in lasting trouble.
    EndpointNotice {
        email: EmailAddress,
        subject: String,
        body: String,
    },
}

impl Letter {
    /// Who it is for.
    pub(super) fn email(&self) -> &EmailAddress {
        match self {
            Self::Registration { email, .. }
            | Self::PasswordReset { email, .. }
            | Self::Invitation { email, .. }
            | Self::Deletion { email, .. }
            | Self::EndpointNotice { email, .. } => email,
        }
    }

    /// What it is about, by which mails to an address are counted.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Registration { .. } => "registration",
            Self::PasswordReset { .. } => "password reset",
            Self::Invitation { .. } => "invitation",
            Self::Deletion { .. } => "deletion",
            Self::EndpointNotice { .. } => "endpoint notice",
        }
    }
}

/// Takes letters. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Post {
    letters: mpsc::Sender<Letter>,
}

/// The mail settings of a deployment that has some.
#[derive(Clone)]
pub struct Settings {
    smtp: AsyncSmtpTransportBuilder,
    from: Mailbox,
}

/// What writing a letter takes.
pub struct Office {
    pub store: Store,
    pub clock: Clock,
    pub public_url: Arc<PublicUrl>,
    pub quotas: Quotas,
}

impl Settings {
    /// `None` if there is no mail server.
    pub fn read(settings: &config::Mail) -> anyhow::Result<Option<Self>> {
        let from = settings.sender()?;
        let Some(smtp) = settings.server()? else {
            return Ok(None);
        };
        let smtp = smtp
            .timeout(Some(sender::SEND_TIMEOUT))
            .pool_config(PoolConfig::new().max_size(IN_FLIGHT_MAX));
        Ok(Some(Self { smtp, from }))
    }

    /// Whether the mail server answers, and lets us in.
    pub async fn greet(self) -> anyhow::Result<()> {
        let smtp: AsyncSmtpTransport<Tokio1Executor> = self.smtp.build();
        let is_well = smtp.test_connection().await.context("connect")?;
        ensure!(is_well, "it does not do as it is asked");
        Ok(())
    }
}

impl Post {
    /// Starts sending. What is handed in when the process stops is tried once more.
    pub fn start(settings: Settings, office: Office, tasks: &Tasks) -> Self {
        let (letters, waiting) = mpsc::channel(WAITING_MAX);
        let worker = Worker {
            smtp: settings.smtp.build(),
            from: settings.from,
            office,
            stopping: tasks.stopping().clone(),
        };
        tasks.spawn("mail", async move {
            worker.run(waiting).await;
            Ok(())
        });
        Self { letters }
    }

    /// How many letters may be handed in until half of the queue is full: the rest of it is for letters that
    /// somebody waits for.
    pub fn room_for_notices(&self) -> usize {
        self.letters.capacity().saturating_sub(WAITING_MAX / 2)
    }

    /// Hands a letter in. A full queue drops it: who asked is answered the same.
    pub fn hand_in(&self, letter: Letter) {
        if self.letters.try_send(letter).is_err() {
            metrics::counter!(names::MAILS, "outcome" => "dropped").increment(1);
            tracing::warn!(
                waiting = WAITING_MAX,
                "too many mails are waiting; one was dropped"
            );
        }
    }
}
