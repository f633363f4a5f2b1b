//! Endpoints as every worker sees them, and deliveries that were canceled.

use domain::{
    DeliveryId, EndpointId, OrgId, Timestamp,
    delivery::endpoint::{Endpoint, Gate},
};
use journal::cancellations::{Void, Voided};
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
async fn a_canceled_delivery_is_void_and_a_round_that_begins_later_is_not() {
    let journal = journal().await;
    let delivery = DeliveryId::from_uuid(Uuid::from_u128(7));
    let at = Timestamp::from_unix_millis;
    let mut cancels = journal.cancels();
    let mut heard = async || {
        let heard = timeout(DEADLINE, cancels.next()).await.expect("in time");
        heard.expect("changes").remove(0)
    };
    let voided = |until, why| {
        let until = at(until);
        (delivery, Voided { until, why })
    };
    journal.cancel(delivery, at(10)).await.expect("canceled");
    assert_eq!(heard().await, voided(10, Void::Canceled));
    let begun = journal.want_again(delivery, at(20)).await.expect("wanted");
    assert_eq!(begun, at(20));
    assert_eq!(heard().await, voided(19, Void::Superseded));

    // Of two who want it at the same time, by clocks that differ, one round is begun.
    let begun = journal.want_again(delivery, at(15)).await.expect("wanted");
    assert_eq!(begun, at(20));
    // By a clock that is behind the round that it is about.
    journal.cancel(delivery, at(5)).await.expect("canceled");
    assert_eq!(heard().await, voided(20, Void::Canceled));
    let begun = journal.want_again(delivery, at(15)).await.expect("wanted");
    assert_eq!(begun, at(21));
    assert_eq!(heard().await, voided(20, Void::Superseded));
}
