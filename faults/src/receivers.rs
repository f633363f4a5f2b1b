//! What customers run: a receiver that verifies what it gets as the contract says, and has bad days.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use domain::DeliveryId;
use testkit::{Answer, Received, Receiver};
use webhook_signature::{Refusal, SIGNATURE_HEADER, TIMESTAMP_HEADER, Verifier};

use crate::books::{Arrival, Books, Org};

/// How the receivers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Answer 503.
    Broken,
    /// Take the request and never answer.
    Hanging,
    /// Take the request and close the connection.
    HangingUp,
}

const PORT: u16 = 9000;
const MOODS: [Mood; 4] = [Mood::Well, Mood::Broken, Mood::Hanging, Mood::HangingUp];

/// All customers' receivers behind one address, told apart by path.
pub(crate) struct Receivers {
    receiver: Receiver,
    mood: Arc<AtomicU8>,
}

impl Receivers {
    /// `secrets` are the customers', in order.
    pub(crate) fn start(books: &Books, secrets: &[String]) -> anyhow::Result<Self> {
        let address = (testkit::machine::WORLD, PORT).into();
        let receiver = Receiver::start_light_at(address)?;
        let mood: Arc<AtomicU8> = Arc::default();
        let verifiers: Vec<Verifier> = secrets
            .iter()
            .map(|secret| Verifier::new([secret]))
            .collect();
        let (books, mood_now) = (books.clone(), Arc::clone(&mood));
        receiver.answer_by(move |received| {
            let mood = MOODS[usize::from(mood_now.load(Ordering::Relaxed))];
            answer(received, mood, &verifiers, &books)
        });
        Ok(Self { receiver, mood })
    }

    pub(crate) fn url(&self, org: Org) -> String {
        self.receiver.url_of(&format!("/{org}"))
    }

    pub(crate) fn behave(&self, mood: Mood) {
        let place = MOODS
            .iter()
            .position(|one| *one == mood)
            .unwrap_or_default();
        self.mood
            .store(u8::try_from(place).unwrap_or_default(), Ordering::Relaxed);
    }
}

fn answer(received: &Received, mood: Mood, verifiers: &[Verifier], books: &Books) -> Answer {
    let org: Option<Org> = received.uri.path().trim_start_matches('/').parse().ok();
    let Some((org, verifier)) = org.and_then(|org| Some((org, verifiers.get(org)?))) else {
        books
            .open()
            .oddities
            .push(format!("nobody is at {}", received.uri));
        return Answer::status(404);
    };
    match mood {
        Mood::Well => {}
        Mood::Broken => return Answer::status(503).after(Duration::from_millis(5)),
        Mood::Hanging => return Answer::never(),
        Mood::HangingUp => return Answer::hang_up(),
    }
    let (time, signature) = (
        received.header(TIMESTAMP_HEADER),
        received.header(SIGNATURE_HEADER),
    );
    if let Err(refusal) = verifier.verify(time, signature, &received.body, received.arrived_at) {
        let mut pages = books.open();
        // A sender whose clock is wrong is refused, as the contract says; anything else must not happen.
        if matches!(refusal, Refusal::TimestampOutsideWindow { .. }) {
            pages.refused += 1;
        } else {
            let delivery = received.delivery_id().unwrap_or("?");
            pages
                .oddities
                .push(format!("{refusal}: {delivery} at {org}"));
        }
        return Answer::status(refusal.http_status());
    }
    match read(received, org) {
        Ok(arrival) => books.open().arrivals.push(arrival),
        Err(error) => books.open().oddities.push(format!("{error:#}")),
    }
    Answer::status(200)
}

fn read(received: &Received, to: Org) -> anyhow::Result<Arrival> {
    let body = received.json();
    let event = body["event"]["id"].as_str().context("an event")?.parse()?;
    let rule = body["rule_id"].as_str().context("a rule")?.parse()?;
    let delivery: DeliveryId = received.delivery_id().context("a delivery")?.parse()?;
    anyhow::ensure!(
        delivery == DeliveryId::of(event, rule),
        "{delivery} is not of {event} and {rule}"
    );
    Ok(Arrival {
        delivery,
        event,
        rule,
        to,
        at: received.arrived,
        from: received.peer.ip(),
    })
}
