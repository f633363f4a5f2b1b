//! What the mails say. The API call is named because a link needs a page to open, and there is none
//! yet.

use domain::{
    Timestamp,
    account::{Role, SecretToken, organization_name},
};

use crate::config::PublicUrl;

/// A mail before it is addressed.
pub(super) struct Text {
    pub(super) subject: String,
    pub(super) body: String,
}

/// To somebody who registered and has no account yet.
pub(super) fn verify(
    url: &PublicUrl,
    org_name: &str,
    registered_at: Timestamp,
    token: &SecretToken,
) -> Text {
    let link = url.link("verify-email", token.reveal());
    let (token, organization) = (token.reveal(), called(org_name));
    Text {
        subject: "Confirm your email address".to_owned(),
        body: format!(
            "Someone registered the organization {organization} with Watchbell using this address, at \
             {registered_at}.\n\n\
             If this was you, open this link within 24 hours and enter the password you chose then, to create the \
             account:\n\n\
             {link}\n\n\
             Or call POST /v1/auth/verify-email with\n\
             {{\"token\": \"{token}\", \"password\": \"...\"}}.\n\n\
             If this was not you, or not at that time, ignore this email and do not open the link: someone else knows \
             the password. Unless the link is opened, no account is created.\n"
        ),
    }
}

/// To somebody who registered and has an account.
pub(super) fn has_account() -> Text {
    Text {
        subject: "You already have an account".to_owned(),
        body: "Someone, probably you, registered with Watchbell using this address, which already \
               has an account. Nothing has changed.\n\n\
               Log in with your password, or ask for a new one: POST /v1/auth/password-reset.\n\n\
               If this was not you, you do not need to do anything.\n"
            .to_owned(),
    }
}

/// To somebody with an account who asked for a new password.
pub(super) fn reset(url: &PublicUrl, token: &SecretToken) -> Text {
    let link = url.link("reset-password", token.reveal());
    let token = token.reveal();
    Text {
        subject: "Choose a new password".to_owned(),
        body: format!(
            "Someone, probably you, asked for a new password for your Watchbell account.\n\n\
             Open this link within 30 minutes; it works only once:\n\n\
             {link}\n\n\
             Or call POST /v1/auth/password-reset/confirm with\n\
             {{\"token\": \"{token}\", \"password\": \"...\"}}.\n\n\
             A new password logs you out everywhere. If this was not you, do nothing: your \
             password stays the same.\n"
        ),
    }
}

/// To somebody who was invited and has no account yet.
pub(super) fn invitation(url: &PublicUrl, org_name: &str, role: Role, token: &SecretToken) -> Text {
    let link = url.link("accept-invitation", token.reveal());
    let (token, organization) = (token.reveal(), called(org_name));
    Text {
        subject: "You have been invited to Watchbell".to_owned(),
        body: format!(
            "You have been invited to join the organization {organization} on Watchbell as \
             {role}.\n\n\
             Open this link within 7 days to choose a password:\n\n\
             {link}\n\n\
             Or call POST /v1/auth/accept-invitation with\n\
             {{\"token\": \"{token}\", \"password\": \"...\"}}.\n\n\
             If you were not expecting this, do nothing.\n"
        ),
    }
}

/// To somebody who was invited and has an account.
pub(super) fn invited_with_account(org_name: &str) -> Text {
    let organization = called(org_name);
    Text {
        subject: "You have been invited to Watchbell".to_owned(),
        body: format!(
            "You have been invited to join the organization {organization} on Watchbell, but this address already has \
             an account, and an account belongs to one organization.\n\n\
             To join, ask to be invited with another address, or leave your current organization first.\n\n\
             Nobody else was told that you have an account.\n"
        ),
    }
}

/// To the owners of an organization, when one of them asked for it to be deleted.
pub(super) fn deletion(url: &PublicUrl, org_name: &str, by: &str, deletes_at: Timestamp) -> Text {
    let (organization, console) = (called(org_name), url.to("/members"));
    Text {
        subject: "Your organization is scheduled for deletion".to_owned(),
        body: format!(
            "{by} asked for the organization {organization} on Watchbell to be deleted.\n\n\
             At {deletes_at}, everything in it will be deleted and cannot be restored: its trail, rules, policies, API \
             keys and secrets, and the accounts of its members, including yours.\n\n\
             Until then everything continues as before, and any owner can cancel the deletion here:\n\n\
             {console}\n\n\
             Or call DELETE /v1/org/deletion.\n\n\
             If you want to keep anything, export it before then. If this was not {by}, cancel the deletion and have \
             {by} choose a new password.\n"
        ),
    }
}

/// To the same, when it is not to be deleted after all.
pub(super) fn no_deletion(org_name: &str, by: &str) -> Text {
    let organization = called(org_name);
    Text {
        subject: "Your organization will not be deleted".to_owned(),
        body: format!(
            "{by} canceled the deletion of the organization {organization} on Watchbell. Everything continues as \
             before.\n"
        ),
    }
}

/// The name of an organization. One that is not taken any more, such as a web address, is left out.
fn called(org_name: &str) -> String {
    match organization_name::parse(org_name, "/name") {
        Ok(name) => format!("\"{name}\""),
        Err(_) => "(whose name we do not include in emails)".to_owned(),
    }
}
