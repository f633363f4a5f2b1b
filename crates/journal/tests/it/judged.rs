//! What matchers rely on: turns, and the chain of what was judged.

use std::time::Duration;

use domain::Timestamp;
use journal::{
    frames::Frames,
    record::{self, Judged, OutcomeRecord, Position},
    streams::Log,
};
use tokio::time::timeout;

use crate::{DEADLINE, journal, now, queue::job};

#[tokio::test]
async fn a_turn_is_one_matchers_until_it_is_handed_back_or_not_heard_of() {
    let journal = journal().await;
    let partition = journal.partitions().all().next().expect("a partition");
    let mut one = journal.match_leases(partition).await.expect("turns");
    let mut other = journal.match_leases(partition).await.expect("turns");
    let turn = tokio::select! {
        turn = one.next() => turn.expect("a turn"),
        turn = other.next() => turn.expect("a turn"),
    };
    let nobody_else = async {
        tokio::select! { _ = one.next() => (), _ = other.next() => () }
    };
    let while_held = async {
        for _ in 0..5 {
            turn.still_at_it().await.expect("heard");
            // waits for: longer than a turn lasts that is not heard of
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        () = nobody_else => panic!("a turn that is held was handed out again"),
        () = while_held => {}
    }
    turn.hand_back().await.expect("handed back");
    let next = async {
        tokio::select! { turn = one.next() => turn, turn = other.next() => turn }
    };
    let again = timeout(DEADLINE, next).await.expect("in time");
    drop(again.expect("handed on at once"));
    let next = async {
        tokio::select! { turn = one.next() => turn, turn = other.next() => turn }
    };
    let again = timeout(DEADLINE, next).await.expect("in time");
    again.expect("handed on when whoever had it was not heard of");
}

#[tokio::test]
async fn a_judgment_goes_behind_the_last_one_or_its_writer_was_overtaken() {
    let journal = journal().await;
    let partition = journal.partitions().all().next().expect("a partition");
    assert_eq!(journal.last_judgment(partition).await.expect("asked"), None);
    let judged = |records| Judged {
        created: String::from("1"),
        position: Position {
            sequence: 3,
            records,
        },
        is_partial: false,
        settled: 0,
        since: 1,
        at: Timestamp::default(),
    };
    let message = |records| record::message(&OutcomeRecord::Judged(judged(records)));
    let append = async |last, nonce, records| {
        let appended = journal.append_judgment(partition, last, nonce, None, message(records));
        appended.await.expect("asked")
    };
    let first = append(0, "a", 1).await.expect("appended");
    let second = append(first, "b", 2).await.expect("appended");
    // One that was slow, and one whose answer got lost.
    assert_eq!(append(first, "c", 3).await, None);
    assert_eq!(append(first, "b", 2).await, Some(second));
    // One that decided the same in the same millisecond.
    assert_eq!(append(first, "d", 2).await, None);
    // What others write to the log is not of the chain.
    let (appender, task) = journal.appender(Log::Outcomes(partition), "a");
    let appends = async {
        let matched = OutcomeRecord::Matched(job(2, now()).matched);
        let frames = Frames::from_iter([matched]);
        appender.append(frames).await.expect("acknowledged");
        drop(appender);
    };
    tokio::join!(appends, task);
    let end = journal.last_judgment(partition).await.expect("asked");
    let end = end.expect("one");
    assert_eq!((end.sequence, end.judged), (second, judged(2)));
    let mut chain = journal.judgments(partition, first - 1);
    let read = chain.next(10).await.expect("read");
    assert_eq!(
        read.iter().map(|entry| entry.sequence).collect::<Vec<_>>(),
        [first, second]
    );
}
