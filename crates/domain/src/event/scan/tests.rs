//! One pass finds what the parsers find, and takes nothing that they refuse.

use proptest::prelude::*;

use super::*;
use crate::{
    batch::{self, Form},
    event::metadata,
};

fn fields<'a>(event: &EventView<'a>) -> Vec<Option<Raw<'a>>> {
    EventView::FIELDS
        .iter()
        .map(|name| event.field(name))
        .collect()
}

/// Says whether an event is read in one pass, after it was held against what the parsers say of it.
fn is_scanned(json: &str) -> bool {
    let parsed = EventView::parse_with_care(json);
    let Some(scanned) = EventView::scan(json) else {
        return false;
    };
    assert_eq!(
        Ok(fields(&scanned)),
        parsed.map(|view| fields(&view)),
        "{json}"
    );
    if let Some(raw) = scanned.metadata {
        assert!(scanned.has_sound_metadata, "{json}");
        let checked = metadata::check(raw.get());
        checked.unwrap_or_else(|fault| panic!("{fault} was missed: {json}"));
    }
    true
}

/// Holds what is read of a body against what a parser reads of it: the same events, or the same words why there are none.
fn agrees_on_body(body: &str) {
    let read = batch::json::read(body);
    let ((read, shape), (parsed, parsed_shape)) = match (read, batch::json::read_with_care(body)) {
        (Ok(read), Ok(parsed)) => (read, parsed),
        (Err(refused), Err(parser_says)) => {
            assert_eq!(refused.to_string(), parser_says.to_string(), "{body}");
            return;
        }
        (read, parsed) => panic!("{read:?} or {parsed:?}: {body}"),
    };
    assert_eq!((read.count, shape), (parsed.count, parsed_shape), "{body}");
    let both = read
        .events
        .iter()
        .flatten()
        .zip(parsed.events.iter().flatten());
    for (sent, parsed) in both {
        assert_eq!(sent.json, parsed.json, "{body}");
        let parsed = EventView::parse_with_care(sent.json);
        let read = sent.view().map(|view| fields(&view));
        assert_eq!(read, parsed.map(|view| fields(&view)), "{body}");
    }
}

fn with(more: &str) -> String {
    format!(
        r#"{{"event_type":"tool_call","agent_id":"a","action":"files.delete","result":"denied"{more}}}"#
    )
}

#[test]
fn what_is_ordinary_is_read_in_one_pass() {
    for more in [
        "",
        r#","latency_ms":0,"resource":"s3://b/ö/€/𝄞""#,
        r#" , "latency_ms" : -12.50 "#,
        r#","metadata":{}"#,
        r#","metadata":{"a":[],"b":[1,-0.5,true,false,null,"x",{"a":{"a":{}}}],"c":{"a":1,"b":2}}"#,
        r#","metadata":{"note":"line\n\"two\"\t\\ \/ \b\f\r \u00e9 \ud83d\ude00"}"#,
        "\n,\r\n\t\"metadata\"\n:\n{\n\"a\"\n:\n[\n1\n,\n2\n]\n}\n",
    ] {
        let json = with(more);
        assert!(is_scanned(&json), "{json}");
        assert!(is_scanned(&format!(" {json}\n")), "{json}");
        let body = format!(r#" {{ "events" : [ {json} , {json} ] }} "#);
        agrees_on_body(&body);
        let batch = batch::parse(Form::Json, body.as_bytes()).expect("a batch");
        assert_eq!(batch.events.len(), 2);
    }
    let keys: Vec<String> = (0..100)
        .map(|key| format!(r#""key-{key}":{key}"#))
        .collect();
    assert!(is_scanned(&with(&format!(
        r#","metadata":{{{}}}"#,
        keys.join(",")
    ))));
}

#[test]
fn what_is_out_of_the_ordinary_is_left_to_the_parser() {
    let nested = |depth: usize| format!(r#"{{"a":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let many = |last: &str| {
        let keys: Vec<String> = (0..100)
            .map(|key| format!(r#""key-{key}":{key}"#))
            .collect();
        format!(r#"{{{},"{last}":1}}"#, keys.join(","))
    };
    let metadata = [
        nested(DEPTH_MAX),
        nested(200),
        many("key-50"),
        r#"{"a":1,"a":2}"#.to_owned(),
        r#"{"a":[{"b":{"c":1,"d":2,"c":3}}]}"#.to_owned(),
        r#"{"a":1,"\u0061":2}"#.to_owned(),
        r#"{"a":1e3}"#.to_owned(),
        r#"{"a":1e999}"#.to_owned(),
        format!(r#"{{"a":{}}}"#, "9".repeat(400)),
        r#"{"a":01}"#.to_owned(),
        r#"{"a":-}"#.to_owned(),
        r#"{"a":1.}"#.to_owned(),
        r#"{"a":.5}"#.to_owned(),
        r#"{"a":+1}"#.to_owned(),
        r#"{"a":truth}"#.to_owned(),
        r#"{"a":nul}"#.to_owned(),
        r#"{"a":[1,]}"#.to_owned(),
        r#"{"a":[,1]}"#.to_owned(),
        r#"{"a":1,}"#.to_owned(),
        r#"{"a" 1}"#.to_owned(),
        r"{a:1}".to_owned(),
        r#"{"a":"\ud83d"}"#.to_owned(),
        r#"{"a":"\ud83d\u0041"}"#.to_owned(),
        r#"{"a":"\ude00"}"#.to_owned(),
        r#"{"a":"\x41"}"#.to_owned(),
        r#"{"a":"\u00g0"}"#.to_owned(),
        r#"{"a":"\u00é"}"#.to_owned(),
        "{\"a\":\"\n\"}".to_owned(),
        "{\"a\":\"12345678\u{1f}\"}".to_owned(),
        "{\"a\":\u{a0}1}".to_owned(),
        "{\"a\":1\u{c}}".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
    ];
    let events = [
        r#","metadata":{},"metadata":{}"#,
        r#","result":"ok""#,
        r#","color":1"#,
        r#","r\u0065sult":"ok""#,
        r#","severity":null"#,
        r#","severity":["high"]"#,
        ",",
        "}",
    ];
    let metadata = metadata.map(|metadata| with(&format!(r#","metadata":{metadata}"#)));
    for json in metadata.into_iter().chain(events.map(with)) {
        assert!(!is_scanned(&json), "{json}");
        agrees_on_body(&json);
        agrees_on_body(&format!(r#"{{"events":[{},{json},7]}}"#, with("")));
    }
}

#[test]
fn no_more_names_are_kept_than_metadata_has_room_for() {
    let body = "{\"event_type\":\"t\",\"metadata\":{".to_owned() + &"\"a\":1,".repeat(100_000);
    let mut scan = Scan::new(&body);
    assert!(scan.event().is_none());
    assert_eq!(scan.keys.len(), KEYS_MAX);
    // And none of an event that was left to the parser.
    let body = "{\"metadata\":{\"a\":{\"b\":1e3";
    let mut scan = Scan::new(body);
    for _ in 0..1_000 {
        assert!(scan.event().is_none());
        scan.go_on_behind(body, 0);
    }
    assert_eq!(scan.keys.len(), 2);
}

/// Puts a piece of JSON, or of something like it, in the place of some bytes.
fn edit() -> impl Strategy<Value = (prop::sample::Index, usize, &'static str)> {
    let pieces = [
        "",
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "\n",
        "\u{1}",
        "0",
        "1",
        "-",
        ".",
        "e",
        "E9",
        "t",
        "true",
        "false",
        "null",
        "é",
        "\\u00e9",
        "\\ud83d",
        "\\ude00",
        "\\u",
        "\"metadata\":{}",
        "\"result\":\"x\"",
        "\"a\":1,",
        "{\"events\":[",
        "]}",
    ];
    (
        any::<prop::sample::Index>(),
        0usize..4,
        prop::sample::select(pieces.as_slice().to_vec()),
    )
}

proptest! {
    #[test]
    fn one_pass_agrees_with_the_parsers(
        edits in prop::collection::vec(edit(), 0..6), is_listed: bool,
    ) {
        let event = with(
            r#","latency_ms":12.5,"metadata":{"tool":"delete é","n":[1,-2.5,null],"in":{"a":true,"b":"\n\ud83d\ude00"}}"#,
        );
        let mut body = if is_listed { format!(r#"{{"events":[{event}, {event}]}}"#) } else { event };
        for (place, bytes, piece) in edits {
            let starts: Vec<usize> = body.char_indices().map(|(start, _)| start).collect();
            if starts.is_empty() {
                break;
            }
            let first = place.index(starts.len());
            let end = starts.get(first + bytes).copied().unwrap_or(body.len());
            body.replace_range(starts[first]..end, piece);
        }
        is_scanned(&body);
        agrees_on_body(&body);
    }

    #[test]
    fn one_pass_agrees_with_the_parsers_on_any_text(text: String, inside: String) {
        is_scanned(&text);
        agrees_on_body(&text);
        let event = with(&format!(r#","metadata":{{"a":"{inside}"}}"#));
        is_scanned(&event);
        agrees_on_body(&format!(r#"{{"events":[{event}]}}"#));
    }
}
