//! Endpoints as every worker sees them, and deliveries that were canceled.

use domain::{
    DeliveryId, EndpointId, OrgId, Timestamp,
    delivery::endpoint::{Endpoint, Gate},
};
use tokio::time::timeout;
use uuid::Uuid;

use crate::{DEADLINE, journal};

#[tokio::test]
async fn of_two_who_change_an_endpoint_one_is_told_to_look_again() {
    let journal = journal().await;
    let org = OrgId::from_uuid(Uuid::from_u128(1));
    let (url, at) = ("https://example.com", Timestamp::default());
    let id = EndpointId::of(org, url);
    assert_eq!(journal.endpoint(org, id).await.expect("an answer"), None);
    let mut paused = Endpoint::new(org, url);
    paused.pause(at);

    let first = journal.set_endpoint(&paused, 0).await.expect("an answer");
    assert!(first.is_some());
    let second = journal.claim_endpoint(&paused, 0).await;
    assert_eq!(second.expect("an answer"), None, "somebody was faster");
    let the_same = journal.set_endpoint(&paused, 0).await;
    assert_eq!(the_same.expect("an answer"), first, "it may have been us");
    let mut gone = paused.clone();
    gone.gone_at = Some(at);
    let third = journal.set_endpoint(&gone, 0).await;
    assert_eq!(third.expect("an answer"), None, "it was not");
    let mut changes = journal.endpoint_changes();
    let seen = timeout(DEADLINE, changes.next()).await.expect("in time");
    let seen = seen.expect("changes").remove(0);
    assert_eq!(Some(seen.revision), first);
    let endpoint = seen.value.expect("in trouble");
    assert!(matches!(endpoint.gate(at), Gate::Shut { .. }));

    // Well again, there is nothing to be known of it.
    let plain = Endpoint::new(org, url);
    let well = journal.set_endpoint(&plain, seen.revision);
    assert!(well.await.expect("an answer").is_some());
    let seen = timeout(DEADLINE, changes.next()).await.expect("in time");
    assert_eq!(seen.expect("changes")[0].value, None);
}

#[tokio::test]
async fn a_delivery_is_canceled_until_it_is_wanted_again() {
    let journal = journal().await;
    let delivery = DeliveryId::from_uuid(Uuid::from_u128(7));
    let mut cancels = journal.cancels();
    journal.cancel(delivery).await.expect("canceled");
    let heard = timeout(DEADLINE, cancels.next()).await.expect("in time");
    assert_eq!(heard.expect("changes"), [(delivery, true)]);
    journal.want_again(delivery).await.expect("wanted");
    let heard = timeout(DEADLINE, cancels.next()).await.expect("in time");
    assert_eq!(heard.expect("changes"), [(delivery, false)]);
}
