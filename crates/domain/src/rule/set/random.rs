//! Random rules and events over few words, so that they often meet.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{
    OrgId, RuleId, Timestamp,
    rule::{Definition, Pattern, Rule},
};

/// SplitMix64: the same numbers for the same seed.
pub(in crate::rule) struct Random(pub(in crate::rule) u64);

impl Random {
    pub(in crate::rule) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    pub(in crate::rule) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        let place = usize::try_from(self.below(of.len() as u64)).expect("small");
        of[place]
    }
}

const TEXTS: [&str; 13] = [
    "files.delete",
    "files.read",
    "payments.refund",
    "payments.refund.all",
    "Files.Delete",
    "ÄRGER.straße",
    "ärger.STRASSE",
    "a\"b\\c\n",
    "",
    "denied",
    "tool_call",
    "10.1.2.3",
    "2001:db8::1",
];
const PARTS: [&str; 10] = [
    "files.",
    "payments.",
    ".delete",
    "delete",
    "ref",
    "F",
    "ä",
    "e",
    "payments.refund",
    "\"b",
];
const WILDCARDS: [&str; 9] = [
    "*",
    "files.*",
    "*.delete",
    "*e*",
    "pay*refund*",
    "*.*.*",
    "f*s.*d",
    "files.delete",
    "*\n",
];
const NETWORKS: [&str; 5] = [
    "10.0.0.0/8",
    "10.1.2.3/32",
    "0.0.0.0/0",
    "2001:db8::/32",
    "::/0",
];
const NUMBERS: [f64; 6] = [-1.0, 0.0, 0.5, 1.0, 2.0, 500.0];
/// Few and often the same, like results; and some of the customer's own.
const FIELDS: [&str; 14] = [
    "event_type",
    "result",
    "action",
    "agent_id",
    "severity",
    "latency_ms",
    "metadata",
    "metadata region",
    "metadata amount",
    "metadata tags",
    "metadata deep",
    "metadata deep n",
    "metadata deep s",
    "metadata a.b",
];

pub(in crate::rule) fn rule(id: u128, source: Value, except: Vec<Value>) -> Arc<Rule> {
    let pattern = |source: Value| {
        Pattern::parse(source.clone()).unwrap_or_else(|fault| panic!("{fault} {source}"))
    };
    let mut definition = Definition::plain("r", pattern(source), "https://example.com");
    definition.except = except.into_iter().map(pattern).collect();
    let id = RuleId::from_uuid(Uuid::from_u128(id));
    let org = OrgId::from_uuid(Uuid::from_u128(1));
    Arc::new(Rule::new(id, org, definition, Timestamp::default()))
}

pub(in crate::rule) fn random_rule(random: &mut Random, id: u128) -> Arc<Rule> {
    let except = if random.one_in(6) {
        1 + random.below(2)
    } else {
        0
    };
    let except = (0..except).map(|_| pattern(random)).collect();
    let made = rule(id, pattern(random), except);
    let mut made = Arc::unwrap_or_clone(made);
    made.definition.enabled = !random.one_in(12);
    Arc::new(made)
}

pub(in crate::rule) fn pattern(random: &mut Random) -> Value {
    let mut source = if random.one_in(30) {
        json!({})
    } else {
        fields(random)
    };
    if random.one_in(5) {
        let branches: Vec<Value> = (0..=random.below(2)).map(|_| fields(random)).collect();
        source["$or"] = json!(branches);
    }
    source
}

/// A pattern that names a field at least.
fn fields(random: &mut Random) -> Value {
    let mut source = json!({});
    for _ in 0..=random.below(3) {
        let path: Vec<&str> = random
            .pick(&FIELDS.each_ref().map(|field| *field))
            .split(' ')
            .collect();
        let listed: Vec<Value> = (0..=random.below(3)).map(|_| listed(random)).collect();
        put(&mut source, &path, json!(listed));
    }
    source
}

/// Puts a list below objects; what stands in the way stays.
fn put(source: &mut Value, path: &[&str], list: Value) {
    let object = source.as_object_mut().expect("an object");
    match path {
        [last] => {
            object.entry(*last).or_insert(list);
        }
        [first, rest @ ..] => {
            let below = object
                .entry(*first)
                .or_insert_with(|| Value::Object(Map::new()));
            if below.is_object() {
                put(below, rest, list);
            }
        }
        [] => {}
    }
}

fn number(random: &mut Random) -> f64 {
    *random.pick(&NUMBERS.each_ref())
}

fn scalar(random: &mut Random) -> Value {
    match random.below(8) {
        0 => json!(null),
        1 => json!(random.one_in(2)),
        2 | 3 => json!(number(random)),
        4 => json!(random.below(3)),
        _ => json!(random.pick(&TEXTS)),
    }
}

fn listed(random: &mut Random) -> Value {
    match random.below(14) {
        0 => json!({"prefix": random.pick(&PARTS)}),
        1 => json!({"suffix": random.pick(&PARTS)}),
        2 => json!({"contains": random.pick(&PARTS)}),
        3 => json!({"wildcard": random.pick(&WILDCARDS)}),
        4 => json!({"equals-ignore-case": random.pick(&PARTS)}),
        5 => match random.below(4) {
            0 => json!({"anything-but": scalar(random)}),
            1 => json!({"anything-but": {"prefix": random.pick(&PARTS)}}),
            2 => json!({"anything-but": {"suffix": random.pick(&PARTS)}}),
            _ => json!({"anything-but": [scalar(random), scalar(random)]}),
        },
        6 => {
            let sign = random.pick(&["=", ">", ">=", "<", "<="]);
            json!({"numeric": [sign, number(random)]})
        }
        7 => json!({"numeric": [">=", number(random), "<", 501]}),
        8 => json!({"exists": random.one_in(2)}),
        9 => json!({"cidr": random.pick(&NETWORKS)}),
        10 => json!({"equals-ignore-case": random.pick(&TEXTS[..7])}),
        _ => scalar(random),
    }
}

/// The JSON of an event, whose values nobody checked.
pub(in crate::rule) fn event(random: &mut Random) -> String {
    let mut event = json!({});
    for path in FIELDS {
        if random.one_in(4) {
            continue;
        }
        let path: Vec<&str> = path.split(' ').collect();
        let value = match random.below(8) {
            0 => json!(
                (0..random.below(4))
                    .map(|_| scalar(random))
                    .collect::<Vec<_>>()
            ),
            1 if random.one_in(4) => json!([[scalar(random)], {"s": scalar(random)}]),
            2 if random.one_in(4) => json!("files.".repeat(60)),
            _ => scalar(random),
        };
        // Most of the time `metadata` and `deep` are objects with fields inside.
        if path == ["metadata"] || path == ["metadata", "deep"] {
            if random.one_in(10) {
                put(&mut event, &path, value);
            }
            continue;
        }
        put(&mut event, &path, value);
    }
    event.to_string()
}
