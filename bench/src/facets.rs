//! How long it takes to count the events of a large organization, by every filter, and whether the counts are exact.

use crate::{Verdict, events, server::Customer, trail};

/// What people wait for without noticing much, with a million events on two cores (issue 23).
const COUNT_AIM_MS: f64 = 1_000.0;
/// Two statements that take all of their time, and some.
const COUNT_CEILING_MS: f64 = 6_000.0;

/// Counts so many times by each filter.
pub(crate) async fn count(
    times: usize,
    large: &Customer,
    verdict: &mut Verdict,
) -> anyhow::Result<()> {
    let day = format!("from={}", events::days_ago(1));
    // So long that it is looked at day by day, and not hour by hour.
    let long = format!("from={}&event_type=api_request", events::days_ago(40));
    let filters = [
        "",
        &day,
        "agent_id=agent-0007",
        "action=payments.*",
        "event_type=api_request",
        "result=denied",
        "result=success",
        "severity=high",
        "session_id=session-000123",
        "agent_id=agent-0000&result=denied",
        "filter=-result:success%20severity:%3E=high",
        "filter=action:payments.*%20latency_ms:%3E4000",
        &long,
        "q=203.0.113.7",
    ];
    println!(
        "\n{:<44} {:>10} {:>10} {:>12} {:>6}",
        "facets of the large organization", "p50 ms", "p99 ms", "events", "exact"
    );
    for filter in filters {
        let path = format!("/v1/audit/facets?{filter}");
        let mut took = Vec::new();
        for _ in 0..times {
            took.push(trail::time(large, &path).await?);
        }
        let counted = large.get(&path).await?;
        let p99 = trail::at(&mut took, 99);
        println!(
            "{:<44} {:>10.2} {p99:>10.2} {:>12} {:>6}",
            if filter.is_empty() { "all" } else { filter },
            trail::at(&mut took, 50),
            counted["estimate"],
            counted["exact"],
        );
        let name = format!("facets {filter}, ms");
        verdict.at_most(&name, p99, COUNT_AIM_MS, COUNT_CEILING_MS);
    }
    Ok(())
}
