//! The test kit itself: what other tests rely on without looking.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use testkit::{Answer, Database, MailSink, Receiver, Watchbell, eventually_blocking, own, shared};

const DEADLINE: Duration = Duration::from_secs(20);

#[test]
fn each_test_gets_its_own_copy_of_a_template_made_once() {
    let made = AtomicUsize::new(0);
    let fresh = || {
        Database::from_template("testkit_template", |url| {
            made.fetch_add(1, Ordering::SeqCst);
            let sql = "CREATE TABLE kept (value int)";
            engines::postgres::query(&shared().postgres_binaries, url, sql).map(drop)
        })
        .expect("a database")
    };
    let first = fresh();
    first
        .query("INSERT INTO kept VALUES (1)")
        .expect("inserted");
    let second = fresh();
    assert_eq!(
        second.query("SELECT count(*) FROM kept").expect("counted"),
        "0"
    );
    assert!(made.load(Ordering::SeqCst) <= 1);

    let name = second.name().to_owned();
    drop(second);
    let sql = format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'");
    assert_eq!(first.query(&sql).expect("counted"), "0");
}

#[tokio::test]
async fn a_template_whose_migration_fails_is_not_used() {
    let failing = Database::from_template_async("testkit_failing", async |_| {
        anyhow::bail!("no such migration")
    });
    let error = failing.await.expect_err("the migration failed");
    assert!(
        format!("{error:#}").contains("no such migration"),
        "{error:#}"
    );
    let database = Database::from_template_async("testkit_failing", async |_| Ok(())).await;
    assert!(database.is_ok(), "{database:?}");
}

#[tokio::test]
async fn the_receiver_keeps_bytes_and_headers_and_answers_as_scripted() {
    let receiver = Receiver::start().expect("it starts");
    receiver.answer_sequence([500, 503]);
    let body = "{\"rule_id\":\"rule_1\",\"event\": {\"id\":\"evt_1\"} }";
    let statuses: Vec<u16> = (0..3).map(|_| post(receiver.address(), body)).collect();
    assert_eq!(statuses, [500, 503, 200]);
    let deliveries = receiver.wait_for(3, DEADLINE).await;
    assert_eq!(deliveries[0].body, body);
    assert_eq!(deliveries[0].uri, "/hook");
    assert_eq!(deliveries[0].delivery_id(), Some("del_1"));
    assert_eq!(deliveries[0].rule_id().as_deref(), Some("rule_1"));
    assert_eq!(deliveries[0].event_id().as_deref(), Some("evt_1"));
    assert_eq!(deliveries[1].answered, 503);

    receiver.answer_with(410);
    assert_eq!(post(receiver.address(), body), 410);
    receiver.answer_by(|received| Answer::status(if received.uri == "/hook" { 429 } else { 404 }));
    assert_eq!(post(receiver.address(), body), 429);
    let delay = Duration::from_millis(100);
    receiver.answer_always(Answer::status(204).after(delay));
    let started = Instant::now();
    assert_eq!(post(receiver.address(), body), 204);
    assert!(started.elapsed() >= delay);

    let address = receiver.address();
    drop(receiver);
    assert!(TcpStream::connect(address).is_err());
}

#[tokio::test]
async fn a_light_receiver_misbehaves_by_path_and_keeps_who_came_when() {
    let receiver = Receiver::start_light().expect("it starts");
    let brief = Duration::from_millis(10);
    receiver.answer_at("/hang", Answer::never());
    receiver.answer_at("/close", Answer::hang_up());
    receiver.answer_at("/trickle", Answer::status(200).trickled(brief));
    receiver.answer_at("/endless", Answer::status(200).endless(1 << 30));
    receiver.answer_at("/busy", Answer::status(429).header("retry-after", "7"));
    let read = |path: &str, bytes: usize| {
        let mut stream = TcpStream::connect(receiver.address()).expect("it listens");
        stream
            .set_read_timeout(Some(brief * 20))
            .expect("a timeout");
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nX-Service-Delivery-Id: dlv_1\r\n\
             X-Service-Attempt: 2\r\nContent-Length: 2\r\n\r\n{{}}"
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = vec![0; bytes];
        stream.read_exact(&mut answer).map(|()| answer)
    };
    let too_slow = read("/hang", 1).expect_err("no answer");
    assert_eq!(too_slow.kind(), std::io::ErrorKind::WouldBlock);
    let closed = read("/close", 1).expect_err("no answer");
    assert_eq!(closed.kind(), std::io::ErrorKind::UnexpectedEof);
    let trickled = read("/trickle", 150).expect("some of it");
    let trickled = String::from_utf8(trickled).expect("text");
    assert!(
        trickled.contains("1\r\n.\r\n1\r\n.\r\n"),
        "a byte at a time: {trickled}"
    );
    read("/endless", 1 << 20).expect("some of it");
    assert!(receiver.bytes_handed_over() >= 1 << 20);
    let busy = read("/busy", 40).expect("an answer");
    assert!(busy.starts_with(b"HTTP/1.1 429"));

    let arrivals = receiver.arrivals();
    assert_eq!((receiver.connections(), receiver.count()), (5, 5));
    assert_eq!(&*arrivals[4].delivery_id, "dlv_1");
    assert_eq!(
        (arrivals[4].attempt, arrivals[4].answered.as_u16()),
        (2, 429)
    );
    assert!(arrivals[0].at <= arrivals[4].at);
}

#[tokio::test]
async fn the_receiver_keeps_up_with_tens_of_thousands_of_deliveries() {
    const CONNECTIONS: usize = 4;
    const EACH: usize = 5_000;
    let receiver = Receiver::start().expect("it starts");
    let address = receiver.address();
    let senders: Vec<_> = (0..CONNECTIONS)
        .map(|_| thread::spawn(move || post_many(address, EACH)))
        .collect();
    let deliveries = receiver.wait_for(CONNECTIONS * EACH, DEADLINE).await;
    assert_eq!(deliveries.len(), CONNECTIONS * EACH);
    for sender in senders {
        sender.join().expect("every delivery was answered");
    }
}

#[test]
fn a_program_is_heard_and_ends_when_told() {
    let script = r#"
        trap 'echo stopping; exit 7' TERM
        echo "token ${WATCHBELL_TEST_POSTGRES_URL:-unset} $GIVEN"
        echo '{"level":"INFO","fields":{"message":"listening","address":"127.0.0.1:4711"}}' >&2
        echo '{"level":"INFO","message":"ready"}'
        while :; do sleep 0.01; done
    "#;
    let mut program = Watchbell::spawn(Path::new("sh"), &["-c", script], [("GIVEN", "given")])
        .expect("sh starts");
    assert_eq!(
        program.address(DEADLINE),
        "127.0.0.1:4711".parse().expect("an address")
    );
    program.wait_until_ready(DEADLINE);
    let line = program.wait_for_line(DEADLINE, |line| line.starts_with("token"));
    assert_eq!(line, "token unset given");
    assert_eq!(program.terminate(DEADLINE).code(), Some(7));
    program.wait_for_line(DEADLINE, |line| line == "stopping");
}

#[test]
#[should_panic(expected = "before: it says where it listens")]
fn a_program_that_ends_early_fails_the_wait_at_once() {
    let mut program =
        Watchbell::spawn(Path::new("sh"), &["-c", "echo no; exit 3"], []).expect("sh starts");
    program.address(Duration::from_mins(1));
}

#[test]
fn a_test_can_stop_and_start_engines_of_its_own() {
    let mut postgres = own::postgres().expect("PostgreSQL starts");
    postgres
        .query("CREATE TABLE kept AS SELECT 1 AS value")
        .expect("a table is made");
    postgres.stop();
    assert!(postgres.query("SELECT 1").is_err());
    postgres.restart().expect("it starts again");
    assert_eq!(
        postgres.query("SELECT value FROM kept").expect("an answer"),
        "1"
    );

    let mut redis = own::redis().expect("Redis starts");
    redis.kill();
    redis.restart().expect("it starts again");
    eventually_blocking(DEADLINE, "Redis accepts connections", || {
        TcpStream::connect(("127.0.0.1", redis.port())).is_ok()
    });
}

/// One after the other over one connection, as a sender with keep-alive does.
#[tokio::test]
async fn the_mail_server_keeps_what_it_is_sent_and_comes_back_on_its_port() {
    let mut mail = MailSink::start().expect("a mail server");
    let url = mail.url();
    let send = |subject: &str| {
        let address = url.strip_prefix("smtp://").expect("an address");
        let mut stream = BufReader::new(TcpStream::connect(address).expect("connected"));
        let body = format!(
            "From: a@b.c\r\nSubject: {subject}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nh=C3=A9 #token=3Dx=\r\ny\r\n."
        );
        let said = [
            "EHLO me",
            "MAIL FROM:<a@b.c>",
            "RCPT TO:<d@e.f>",
            "DATA",
            &body,
            "QUIT",
        ];
        for line in [""].into_iter().chain(said) {
            if !line.is_empty() {
                write!(stream.get_mut(), "{line}\r\n").expect("said");
            }
            let mut answer = String::from("250-");
            while answer.get(3..4) == Some("-") {
                answer.clear();
                stream.read_line(&mut answer).expect("an answer");
            }
            assert!(answer.starts_with(['2', '3']), "{line}: {answer}");
        }
    };
    send("one");
    mail.wait_for("d@e.f", 1, DEADLINE).await;
    mail.stop();
    assert!(TcpStream::connect(url.strip_prefix("smtp://").expect("an address")).is_err());
    mail.restart().expect("started again");
    assert_eq!(mail.url(), url);
    send("two");
    let second = mail.wait_for("d@e.f", 2, DEADLINE).await;
    assert_eq!(
        (second.subject.as_str(), second.from.as_str()),
        ("two", "a@b.c")
    );
    assert_eq!(second.body, "hé #token=xy\n");
    assert_eq!(second.token(), "xy");
    assert_eq!(mail.mails_to("nobody@e.f").len(), 0);
    assert_eq!(mail.count(), 2);
}

fn post_many(address: SocketAddr, count: usize) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_nodelay(true)
        .expect("small requests go out at once");
    stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    let mut answers = BufReader::new(stream.try_clone().expect("a second handle"));
    let request = format!("POST / HTTP/1.1\r\nHost: {address}\r\nContent-Length: 2\r\n\r\n{{}}");
    for _ in 0..count {
        stream.write_all(request.as_bytes()).expect("sent");
        let mut line = String::new();
        answers.read_line(&mut line).expect("answered");
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        while line != "\r\n" {
            line.clear();
            answers
                .read_line(&mut line)
                .expect("the head of the answer");
        }
    }
}

/// A request with our own bytes; a client would tidy them.
fn post(address: SocketAddr, body: &str) -> u16 {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    write!(
        stream,
        "POST /hook HTTP/1.1\r\nHost: {address}\r\nX-Service-Delivery-Id: del_1\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    let status = answer.split(' ').nth(1).expect("a status line");
    status.parse().expect("a status")
}
