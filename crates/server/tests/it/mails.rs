//! Mail and its server: nobody waits for it, and what it missed arrives when it is back.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::json;
use testkit::{MailSink, Stopwatch};

use crate::deployment::{DEADLINE, Deployment, ok};
use crate::people::{PASSWORD, Person, Town, looks};

/// A request that waited for the mail server would take its time limit, 10 s, or fail.
const QUICK: Duration = Duration::from_secs(2);

async fn metric(person: &Person, line: &str) -> u64 {
    let text = person.get("/metrics").await.text().await.expect("a text");
    let found = text.lines().find_map(|one| one.strip_prefix(line));
    found.map_or(0, |count| count.trim().parse().expect("a number"))
}

#[tokio::test]
async fn while_the_mail_server_is_down_answers_are_the_same_and_mail_comes_when_it_is_back() {
    let mut town = Town::start();
    let ann = town.owner().await;
    let (before, after) = (town.stranger(), town.stranger());
    let reset = async |email: &str| {
        let body = json!({"email": email});
        looks(ann.post("/v1/auth/password-reset", &body).await).await
    };
    let registered = looks(before.register().await).await;
    let asked = reset(&before.email).await;
    town.mail.wait_for(&before.email, 1, DEADLINE).await;

    town.mail.stop();
    let started = Stopwatch::start();
    assert_eq!(looks(after.register().await).await, registered);
    assert_eq!(reset(&ann.email).await, asked);
    assert_eq!(reset(&after.email).await, asked);
    ann.invite(&after.email, "viewer").await;
    assert!(started.elapsed() < QUICK, "{:?}", started.elapsed());
    town.server.wait_for_line(DEADLINE, |line| {
        line.contains("a mail was not sent; will retry")
    });

    town.mail.restart().expect("started again");
    let mail = town.mail.wait_for(&ann.email, 2, DEADLINE).await;
    assert_eq!(mail.subject, "Choose a new password");
    town.mail.wait_for(&after.email, 2, DEADLINE).await;
    let chosen = json!({"token": mail.token(), "password": "a new and better password"});
    let confirmed = ann.post("/v1/auth/password-reset/confirm", &chosen).await;
    assert_eq!(confirmed.status(), StatusCode::NO_CONTENT);
    assert_eq!(town.mail.count(), 5, "each once");
    assert_eq!(
        metric(&ann, "watchbell_mails_total{outcome=\"sent\"}").await,
        5
    );

    let addresses = [&ann.email, &before.email, &after.email];
    for line in town.server.lines() {
        assert!(
            !addresses.iter().any(|address| line.contains(*address)),
            "{line}"
        );
        assert!(!line.contains("wbt_"), "{line}");
    }
}

#[tokio::test]
async fn a_mail_server_that_hangs_slows_nobody_down() {
    // Accepts connections, because the system does, and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address");
    let deployment = Deployment::new().with("MAIL__SMTP_URL", &format!("smtp://{address}"));
    let mut server = deployment.serve("api");
    let ann = Person::at(&server.url(DEADLINE));
    for _ in 0..3 {
        let started = Stopwatch::start();
        ok(ann.register().await).await;
        let body = json!({"email": ann.email});
        ok(ann.post("/v1/auth/password-reset", &body).await).await;
        assert!(started.elapsed() < QUICK, "{:?}", started.elapsed());
    }
    let stopping = Stopwatch::start();
    assert!(server.terminate(DEADLINE).success());
    assert!(
        stopping.elapsed() < Duration::from_secs(20),
        "{:?}",
        stopping.elapsed()
    );
}

#[tokio::test]
async fn when_too_many_mails_wait_the_next_are_dropped_and_counted_and_nobody_notices() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address");
    let deployment = Deployment::new().with("MAIL__SMTP_URL", &format!("smtp://{address}"));
    let mut server = deployment.serve("api");
    deployment.customer(&mut server);
    let ann = Person::at(&server.url(DEADLINE));
    let known = deployment.sql("SELECT email FROM users");
    let body = json!({"email": known});
    // 1,000 wait and 16 are on their way.
    for _ in 0..22 {
        let asked = (0..50).map(|_| ann.post("/v1/auth/password-reset", &body));
        for answer in futures::future::join_all(asked).await {
            assert_eq!(answer.status(), StatusCode::ACCEPTED);
        }
    }
    let dropped = metric(&ann, "watchbell_mails_total{outcome=\"dropped\"}").await;
    assert!((1..=84).contains(&dropped), "{dropped}");
    server.wait_for_line(DEADLINE, |line| line.contains("too many mails are waiting"));
}

#[tokio::test]
async fn an_address_that_the_mail_server_refuses_is_given_up_at_once_and_not_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || refuse_everybody(&listener));
    let deployment = Deployment::new().with("MAIL__SMTP_URL", &format!("smtp://{address}"));
    let mut server = deployment.serve("api");
    let ann = Person::at(&server.url(DEADLINE));
    ok(ann.register().await).await;
    let line = server.wait_for_line(DEADLINE, |line| line.contains("gave up on a mail"));
    assert!(
        line.contains("\"tries\":1") && line.contains("550"),
        "{line}"
    );
    assert!(!server.lines().iter().any(|line| line.contains(&ann.email)));
    assert_eq!(
        metric(&ann, "watchbell_mails_total{outcome=\"failed\"}").await,
        1
    );
}

/// Speaks just enough SMTP to say that it knows nobody, and names whom.
fn refuse_everybody(listener: &TcpListener) {
    for stream in listener.incoming() {
        let mut stream = stream.expect("a connection");
        stream.write_all(b"220 here\r\n").expect("written");
        let reader = BufReader::new(stream.try_clone().expect("a copy"));
        for line in reader.lines().map_while(Result::ok) {
            let answer = match line.get(..4) {
                Some("RCPT") => format!("550 5.1.1 {line}: user unknown\r\n"),
                Some("QUIT") => "221 bye\r\n".to_owned(),
                _ => "250 ok\r\n".to_owned(),
            };
            if stream.write_all(answer.as_bytes()).is_err() {
                break;
            }
        }
    }
}

#[tokio::test]
async fn letters_that_the_mail_server_puts_off_keep_no_others_back() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || put_off_the_busy(&listener));
    let deployment = Deployment::new().with("MAIL__SMTP_URL", &format!("smtp://{address}"));
    let mut server = deployment.serve("api");
    let base_url = server.url(DEADLINE);
    // More than may be on their way at a time; each is tried for some six minutes.
    let busy: Vec<_> = (0..20)
        .map(|number| Person {
            email: format!("busy-{number}@example.com"),
            ..Person::at(&base_url)
        })
        .collect();
    for answer in futures::future::join_all(busy.iter().map(Person::register)).await {
        assert_eq!(answer.status(), StatusCode::ACCEPTED);
    }
    // All places that there are were taken, and taken again.
    testkit::eventually(DEADLINE, "the busy wait", async || {
        let third = |line: &String| line.contains("will retry") && line.contains("\"tries\":3");
        server.lines().iter().filter(|line| third(line)).count() >= 16
    })
    .await;
    let ann = Person::at(&base_url);
    ok(ann.register().await).await;
    let sent = "watchbell_mails_total{outcome=\"sent\"}";
    testkit::eventually(DEADLINE, "the other is sent", async || {
        metric(&ann, sent).await == 1
    })
    .await;
    assert!(server.terminate(DEADLINE).success());
    let given_up = |line: &&String| line.contains("gave up on a mail");
    assert_eq!(
        server.lines().iter().filter(given_up).count(),
        20,
        "each is tried once more when the server stops"
    );
}

/// Speaks just enough SMTP to take mail, except for those who are busy: they are to be tried later.
fn put_off_the_busy(listener: &TcpListener) {
    for stream in listener.incoming() {
        let mut stream = stream.expect("a connection");
        std::thread::spawn(move || {
            stream.write_all(b"220 here\r\n").expect("written");
            let reader = BufReader::new(stream.try_clone().expect("a copy"));
            let mut in_mail = false;
            for line in reader.lines().map_while(Result::ok) {
                if in_mail && line != "." {
                    continue;
                }
                in_mail = line == "DATA";
                let answer: &[u8] = match line.get(..4) {
                    Some("RCPT") if line.contains("busy") => b"451 4.7.1 later\r\n",
                    Some("DATA") => b"354 go on\r\n",
                    Some("QUIT") => b"221 bye\r\n",
                    _ => b"250 ok\r\n",
                };
                if stream.write_all(answer).is_err() {
                    break;
                }
            }
        });
    }
}

#[tokio::test]
async fn an_address_gets_only_so_many_mails_of_a_kind_whoever_causes_them_and_nobody_can_tell() {
    let town = Town::with(Deployment::new().with("LIMITS__MAILS", "2/1h"));
    let (ann, eve) = (town.owner().await, town.owner().await);
    let (bob, other) = (town.stranger(), town.stranger());
    bob.register().await;
    bob.register().await;
    town.mail.wait_for(&bob.email, 2, DEADLINE).await;

    let dropped = "watchbell_mails_total{outcome=\"dropped\"}";
    assert_eq!(metric(&ann, dropped).await, 0);
    assert_eq!(
        looks(bob.register().await).await,
        looks(other.register().await).await
    );
    testkit::eventually(DEADLINE, "one is dropped", async || {
        metric(&ann, dropped).await == 1
    })
    .await;

    // What strangers caused used up nothing of what others have to say.
    ann.invite(&bob.email, "viewer").await;
    eve.invite(&bob.email, "viewer").await;
    town.mail.wait_for(&bob.email, 4, DEADLINE).await;
    eve.invite(&bob.email, "admin").await;
    testkit::eventually(DEADLINE, "another is dropped", async || {
        metric(&ann, dropped).await == 2
    })
    .await;
    town.mail.wait_for(&other.email, 1, DEADLINE).await;
    assert_eq!(town.mail.mails_to(&bob.email).len(), 4);
}

#[tokio::test]
async fn strangers_who_ask_for_somebodys_new_password_do_not_keep_them_from_one() {
    let town = Town::with(Deployment::new().with("LIMITS__MAILS", "2/1h"));
    let (ann, eve) = (town.owner().await, town.owner().await);
    let wanted = json!({"email": ann.email});
    // Their browsers are known too, but not as hers.
    let strangers_ask = async || looks(eve.post("/v1/auth/password-reset", &wanted).await).await;
    let taken = strangers_ask().await;
    town.mail.wait_for(&ann.email, 2, DEADLINE).await;
    strangers_ask().await;
    town.mail.wait_for(&ann.email, 3, DEADLINE).await;
    assert_eq!(strangers_ask().await, taken, "nobody can tell");
    let dropped = "watchbell_mails_total{outcome=\"dropped\"}";
    testkit::eventually(DEADLINE, "theirs is dropped", async || {
        metric(&ann, dropped).await == 1
    })
    .await;

    // She asks with a browser that she was let in with, logged in or not.
    ann.post("/v1/auth/logout", &json!({})).await;
    for number in 4..=5 {
        ok(ann.post("/v1/auth/password-reset", &wanted).await).await;
        town.mail.wait_for(&ann.email, number, DEADLINE).await;
    }
    // A mail that is dropped voids nothing: the link before it still works.
    ok(ann.post("/v1/auth/password-reset", &wanted).await).await;
    testkit::eventually(DEADLINE, "hers is dropped too", async || {
        metric(&ann, dropped).await == 2
    })
    .await;
    let token = town.mail.mails_to(&ann.email)[4].token();
    let chosen = json!({"token": token, "password": "a new and better password"});
    let confirmed = ann.post("/v1/auth/password-reset/confirm", &chosen).await;
    assert_eq!(confirmed.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn what_is_handed_in_last_is_still_sent_when_the_server_stops() {
    let mut town = Town::start();
    let strangers: Vec<_> = (0..10).map(|_| town.stranger()).collect();
    futures::future::join_all(strangers.iter().map(Person::register)).await;
    assert!(town.server.terminate(DEADLINE).success());
    for stranger in &strangers {
        town.mail.wait_for(&stranger.email, 1, DEADLINE).await;
    }
    assert_eq!(town.mail.count(), 10);
}

#[tokio::test]
async fn while_postgres_is_away_people_are_told_so_and_not_that_they_are_unknown() {
    let (mut postgres, deployment) = Deployment::on_own_postgres();
    let mut server = deployment.serve("api");
    let mut ann = Person::at(&server.url(DEADLINE));
    ok(ann.register().await).await;
    ann.log_in(PASSWORD).await;
    postgres.stop();
    for answer in [
        ann.get("/v1/me").await,
        ann.try_log_in(PASSWORD).await,
        ann.register().await,
        ann.post("/v1/auth/logout", &json!({})).await,
    ] {
        let problem = crate::errors::problem(answer, 503).await;
        assert_eq!(problem["code"], "STORE_UNAVAILABLE");
    }
    postgres.restart().expect("started again");
    testkit::eventually(DEADLINE, "the session counts again", async || {
        ann.get("/v1/me").await.status() == StatusCode::OK
    })
    .await;
}

#[test]
fn the_doctor_asks_the_mail_server_how_it_is() {
    let mut mail = MailSink::start().expect("a mail server");
    let deployment = Deployment::new().with("MAIL__SMTP_URL", &mail.url());
    let finding = || {
        let mut doctor = deployment.command(&["doctor"]);
        doctor.wait_until_ended(DEADLINE);
        doctor.wait_for_line(DEADLINE, |line| {
            line.split_whitespace().nth(1) == Some("mail")
        })
    };
    assert!(finding().starts_with("ok"));
    mail.stop();
    assert!(finding().starts_with("FAIL"));
}
