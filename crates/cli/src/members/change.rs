//! `watchbell members change-role` and `remove`.

use std::process::ExitCode;

use clap::Args;
use domain::UserId;
use reqwest::Method;
use serde_json::json;

use super::roles;
use crate::{answer, output::say, server::Server, table::cell};

#[derive(Debug, Args)]
pub struct ChangeRole {
    /// The member.
    #[arg(value_name = "USER_ID")]
    id: UserId,
    /// The new role.
    #[arg(value_name = "ROLE", value_parser = roles())]
    role: String,
    #[command(flatten)]
    server: Server,
}

impl ChangeRole {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/members/{}", self.id);
        let body = json!({"role": self.role});
        let call = self.server.as_person()?.call(Method::PATCH, &path);
        let text = call.json(&body).text().await?;
        answer::show(&text, self.server.output, |member| {
            let (email, role) = (cell(member, "email"), cell(member, "role"));
            say(format_args!("{email} is now {role}"))
        })
    }
}

#[derive(Debug, Args)]
pub struct Remove {
    /// The member.
    #[arg(value_name = "USER_ID")]
    id: UserId,
    /// Keep the API keys they created. They may know them, so rotate those soon.
    #[arg(long)]
    keep_keys: bool,
    #[command(flatten)]
    server: Server,
}

impl Remove {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let path = format!("/v1/members/{}", self.id);
        let mut call = self.server.as_person()?.delete(&path);
        if self.keep_keys {
            call = call.query(&[("keep_keys", "true".to_owned())]);
        }
        call.send().await?;
        answer::done(self.server.output, format_args!("removed {}", self.id))
    }
}
