//! Tells owners and admins by mail of endpoints in lasting trouble, at most once for each notice.

use std::time::Duration;

use domain::{account::EmailAddress, delivery::endpoint::Notice};
use runtime::retry::Retries;
use store::{endpoints::NoticeToMail, members::MANAGERS_MAX};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{
    mail::{Letter, Post},
    planes::ControlPlane,
};

/// How often it is looked for notices that wait.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The notices of an organization that are mailed in the time below, each to all its managers: an organization whose network is down hears of some
/// of its endpoints, and looks at the list for the rest.
const PER_ORG_MAX: u32 = 10;
/// That time. What has waited for so long is no news any more and is not mailed.
const WINDOW: Duration = Duration::from_hours(1);
/// How many are taken in one round; the rest is for the next.
const ROUND_MAX: u32 = 100;

/// Whether people are mailed of it: of what lasts and needs somebody, not of each breaker that opens.
pub(in crate::deliveries) fn is_mailed(notice: Notice) -> bool {
    match notice {
        Notice::FailingFor15Minutes
        | Notice::FailingForAnHour
        | Notice::FailingForADay
        | Notice::Rejecting
        | Notice::Redirecting
        | Notice::Disabled => true,
        Notice::BreakerOpened
        | Notice::BreakerClosed
        | Notice::Paused
        | Notice::Resumed
        | Notice::Unverified
        | Notice::Verified => false,
    }
}

/// Mails what waits, until stopped.
pub async fn sweep(
    plane: ControlPlane,
    post: Post,
    stopping: CancellationToken,
) -> anyhow::Result<()> {
    let mut retries = Retries::new("mail endpoint notices", &stopping);
    loop {
        tokio::select! {
            () = sleep(LOOK_EVERY) => {}
            () = stopping.cancelled() => return Ok(()),
        }
        retries.again(mail_all(&plane, &post).await).await;
    }
}

/// Taken before it is handed in: a crash in between loses a mail, and repeats none. No more are taken than half of
/// the mail queue has room for, as each may be for all managers of an organization; the others wait.
async fn mail_all(plane: &ControlPlane, post: &Post) -> Result<(), store::Error> {
    let now = plane.clock.now();
    let room = u32::try_from(post.room_for_notices()).unwrap_or(u32::MAX) / MANAGERS_MAX;
    if room == 0 {
        return Ok(());
    }
    let limit = ROUND_MAX.min(room);
    let taken = plane
        .store
        .take_notices_to_mail(now, WINDOW, PER_ORG_MAX, limit);
    for notice in taken.await? {
        for email in plane.store.managers(notice.org).await? {
            if let Some(email) = EmailAddress::parse(&email) {
                post.hand_in(letter(email, &notice));
            }
        }
    }
    Ok(())
}

fn letter(email: EmailAddress, notice: &NoticeToMail) -> Letter {
    Letter::EndpointNotice {
        email,
        subject: subject(&notice.notice).to_owned(),
        body: body(notice),
    }
}

fn subject(notice: &str) -> &'static str {
    match notice {
        "failing_15_minutes" => "A webhook endpoint has been failing for 15 minutes",
        "failing_1_hour" => "A webhook endpoint has been failing for an hour",
        "failing_1_day" => "A webhook endpoint has been failing for a day",
        "rejecting" => "A webhook endpoint is refusing deliveries",
        "redirecting" => "A webhook endpoint is redirecting",
        _ => "A webhook endpoint was disabled",
    }
}

fn body(notice: &NoticeToMail) -> String {
    let (url, at, id) = (&notice.url, notice.at, notice.endpoint);
    let what = match notice.notice.as_str() {
        "failing_15_minutes" => {
            "It has not accepted a delivery for 15 minutes. Nothing is lost: each delivery is retried for up to 72 hours."
        }
        "failing_1_hour" => {
            "It has not accepted a delivery for an hour. Nothing is lost: each delivery is retried for up to 72 hours."
        }
        "failing_1_day" => {
            "It has not accepted a delivery for a day. After three days it is disabled, and deliveries are then held \
             until someone resumes it."
        }
        "rejecting" => {
            "It refused several deliveries in a row (with a status from 400 to 499). Look at what it says: 400 often \
             means a wrong clock, 401 a wrong signing secret, 404 a wrong path."
        }
        "redirecting" => {
            "It answers with a redirect, which is never followed. Set the new URL in the rules that use it."
        }
        _ => {
            "Nothing is sent to it anymore, because it failed for days or said twice that it is gone. Deliveries are \
             held; none is lost. Once it works again, resume it and recover what was held."
        }
    };
    let error = notice.error.as_ref();
    let error = error.map_or_else(String::new, |error| format!("The last error: {error}\n\n"));
    format!(
        "This is about the endpoint {url}, at {at}.\n\n\
         {what}\n\n\
         {error}View it: GET /v1/endpoints/{id}\n\
         Resume it: POST /v1/endpoints/{id}/resume\n\
         Resend what was held or failed: POST /v1/alert-rules/{{id}}/recover\n"
    )
}
