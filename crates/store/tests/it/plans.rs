//! How PostgreSQL finds a page: by the index that was made for the filter, reading no more than it may.

use std::time::Duration;

use domain::{
    EventId, OrgId, Timestamp,
    event::{Filter, filter::VALUES_MAX},
};
use serde_json::Value;
use store::{
    Store,
    events::{Budget, EventRow, EventsQuery, Order},
    watermark::{Source, Span},
};
use testkit::Database;
use trail_proof::leaf::Salt;
use uuid::Uuid;

use crate::store;

/// 2026-11-13T00:00:00Z, and how many days there are from it on.
const FIRST_DAY: i64 = 1_794_528_000_000;
const DAY_MILLIS: i64 = 24 * 3600 * 1000;
const DAYS: i64 = 3;
/// Enough that reading a day from end to end would show.
const EVENTS_PER_DAY: i64 = 20_000;
const BUDGET: Budget = Budget {
    events: 1_000,
    looks: 40,
    bytes: 4 * 1024 * 1024,
    time: Duration::from_secs(60),
};

fn org() -> OrgId {
    OrgId::from_uuid(Uuid::from_u128(1))
}

/// Every agent, session, trace and decision has few of a day's events; so has one action, and another
/// has nearly all. Every second event is another organization's.
async fn fill(store: &Store, database: &Database) {
    let mut index = store.event_index().await.expect("an index");
    let first = |day: i64| {
        EventId::new(
            Timestamp::from_unix_millis(FIRST_DAY + day * DAY_MILLIS),
            [0; 10],
        )
    };
    let rows: Vec<EventRow<'_>> = (0..DAYS)
        .map(|day| EventRow {
            org: org(),
            id: first(day),
            received_at: first(day).time(),
            event_type: "tool_call",
            agent_id: "ag-1",
            action: "files.read",
            result: "success",
            severity: None,
            session_id: None,
            trace_id: None,
            decision_id: None,
            source: None,
            json: "{}",
            salt: Salt([0; 16]),
        })
        .collect();
    let source = Source {
        stream: String::from("EVENTS_0"),
        created: String::from("1"),
    };
    let applied = index.apply(&source, Span::new(0, 1), &rows).await;
    applied.expect("applied");
    let events = format!(
        "INSERT INTO audit_events (org_id, id, received_at, event_type, agent_id, action, result, severity,
                                   session_id, trace_id, decision_id, body)
         SELECT lpad((1 + n % 2)::text, 32, '0')::uuid,
                (lpad(to_hex({FIRST_DAY} + day * {DAY_MILLIS} + n * {DAY_MILLIS} / {EVENTS_PER_DAY}), 12, '0')
                    || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
                now(), 'tool_call', 'ag-' || n / 2 % 50, CASE n / 2 % 100 WHEN 0 THEN 'files.delete' ELSE 'files.read' END,
                CASE n / 2 % 1000 WHEN 0 THEN 'error' ELSE 'success' END, 'info', 's-' || n / 2 % 500, 't-' || n / 2 % 2000,
                'd-' || n / 2 % 5000, '{{\"number\":' || n || '}}'
         FROM generate_series(0, {DAYS} - 1) AS day, generate_series(1::bigint, {EVENTS_PER_DAY} - 1) AS n"
    );
    database.query(&events).expect("inserted");
    database.query("ANALYZE audit_events").expect("analyzed");
}

/// The nodes of a plan that read tables.
fn scans(plan: &Value, found: &mut Vec<Value>) {
    if plan.get("Relation Name").is_some() {
        found.push(plan.clone());
    }
    for child in plan["Plans"].as_array().into_iter().flatten() {
        scans(child, found);
    }
}

fn count(node: &Value, field: &str) -> f64 {
    node[field].as_f64().unwrap_or(0.0)
}

fn filter(pairs: &[(&str, &str)]) -> Filter {
    let mut filter = Filter::default();
    for (name, value) in pairs {
        filter.add(name, value).expect("a filter");
    }
    filter
}

#[tokio::test]
async fn every_filter_is_found_by_its_index_and_reads_no_more_than_it_may() {
    let (store, database) = store().await;
    fill(&store, &database).await;
    let agents: Vec<String> = (0..VALUES_MAX)
        .map(|number| format!("ag-{number}"))
        .collect();
    let agents: Vec<(&str, &str)> = agents
        .iter()
        .map(|agent| ("agent_id", agent.as_str()))
        .collect();
    let cases: [(&[(&str, &str)], &str); 20] = [
        (&[], "pkey"),
        (&[("event_type", "login")], "pkey"),
        (&[("result", "success")], "pkey"),
        (&[("result", "error")], "org_id_result_id_idx"),
        (&[("severity", "info")], "pkey"),
        (
            &[("severity", "high"), ("severity", "critical")],
            "org_id_severity_id_idx",
        ),
        (&[("action", "payments.*")], "pkey"),
        (&[("q", "nothing like it")], "pkey"),
        (&[("source", "server")], "pkey"),
        (
            &[("source", "server"), ("agent_id", "ag-7")],
            "org_id_agent_id_id_idx",
        ),
        (&[("agent_id", "ag-7")], "org_id_agent_id_id_idx"),
        (&[("agent_id", "nobody")], "org_id_agent_id_id_idx"),
        (
            &[("agent_id", "ag-7"), ("result", "error")],
            "org_id_agent_id_id_idx",
        ),
        (&agents, "org_id_agent_id_id_idx"),
        (&[("action", "files.delete")], "org_id_action_id_idx"),
        (
            &[("action", "files.delete"), ("agent_id", "ag-0")],
            "org_id_agent_id_id_idx",
        ),
        (
            &[("session_id", "s-7"), ("agent_id", "ag-7")],
            "org_id_session_id_id_idx",
        ),
        (
            &[("session_id", "s-7"), ("session_id", "s-8")],
            "org_id_session_id_id_idx",
        ),
        (
            &[("trace_id", "t-7"), ("q", "number")],
            "org_id_trace_id_id_idx",
        ),
        (&[("decision_id", "d-7")], "org_id_decision_id_id_idx"),
    ];
    for (pairs, index) in cases {
        for order in [Order::NewestFirst, Order::OldestFirst] {
            let wanted = EventsQuery {
                filter: filter(pairs),
                order,
                after: None,
                limit: 100,
            };
            let plan = store
                .explain_events(org(), &wanted, BUDGET)
                .await
                .expect("a plan");
            let read: Value = serde_json::from_str(&plan).expect("JSON");
            let what = format!("{pairs:?} {order:?}: {plan}");
            let mut nodes = Vec::new();
            scans(&read[0]["Plan"], &mut nodes);
            assert!(!nodes.is_empty(), "{what}");
            let mut rows = 0.0;
            for node in &nodes {
                assert_eq!(node["Node Type"], "Index Scan", "{what}");
                let name = node["Index Name"].as_str().expect("a name");
                assert!(name.ends_with(index), "{name} {what}");
                rows += (count(node, "Actual Rows") + count(node, "Rows Removed by Filter"))
                    * count(node, "Actual Loops");
            }
            // Merging looks one ahead in each scan.
            let most =
                f64::from(BUDGET.events) + f64::from(u32::try_from(nodes.len()).expect("few"));
            assert!(rows <= most, "{rows} rows: {what}");
            assert!(!plan.contains("\"Sort\""), "{what}");
        }
    }
}

#[tokio::test]
async fn a_stretch_of_time_touches_its_own_days_only() {
    let (store, database) = store().await;
    fill(&store, &database).await;
    let wanted = EventsQuery {
        filter: filter(&[
            ("from", "2026-11-14T05:00:00Z"),
            ("to", "2026-11-14T06:00:00Z"),
            ("event_type", "login"),
        ]),
        order: Order::NewestFirst,
        after: None,
        limit: 100,
    };
    let plan = store
        .explain_events(org(), &wanted, Budget::default())
        .await;
    let plan: Value = serde_json::from_str(&plan.expect("a plan")).expect("JSON");
    let mut nodes = Vec::new();
    scans(&plan[0]["Plan"], &mut nodes);
    assert_eq!(nodes.len(), 1, "{plan}");
    let hour = f64::from(u32::try_from(EVENTS_PER_DAY / 24 / 2).expect("few"));
    let rows = count(&nodes[0], "Actual Rows");
    assert!(
        (hour - 2.0..hour + 2.0).contains(&rows),
        "{rows} rows: {plan}"
    );
}
