//! What happens to two workers and an endpoint, made up at random.

use std::time::Duration;

use domain::delivery::{Answer, Outcome};
use proptest::prelude::*;

/// How many deliveries there are, and how many workers.
pub const DELIVERIES: usize = 3;
pub const WORKERS: usize = 2;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Wait(Duration),
    /// A worker begins every delivery that is due.
    Begin(usize),
    /// An attempt that is under way ends so.
    End(usize, Answer),
    /// Every attempt under way ends so, and time goes on to whatever is due next.
    Drive(Answer),
    /// A worker hears how the endpoint is by now.
    See(usize),
    Pause,
    Resume,
    /// Somebody asks for a delivery again.
    Resend(usize),
}

/// A time during which the receiver behaves in one way, then another, and so on.
pub fn story() -> impl Strategy<Value = Vec<Step>> {
    let mood = prop::sample::select(vec![
        Mood::Well,
        Mood::Down,
        Mood::Busy,
        Mood::Refusing,
        Mood::Gone,
        Mood::Redirecting,
        Mood::Ours,
        Mood::Odd,
    ]);
    let phase = mood.prop_flat_map(|mood| prop::collection::vec(step(mood), 1..100));
    prop::collection::vec(phase, 1..6).prop_map(|phases| phases.concat())
}

#[derive(Clone, Copy, Debug)]
enum Mood {
    Well,
    Down,
    Busy,
    Refusing,
    Gone,
    Redirecting,
    Ours,
    Odd,
}

fn step(mood: Mood) -> impl Strategy<Value = Step> {
    let wait = prop_oneof![
        (0u64..2_000).prop_map(Duration::from_millis),
        (1u64..120).prop_map(Duration::from_secs),
        (1u64..5).prop_map(|hours| Duration::from_secs(hours * 3_600)),
    ];
    prop_oneof![
        6 => wait.prop_map(Step::Wait),
        16 => (0..WORKERS).prop_map(Step::Begin),
        8 => (0..DELIVERIES, answer(mood)).prop_map(|(flight, answer)| Step::End(flight, answer)),
        24 => answer(mood).prop_map(Step::Drive),
        8 => (0..WORKERS).prop_map(Step::See),
        1 => prop::bool::weighted(0.2).prop_map(|pause| if pause { Step::Pause } else { Step::Resume }),
        2 => (0..DELIVERIES).prop_map(Step::Resend),
    ]
}

fn answer(mood: Mood) -> BoxedStrategy<Answer> {
    let one_of =
        |codes: &[u16]| prop::sample::select(codes.to_vec()).prop_map(|code| status(code, None));
    match mood {
        Mood::Well => one_of(&[200, 202, 204]).boxed(),
        Mood::Down => prop_oneof![
            one_of(&[500, 502, 503, 504, 408]),
            any::<bool>().prop_map(|timed_out| no_answer(Outcome::Transient, timed_out)),
        ]
        .boxed(),
        Mood::Busy => (
            prop::sample::select(vec![429, 429, 503]),
            prop::option::of(0u64..100_000),
        )
            .prop_map(|(code, seconds)| status(code, seconds))
            .boxed(),
        Mood::Refusing => one_of(&[400, 401, 403, 404, 422]).boxed(),
        Mood::Gone => prop_oneof![
            3 => one_of(&[410]),
            1 => Just(no_answer(Outcome::Transient, false)),
        ]
        .boxed(),
        Mood::Redirecting => one_of(&[301, 302, 308]).boxed(),
        Mood::Ours => Just(no_answer(Outcome::OurFault, false)).boxed(),
        Mood::Odd => prop_oneof![
            6 => one_of(&[200, 404, 410, 429, 500]),
            1 => one_of(&[413]),
            1 => Just(no_answer(Outcome::Blocked, false)),
        ]
        .boxed(),
    }
}

fn status(status: u16, retry_after_s: Option<u64>) -> Answer {
    Answer {
        outcome: Outcome::of_status(status),
        status: Some(status),
        retry_after: retry_after_s.map(Duration::from_secs),
        timed_out: false,
    }
}

fn no_answer(outcome: Outcome, timed_out: bool) -> Answer {
    Answer {
        outcome,
        status: None,
        retry_after: None,
        timed_out,
    }
}
