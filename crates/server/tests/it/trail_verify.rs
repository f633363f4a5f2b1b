//! `watchbell trail verify`: an auditor's check, by a file alone.

use std::fs;

use serde_json::Value;
use testkit::folder::TestFolder;

use crate::commands::{run, stdout};

const VECTORS: [(&str, i32); 3] = [
    (
        include_str!("../../../../libs/trail-proof/vectors/proven.json"),
        0,
    ),
    (
        include_str!("../../../../libs/trail-proof/vectors/not_proven.json"),
        1,
    ),
    (
        include_str!("../../../../libs/trail-proof/vectors/cannot_be_checked.json"),
        2,
    ),
];

/// The first case of a file of vectors, as options and a file.
fn first_case(vectors: &str, folder: &TestFolder) -> (Vec<String>, Value) {
    let vectors: Value = serde_json::from_str(vectors).expect("JSON");
    let case = &vectors["cases"][0];
    let texts = |name: &str| {
        let values = case[name].as_array().expect("a list").iter();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        values.map(text).collect::<Vec<String>>()
    };
    let lines = texts("lines").into_iter().map(|line| line + "\n");
    let file = folder.path().join("export.bundle");
    fs::write(&file, lines.collect::<String>()).expect("written");
    let mut options = vec![file.display().to_string()];
    for key in texts("keys") {
        options.extend(["--key".to_owned(), key]);
    }
    for witness in texts("witnesses") {
        options.extend(["--witness".to_owned(), witness]);
    }
    (options, case["expect"].clone())
}

#[test]
fn the_exit_code_is_the_verdict_and_the_output_says_which_line() {
    for (vectors, code) in VECTORS {
        let folder = TestFolder::create().expect("a folder");
        let (options, expected) = first_case(vectors, &folder);
        let mut arguments = vec!["trail", "verify"];
        arguments.extend(options.iter().map(String::as_str));
        let told = run(&arguments, []);
        assert_eq!(told.status.code(), Some(code), "{told:?}");
        arguments.extend(["--output", "json"]);
        let output = run(&arguments, []);
        let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert_eq!(report["verdict"], expected["verdict"]);
        let findings = expected["findings"].as_array().expect("a list");
        for (found, expected) in report["findings"]
            .as_array()
            .expect("a list")
            .iter()
            .zip(findings)
        {
            assert_eq!(found["line"], expected["line"]);
            assert_eq!(found["code"], expected["code"]);
            let said = format!("line {}", expected["line"]);
            assert!(stdout(&told).contains(&said), "{told:?}");
        }
        assert_eq!(
            report["findings"].as_array().map(Vec::len),
            Some(findings.len())
        );
    }
}
