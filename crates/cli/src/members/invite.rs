//! `watchbell members invite` and `revoke-invitation`.

use std::process::ExitCode;

use clap::Args;
use domain::InvitationId;
use serde_json::{Value, json};

use super::roles;
use crate::{
    answer,
    api::read,
    exit,
    output::{Form, note, say, say_once},
    server::Server,
    table::cell,
};

#[derive(Debug, Args)]
pub struct Invite {
    /// Their email address.
    email: String,
    /// The role they get.
    #[arg(long, value_name = "ROLE", value_parser = roles())]
    role: String,
    #[command(flatten)]
    server: Server,
}

impl Invite {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let body = json!({"email": self.email, "role": self.role});
        let call = self.server.as_person()?.post("/v1/invitations");
        let text = call.json(&body).text().await?;
        print(&text, self.server.output)
    }
}

fn print(text: &str, form: Form) -> anyhow::Result<ExitCode> {
    let made: Value = read(text)?;
    let [id, email, role, link] = ["id", "email", "role", "link"].map(|field| cell(&made, field));
    let lost = format!(
        "The link is not shown again. Revoke the invitation, and send another one: watchbell members revoke-invitation {id}"
    );
    let invited = format!("invited {email} as {role}");
    match form {
        Form::Json if link.is_empty() => say(text)?,
        Form::Json => say_once(text, lost)?,
        Form::Table if link.is_empty() => say(invited)?,
        Form::Table => {
            // The link alone on standard output, where a script takes it.
            say_once(link, lost)?;
            note(format_args!(
                "{invited}; this server does not send email: pass the link on yourself. It is not shown again"
            ));
        }
    }
    Ok(exit::DONE)
}

#[derive(Debug, Args)]
pub struct Revoke {
    /// The invitation.
    #[arg(value_name = "INVITATION_ID")]
    id: InvitationId,
    #[command(flatten)]
    server: Server,
}

impl Revoke {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/invitations/{}", self.id);
        self.server.as_person()?.delete(&path).send().await?;
        answer::done(self.server.output, format_args!("revoked {}", self.id))
    }
}
