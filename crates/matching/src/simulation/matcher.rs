//! The life of a matcher: [`Matcher::run`](crate::Matcher::run), but that the scheduler says what it comes to next.

use std::pin::pin;

use domain::partition::{Partition, Partitions};
use futures::future::{Either, select};
use journal::{Error, streams::Log};

use super::{journal::Journal, node::Node};
use crate::{
    END_AFTER, Interruption, Judge,
    partition_state::PartitionState,
    world::{Reader as _, World as _},
};

/// What whoever has the turn does next.
#[derive(Clone, Copy)]
enum Next {
    Judge,
    Confirm,
    EndPeriods,
    HandBack,
    Nothing,
}

/// Takes turns until it is killed.
pub(super) async fn live(node: Node, matches_at_once: usize) {
    let judge = Judge {
        world: node.clone(),
        matches_at_once,
    };
    let mut state = PartitionState::default();
    loop {
        node.own("turn", |_| ()).await;
        let judged = {
            let judging = pin!(judge_for_a_turn(&judge, &mut state));
            match select(judging, pin!(node.interrupted())).await {
                Either::Left((judged, _)) => judged,
                Either::Right(_) => Err(Error::behind("the turn", 0).into()),
            }
        };
        if judged.is_err() {
            state.interrupted();
        }
    }
}

async fn judge_for_a_turn(
    judge: &Judge<Node>,
    state: &mut PartitionState,
) -> Result<(), Interruption> {
    let (node, partition) = (&judge.world, partition());
    judge.resume(partition, state).await?;
    let mut follower = node.follow(Log::Events(partition), state.position.sequence);
    loop {
        let doing = Doing {
            who: node.who,
            position: follower.position(),
            is_ahead: state.ahead_since.is_some(),
            is_over: state
                .next_end()
                .is_some_and(|end| end.plus(END_AFTER) <= node.now()),
        };
        match node.own("next", move |journal| next(journal, doing)).await {
            Next::Judge => {
                let entries = follower.next(crate::MESSAGES_MAX).await?;
                node.is_given(entries.iter().map(|entry| entry.sequence));
                judge.judge(partition, state, &entries).await?;
            }
            Next::Confirm => judge.confirm(partition, state).await?,
            Next::EndPeriods => {
                judge.end_periods_by_clock(partition, state).await?;
            }
            Next::HandBack => return judge.confirm(partition, state).await,
            Next::Nothing => {}
        }
    }
}

/// Where a matcher is.
#[derive(Clone, Copy)]
struct Doing {
    who: usize,
    position: u64,
    is_ahead: bool,
    is_over: bool,
}

fn next(journal: &mut Journal, doing: Doing) -> Next {
    let has_more = doing.position < journal.events.len() as u64;
    let is_over = journal.turn != doing.who;
    if journal.is_calm {
        let next = match doing {
            _ if is_over => Next::HandBack,
            _ if has_more => Next::Judge,
            Doing { is_over: true, .. } => Next::EndPeriods,
            Doing { is_ahead: true, .. } => Next::Confirm,
            _ => Next::Nothing,
        };
        journal.is_idle = matches!(next, Next::Nothing);
        return next;
    }
    match journal.dice.below(16u8) {
        0..=8 if has_more => Next::Judge,
        9..=11 if doing.is_over => Next::EndPeriods,
        12..=14 => Next::Confirm,
        15 if is_over || journal.dice.one_in(8) => Next::HandBack,
        _ => Next::Nothing,
    }
}

fn partition() -> Partition {
    let partitions = Partitions::new(1).expect("one is allowed");
    partitions.all().next().expect("there is one")
}
