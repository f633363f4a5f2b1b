//! `watchbell deliveries resend`.

use std::process::ExitCode;

use clap::Args;
use domain::DeliveryId;
use serde_json::Value;

use crate::{
    api::read,
    exit,
    machine::random,
    output::{Form, say},
    server::Server,
    table::cell,
};

#[derive(Debug, Args)]
pub struct Resend {
    /// The delivery.
    #[arg(value_name = "DELIVERY_ID")]
    id: DeliveryId,
    #[command(flatten)]
    server: Server,
}

impl Resend {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let call = self
            .server
            .api()?
            .post(&format!("/v1/deliveries/{}/resend", self.id));
        let name = hex::encode(random::<16>());
        let text = call.named(&name).text().await?;
        match self.server.output {
            Form::Json => say(text)?,
            Form::Table => {
                let resent: Value = read(&text)?;
                say(format_args!(
                    "resending {} as attempt {} to {}",
                    cell(&resent, "delivery_id"),
                    cell(&resent, "attempt"),
                    cell(&resent, "url")
                ))?;
                say(format_args!(
                    "Check the result: watchbell deliveries show {}",
                    self.id
                ))?;
            }
        }
        Ok(exit::DONE)
    }
}
