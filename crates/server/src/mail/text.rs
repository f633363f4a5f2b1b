//! What the mails say. The API call is named because a link needs a page to open, and there is none
//! yet.

use domain::{
    Timestamp,
    account::{Role, SecretToken, organisation_name},
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
    let (token, organisation) = (token.reveal(), called(org_name));
    Text {
        subject: "Confirm your e-mail address".to_owned(),
        body: format!(
            "Somebody registered the organisation {organisation} with Watchbell under this address, \
             at {registered_at}.\n\n\
             If it was you, open this link within 24 hours and enter the password that you chose \
             then, to make the account:\n\n{link}\n\n\
             Or call POST /v1/auth/verify-email with\n\
             {{\"token\": \"{token}\", \"password\": \"...\"}}.\n\n\
             If it was not you, or not then, ignore this mail and do not open the link: somebody else \
             knows the password. Without the link there is no account.\n"
        ),
    }
}

/// To somebody who registered and has an account.
pub(super) fn has_account() -> Text {
    Text {
        subject: "You have an account already".to_owned(),
        body: "Somebody, probably you, registered with Watchbell under this address, which has an \
               account already. Nothing has changed.\n\n\
               Log in with your password, or ask for a new one: POST /v1/auth/password-reset.\n\n\
               If it was not you, you need not do anything.\n"
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
            "Somebody, probably you, asked for a new password for your Watchbell account.\n\n\
             Open this link within 30 minutes; it works once:\n\n{link}\n\n\
             Or call POST /v1/auth/password-reset/confirm with\n\
             {{\"token\": \"{token}\", \"password\": \"...\"}}.\n\n\
             A new password logs you out everywhere. If it was not you, do nothing: your password \
             stays as it is.\n"
        ),
    }
}

/// To somebody who was invited and has no account yet.
pub(super) fn invitation(url: &PublicUrl, org_name: &str, role: Role, token: &SecretToken) -> Text {
    let link = url.link("accept-invitation", token.reveal());
    let (token, organisation) = (token.reveal(), called(org_name));
    Text {
        subject: "You are invited to Watchbell".to_owned(),
        body: format!(
            "You are invited to join the organisation {organisation} on Watchbell as {role}.\n\n\
             Open this link within 7 days to choose a password:\n\n{link}\n\n\
             Or call POST /v1/auth/accept-invitation with\n\
             {{\"token\": \"{token}\", \"password\": \"...\"}}.\n\n\
             If you do not expect this, do nothing.\n"
        ),
    }
}

/// To somebody who was invited and has an account.
pub(super) fn invited_with_account(org_name: &str) -> Text {
    let organisation = called(org_name);
    Text {
        subject: "You are invited to Watchbell".to_owned(),
        body: format!(
            "You are invited to join the organisation {organisation} on Watchbell, but this address \
             has an account already, and an account belongs to one organisation.\n\n\
             To join, be invited under another address, or first leave the organisation you are in.\n\n\
             Nobody but you was told that you have an account.\n"
        ),
    }
}

/// To the owners of an organisation, when one of them asked for it to be deleted.
pub(super) fn deletion(url: &PublicUrl, org_name: &str, by: &str, deletes_at: Timestamp) -> Text {
    let (organisation, console) = (called(org_name), url.to("/members"));
    Text {
        subject: "Your organisation is to be deleted".to_owned(),
        body: format!(
            "{by} asked for the organisation {organisation} on Watchbell to be deleted.\n\n\
             At {deletes_at} all of it is deleted and cannot be brought back: its trail, rules, policies, API \
             keys and secrets, and the accounts of its members, yours too.\n\n\
             Until then everything goes on as before, and any owner can cancel the deletion, here:\n\n{console}\n\n\
             Or call DELETE /v1/org/deletion.\n\n\
             If you want to keep any of it, export it before then. If this was not {by}, cancel the deletion, and \
             have {by} choose a new password.\n"
        ),
    }
}

/// To the same, when it is not to be deleted after all.
pub(super) fn no_deletion(org_name: &str, by: &str) -> Text {
    let organisation = called(org_name);
    Text {
        subject: "Your organisation will not be deleted".to_owned(),
        body: format!(
            "{by} canceled the deletion of the organisation {organisation} on Watchbell. Everything goes on as \
             before.\n"
        ),
    }
}

/// The name of an organisation. One that is not taken any more, such as a web address, is left out.
fn called(org_name: &str) -> String {
    match organisation_name::parse(org_name, "/name") {
        Ok(name) => format!("\"{name}\""),
        Err(_) => "(whose name is not one that we put into mails)".to_owned(),
    }
}
