//! The mail settings, read: whom mail is from, and the server that takes it.

use anyhow::Context as _;
use lettre::{
    AsyncSmtpTransport, Tokio1Executor, message::Mailbox,
    transport::smtp::AsyncSmtpTransportBuilder,
};
use secrecy::ExposeSecret as _;

use super::Mail;

impl Mail {
    /// Whom mail is from.
    pub fn sender(&self) -> anyhow::Result<Mailbox> {
        let from = self.from.parse();
        from.context("mail.from must be an address, such as `Watchbell <watchbell@example.com>`")
    }

    /// The mail server; `None` if there is none.
    pub fn server(&self) -> anyhow::Result<Option<AsyncSmtpTransportBuilder>> {
        let Some(url) = &self.smtp_url else {
            return Ok(None);
        };
        // What the library says of a bad URL may repeat the password in it.
        let server = AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret());
        let server = server.map_err(|_| {
            anyhow::anyhow!("mail.smtp_url is not valid; see docs/reference/configuration.md")
        })?;
        Ok(Some(server))
    }
}
