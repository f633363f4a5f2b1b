//! Deliveries over TLS: whose certificates are believed, and what is said of the others.

use std::net::Ipv4Addr;
use std::path::Path;

use domain::delivery::Outcome;
use futures::future::join_all;
use testkit::folder::TestFolder;
use testkit::{Authority, NameServer, Receiver, Watchbell};

use crate::deployment::{BINARY, DEADLINE, Deployment};
use crate::transport::{attempts, deliver_to, error};

#[tokio::test]
async fn only_a_receiver_with_a_good_certificate_is_sent_to_and_others_are_told_what_is_wrong() {
    let authority = Authority::new().expect("an authority");
    let unknown = Authority::new().expect("an authority");
    let start = |identity: anyhow::Result<testkit::Identity>| {
        Receiver::start_secured(identity.expect("an identity")).expect("a receiver")
    };
    let good = start(authority.identity("good.test"));
    let cases = [
        (
            start(authority.expired_identity("expired.test")),
            "expired.test",
            "expired",
        ),
        (
            start(authority.identity("another.test")),
            "misnamed.test",
            "another.test",
        ),
        (
            start(unknown.identity("unknown.test")),
            "unknown.test",
            "issue",
        ),
        (Receiver::start().expect("a receiver"), "plain.test", "TLS"),
    ];
    let names = NameServer::start().expect("a name server");
    let deployment = Deployment::new().with("DELIVERY__NAMESERVERS", &names.address().to_string());
    let trusted = TestFolder::create().expect("a folder");
    let file = trusted.path().join("authority.pem");
    std::fs::write(&file, authority.pem()).expect("written");
    let variables = deployment.variables();
    let settings = variables.chain([("SSL_CERT_FILE", file.to_str().expect("a path"))]);
    let roles = ["serve", "--role", "api,index,match,deliver"];
    let mut server = Watchbell::spawn(Path::new(BINARY), &roles, settings).expect("it starts");
    let customer = deployment.customer(&mut server);

    let url = |receiver: &Receiver, name: &str| {
        names.answer(name, &[Ipv4Addr::LOCALHOST.into()]);
        format!("https://{name}:{}/", receiver.address().port())
    };
    let mut urls = vec![url(&good, "good.test")];
    urls.extend(cases.iter().map(|(receiver, name, _)| url(receiver, name)));
    let ids = deliver_to(&customer, &urls).await;
    let all = join_all(ids.iter().map(|id| attempts(&deployment, id))).await;

    let delivered = &all[0][0];
    assert_eq!(delivered.outcome, Outcome::Delivered, "{delivered:?}");
    assert_eq!(delivered.tls.as_deref(), Some("1.3"));
    let timings = delivered.timings;
    assert!(timings.connected_us < timings.secured_us, "{timings:?}");
    assert!(timings.secured_us < timings.sent_us, "{timings:?}");
    good.wait_for(1, DEADLINE).await;
    for ((receiver, name, words), attempts) in cases.iter().zip(&all[1..]) {
        let attempt = &attempts[0];
        assert_eq!(attempt.outcome, Outcome::Transient, "{name}");
        assert!(error(attempt).contains(words), "{name}: {}", error(attempt));
        let address = receiver.address().to_string();
        assert_eq!(attempt.remote_address, Some(address), "{name}");
        assert_eq!(receiver.count(), 0, "nothing is sent to {name}");
    }
}
