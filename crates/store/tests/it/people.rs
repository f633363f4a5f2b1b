//! People in the store, where two things happen to them at the same moment.

use std::time::Duration;

use domain::{
    InvitationId, OrgId, UserId,
    account::{EmailAddress, Role, SecretToken, TokenKind},
};
use sqlx::{Connection as _, PgConnection};
use store::{
    Store, account_outbox::Hand, invitations::Invitation, members::Refused,
    registrations::Registration,
};
use testkit::eventually;

use crate::{NOW, store};

const DEADLINE: Duration = Duration::from_secs(20);

fn address(text: &str) -> EmailAddress {
    EmailAddress::parse(text).expect("an address")
}

/// An organization and its owner.
async fn founded(store: &Store, email: &str) -> (OrgId, UserId) {
    let (org, user) = (OrgId::new(NOW, [1; 10]), UserId::new(NOW, [2; 10]));
    let registration = Registration {
        org_name: String::from("Acme"),
        email: address(email),
        password_hash: String::from("old"),
    };
    let made = store.register_at_once(&registration, org, user, NOW).await;
    assert!(made.expect("made"));
    (org, user)
}

#[tokio::test]
async fn a_reset_and_the_removal_of_its_person_follow_each_other() {
    let (store, database) = store().await;
    founded(&store, "ann@example.com").await;
    let token = SecretToken::new(TokenKind::Link, [3; 32]).hash();
    let email = address("ann@example.com");
    let saved = store.save_password_reset(&email, &token, NOW).await;
    assert!(saved.expect("saved"));

    // What a removal does, with a pause in the middle.
    let mut removal = PgConnection::connect(database.url()).await.expect("one");
    let mut removal = removal.begin().await.expect("begun");
    sqlx::query("SELECT id FROM users FOR UPDATE")
        .execute(&mut *removal)
        .await
        .expect("locked");
    let removing = async {
        eventually(DEADLINE, "the reset waits", async || {
            let waiting = "SELECT count(*) FROM pg_stat_activity
                           WHERE datname = current_database() AND wait_event_type = 'Lock'";
            database.query(waiting).expect("counted") == "1"
        })
        .await;
        sqlx::query("DELETE FROM users")
            .execute(&mut *removal)
            .await
            .expect("the reset holds nothing that the removal needs");
        removal.commit().await.expect("removed");
    };
    let (used, ()) = tokio::join!(store.use_password_reset(&token, "new", NOW), removing);
    let used = used.expect("no deadlock");
    assert_eq!(used, None, "whose link it was is gone");
}

#[tokio::test]
async fn only_who_manages_now_renames_the_organization_and_revokes_invitations() {
    let (store, database) = store().await;
    let (org, ann) = founded(&store, "ann@example.com").await;
    let invitation = Invitation {
        id: InvitationId::new(NOW, [4; 10]),
        email: address("guest@example.com"),
        role: Role::Viewer,
        invited_by: ann,
        created_at: NOW,
        expires_at: NOW.plus(Duration::from_secs(60)),
    };
    let token = SecretToken::new(TokenKind::Link, [5; 32]).hash();
    let saved = store.save_invitation(org, &invitation, &token).await;
    saved.expect("an answer").expect("saved");

    let removed = UserId::new(NOW, [9; 10]);
    let hand = |user| Hand { org, user, at: NOW };
    let renamed = async |by| {
        let answer = store.rename_organization(hand(by), "New").await;
        answer.expect("one")
    };
    let revoked = async |by| {
        let answer = store.revoke_invitation(hand(by), invitation.id).await;
        answer.expect("an answer")
    };
    assert_eq!(renamed(removed).await, Err(Refused::NotAllowed));
    assert_eq!(revoked(removed).await, Err(Refused::NotAllowed));
    database
        .query("UPDATE users SET role = 'viewer'")
        .expect("demoted");
    assert_eq!(renamed(ann).await, Err(Refused::NotAllowed));
    assert_eq!(revoked(ann).await, Err(Refused::NotAllowed));
    database
        .query("UPDATE users SET role = 'admin'")
        .expect("promoted");
    assert_eq!(revoked(ann).await, Ok(()));
    assert_eq!(revoked(ann).await, Err(Refused::NotFound));
    assert_eq!(renamed(ann).await, Ok(()));
}
