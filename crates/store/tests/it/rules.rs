//! Rules from before they had versions: nothing of what their owners wrote is lost.

use domain::{OrgId, RuleId, rule::change::What};
use serde_json::{Value, json};
use store::Store;
use testkit::Database;
use uuid::Uuid;

const BEFORE: [&str; 6] = [
    include_str!("../../migrations/0001_control.sql"),
    include_str!("../../migrations/0002_trail.sql"),
    include_str!("../../migrations/0003_accounts.sql"),
    include_str!("../../migrations/0004_api_keys.sql"),
    include_str!("../../migrations/0005_trail_reads.sql"),
    include_str!("../../migrations/0006_exports.sql"),
];
const MIGRATION: &str = include_str!("../../migrations/0007_rule_life.sql");

#[tokio::test]
async fn a_rule_from_before_there_were_versions_is_what_it_was_and_has_one() {
    let database = Database::create().expect("a database");
    let run = |sql: &str| database.query(sql).expect("the query runs");
    for migration in BEFORE {
        run(migration);
    }
    let org = OrgId::from_uuid(Uuid::from_u128(1));
    let (first, second) = (Uuid::from_u128(2), Uuid::from_u128(3));
    let match_json = r#"{"metadata":{"note":["it''s \"so\"\u0000",1e3]},"result":["denied"]}"#;
    run(&format!(
        "INSERT INTO organisations VALUES ('{}', 'Acme', now());
         INSERT INTO alert_rules (org_id, id, name, description, enabled, match, url, created_at,
                                  updated_at, version)
         VALUES ('{0}', '{first}', 'All \"of\" it', NULL, true, '{{}}', 'https://a.example', now(), now(), 1),
                ('{0}', '{second}', 'Some', 'said', false, '{match_json}', 'https://b.example', now(), now(), 7)",
        org.uuid()
    ));
    run(MIGRATION);

    let store = Store::new(database.url(), 2).expect("a store");
    let read = async |id: Uuid| {
        let stored = store.rule(org, RuleId::from_uuid(id)).await;
        stored.expect("an answer").expect("a rule")
    };
    let all = read(first).await;
    assert_eq!(all.rule.definition.name, "All \"of\" it");
    assert_eq!(all.rule.definition.description, None);
    assert_eq!((all.rule.version, all.created_by), (1, None));
    let some = read(second).await;
    let definition = &some.rule.definition;
    assert_eq!(definition.description.as_deref(), Some("said"));
    assert!(!definition.enabled);
    assert_eq!(definition.url, "https://b.example");
    let wanted = json!({"metadata": {"note": ["it's \"so\"\u{0}", 1e3]}, "result": ["denied"]});
    assert_eq!(Value::from(definition.pattern.clone()), wanted);
    let indexed = run("SELECT string_agg(is_indexed::text, ' ' ORDER BY id) FROM alert_rules");
    assert_eq!(indexed.trim(), "false true");

    let versions = store.list_rule_versions(org, RuleId::from_uuid(second), None, 10);
    let versions = versions.await.expect("an answer").rows;
    assert_eq!(versions.len(), 1);
    assert_eq!((versions[0].version, versions[0].what), (7, What::Updated));
    assert_eq!(&versions[0].definition, definition);
    let untold =
        store.unrecorded_rule_versions(domain::Timestamp::from_unix_millis(i64::MAX / 2), 10);
    assert_eq!(
        untold.await.expect("an answer"),
        [],
        "the trail is not told of the past"
    );
}
