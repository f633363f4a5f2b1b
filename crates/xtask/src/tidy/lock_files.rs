//! Rules about npm's lock files: they hold all that any machine may install, and no registry's address.

use serde_json::{Map, Value};

use super::Finding;
use super::tree::{File, Tree};

/// A package that is optional is one machine's, as a rule. npm leaves those that its registry lacks out of the lock
/// file without a word, and whoever has a fuller registry is then refused by `npm ci`.
pub(super) fn incomplete_lock(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, packages) in locked(tree) {
        let is_there = |path: &str, name: &str| {
            let mut from = Some(path);
            while let Some(folder) = from {
                let place = match folder {
                    "" => format!("node_modules/{name}"),
                    _ => format!("{folder}/node_modules/{name}"),
                };
                if packages.contains_key(&place) {
                    return true;
                }
                from = parent(folder);
            }
            false
        };
        for (path, package) in &packages {
            let optional = package["optionalDependencies"].as_object();
            for name in optional.into_iter().flat_map(Map::keys) {
                if !is_there(path, name) {
                    let message = format!(
                        "`{name}` is missing: lock a version of `{path}` whose packages the registry has for every machine"
                    );
                    findings.push(Finding::in_file(file, message));
                }
            }
            if package.get("resolved").is_some() {
                let message = format!("`{path}` names a registry (`resolved`)");
                findings.push(Finding::in_file(file, message));
            }
        }
    }
    findings
}

/// Where npm looks next for what a package in this folder asks for.
fn parent(folder: &str) -> Option<&str> {
    let above = folder.rsplit_once("node_modules/")?.0;
    Some(above.trim_end_matches('/'))
}

fn locked(tree: &Tree) -> impl Iterator<Item = (&File, Map<String, Value>)> {
    let locks = tree.files.iter();
    let locks = locks.filter(|file| file.path.ends_with("/package-lock.json"));
    locks.filter_map(|file| {
        let mut lock: Value = serde_json::from_str(&file.text).ok()?;
        match lock["packages"].take() {
            Value::Object(packages) => Some((file, packages)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::places;
    use super::*;

    #[test]
    fn a_lock_file_that_lacks_a_machine_or_names_a_registry_is_found() {
        let complete = r#"{"packages": {
            "": {"optionalDependencies": {"top": "1"}},
            "node_modules/top": {"version": "1"},
            "node_modules/@a/tool": {"optionalDependencies": {"tool-linux": "1", "tool-mac": "1"}},
            "node_modules/@a/tool/node_modules/tool-linux": {"version": "1"},
            "node_modules/tool-mac": {"version": "1"}
        }}"#;
        let lacking = complete.replace("node_modules/tool-mac", "node_modules/tool-win");
        let named = complete.replacen(
            r#"{"version""#,
            r#"{"resolved": "https://example.com/top.tgz", "version""#,
            1,
        );
        let found = places(
            incomplete_lock,
            &[
                ("console/package-lock.json", complete),
                ("lacking/package-lock.json", &lacking),
                ("named/package-lock.json", &named),
            ],
        );
        assert_eq!(
            found,
            ["lacking/package-lock.json", "named/package-lock.json"]
        );
    }
}
