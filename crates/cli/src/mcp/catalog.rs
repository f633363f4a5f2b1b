//! The tools of a server as they were seen, and as they were pinned: a server that changes what a tool does, or says to the model,
//! does not go unnoticed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use domain::mcp::Tools;
use policy::fit;

use super::pins::Pins;

/// How many tools are known of one server; models choose badly among hundreds. Of more, changes go unnoticed, and pinned servers
/// have no more.
const TOOLS_MAX: usize = 4_096;
/// How many changes of one list are told one by one. A server that changes its tools again and again must not fill the trail.
const TOLD_MAX: usize = 100;

/// What makes a tool the tool that it is, in short.
pub(super) type Fingerprint = String;

#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// As they were listed last.
    seen: BTreeMap<String, Fingerprint>,
    /// Of the list that is going on, page by page.
    listing: BTreeMap<String, Fingerprint>,
    /// Whether that began with the first page.
    is_from_first: bool,
    /// How many of its changes were told, and how many are only counted.
    told: usize,
    untold: usize,
    /// Whether there was a whole list before, or pins: what is new is new only then.
    is_known: bool,
    pins: Option<Pins>,
    /// Pinned tools that were listed differently.
    differing: BTreeSet<String>,
}

/// What is different from before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) action: &'static str,
    pub(super) tool: String,
    pub(super) before: Option<Fingerprint>,
    pub(super) after: Option<Fingerprint>,
}

/// What a page of a list says.
#[derive(Debug, Default)]
pub(super) struct Looked {
    pub(super) changes: Vec<Change>,
    /// The places of tools that are not as they are pinned.
    pub(super) differing: Vec<usize>,
    /// At the end of a list: how many more changes there were.
    pub(super) untold: usize,
    /// What is to be pinned now.
    pub(super) to_pin: Option<ToPin>,
}

/// The first whole list, and the file to write it to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToPin {
    pub(super) file: PathBuf,
    pub(super) tools: BTreeMap<String, Fingerprint>,
}

impl Catalog {
    pub(super) fn new(pins: Option<Pins>) -> Self {
        let pinned = pins.as_ref().and_then(Pins::tools);
        Self {
            is_known: pinned.is_some(),
            seen: pinned.cloned().unwrap_or_default(),
            pins,
            ..Self::default()
        }
    }

    /// Why a tool may not be called, whatever policies say.
    pub(super) fn refusal(&self, tool: &str) -> Option<&'static str> {
        let pinned = self.pins.as_ref()?.tools();
        match pinned {
            None => Some("The tools of this server are to be pinned, and they are not yet."),
            Some(_) if self.differing.contains(tool) => {
                Some("This tool is not what it was when it was pinned.")
            }
            Some(pinned) if !pinned.contains_key(tool) => {
                Some("This tool was not there when the tools of this server were pinned.")
            }
            Some(_) => None,
        }
    }

    /// Looks at a page; the first one, or one that follows.
    pub(super) fn look(&mut self, tools: &Tools<'_>, is_first: bool) -> Looked {
        if is_first {
            self.listing.clear();
            self.is_from_first = true;
            self.told = 0;
        }
        let mut looked = Looked::default();
        let mut changes = Vec::new();
        for (place, (name, definition)) in tools.definitions().enumerate() {
            let fingerprint = fit::digest(&definition).digest;
            if self.is_different(name, &fingerprint) {
                // The others are refused because they are not pinned, however many they are.
                if self.is_pinned(name) {
                    self.differing.insert(name.to_owned());
                }
                looked.differing.push(place);
            } else if !self.listing.contains_key(name) {
                self.differing.remove(name);
            }
            let before = self.seen.get(name);
            if before.is_none() && self.seen.len() >= TOOLS_MAX {
                continue;
            }
            if self.is_known && before != Some(&fingerprint) {
                changes.push(Change {
                    action: if before.is_some() {
                        "mcp_tools.change"
                    } else {
                        "mcp_tools.add"
                    },
                    tool: name.to_owned(),
                    before: before.cloned(),
                    after: Some(fingerprint.clone()),
                });
            }
            self.seen.insert(name.to_owned(), fingerprint.clone());
            self.listing.insert(name.to_owned(), fingerprint);
        }
        let is_whole = !tools.goes_on && self.is_from_first;
        if is_whole {
            changes.extend(self.removed());
            self.is_known = true;
            looked.to_pin = self.to_pin();
        }
        let count = changes.len();
        changes.truncate(TOLD_MAX - self.told);
        self.told += changes.len();
        self.untold += count - changes.len();
        looked.changes = changes;
        if is_whole {
            self.is_from_first = false;
            looked.untold = std::mem::take(&mut self.untold);
        }
        looked
    }

    /// This is pinned from now on.
    pub(super) fn pin(&mut self, tools: BTreeMap<String, Fingerprint>) {
        let differs = |(name, fingerprint): &(&String, &Fingerprint)| {
            let pinned = tools.get(*name);
            pinned.is_some_and(|pinned| pinned != *fingerprint)
        };
        let differing = self.listing.iter().filter(differs);
        self.differing = differing.map(|(name, _)| name.clone()).collect();
        if let Some(pins) = &mut self.pins {
            pins.know(tools);
        }
    }

    fn is_pinned(&self, name: &str) -> bool {
        let pinned = self.pins.as_ref().and_then(Pins::tools);
        pinned.is_some_and(|pinned| pinned.contains_key(name))
    }

    /// Whether a tool is not the one that is pinned. It is looked at again whenever it is listed.
    fn is_different(&self, name: &str, fingerprint: &Fingerprint) -> bool {
        let pinned = self.pins.as_ref().and_then(Pins::tools);
        pinned.is_some_and(|pinned| pinned.get(name) != Some(fingerprint))
    }

    /// What the whole list does not have any more.
    fn removed(&mut self) -> Vec<Change> {
        let listing = &self.listing;
        let gone = self
            .seen
            .extract_if(.., |name, _| !listing.contains_key(name));
        let gone = gone.map(|(tool, before)| Change {
            action: "mcp_tools.remove",
            tool,
            before: Some(before),
            after: None,
        });
        gone.collect()
    }

    /// The first whole list is what is pinned.
    fn to_pin(&self) -> Option<ToPin> {
        let pins = self.pins.as_ref()?;
        pins.tools().is_none().then(|| ToPin {
            file: pins.file().to_owned(),
            tools: self.listing.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn list(tools: &[(&str, &str)]) -> Value {
        let tools = tools
            .iter()
            .map(|(name, text)| json!({"name": name, "description": text}));
        json!({"tools": tools.collect::<Vec<_>>()})
    }

    fn look(catalog: &mut Catalog, tools: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let list = list(tools);
        let looked = catalog.look(&Tools::of(&list).expect("a list"), true);
        let changes = looked.changes.into_iter();
        changes.map(|change| (change.action, change.tool)).collect()
    }

    #[test]
    fn what_changes_between_two_lists_is_told_once() {
        let mut catalog = Catalog::new(None);
        let first = [("a", "A"), ("b", "B")];
        assert!(look(&mut catalog, &first).is_empty());
        assert!(look(&mut catalog, &first).is_empty());
        let second = [("a", "A!"), ("c", "C")];
        let expected = [
            ("mcp_tools.change", "a".to_owned()),
            ("mcp_tools.add", "c".to_owned()),
            ("mcp_tools.remove", "b".to_owned()),
        ];
        assert_eq!(look(&mut catalog, &second), expected);
        assert!(look(&mut catalog, &second).is_empty());
        assert_eq!(catalog.refusal("a"), None, "nothing is pinned");
    }

    #[test]
    fn a_list_has_pages_and_only_the_last_says_what_is_gone() {
        let mut catalog = Catalog::new(None);
        assert!(look(&mut catalog, &[("a", "A"), ("b", "B")]).is_empty());
        let mut first = list(&[("b", "B")]);
        first["nextCursor"] = json!("2");
        let looked = catalog.look(&Tools::of(&first).expect("a list"), true);
        assert!(looked.changes.is_empty());
        let second = list(&[("c", "C")]);
        let looked = catalog.look(&Tools::of(&second).expect("a list"), false);
        let actions: Vec<_> = looked.changes.iter().map(|change| change.action).collect();
        assert_eq!(actions, ["mcp_tools.add", "mcp_tools.remove"]);
    }

    #[test]
    fn the_first_list_is_pinned_and_what_differs_from_it_is_refused() {
        let mut catalog = Catalog::new(Some(Pins::unknown()));
        assert!(catalog.refusal("a").is_some(), "not listed yet");
        let first = list(&[("a", "A"), ("b", "B")]);
        let first = Tools::of(&first).expect("a list");
        let rest = catalog.look(&first, false);
        assert_eq!(rest.to_pin, None, "it may be a part of the list only");
        let to_pin = catalog.look(&first, true).to_pin.expect("pinned");
        assert!(catalog.refusal("a").is_some(), "not written yet");
        catalog.pin(to_pin.tools);
        assert_eq!(catalog.refusal("a"), None);
        let changed = list(&[("a", "A!"), ("b", "B"), ("c", "C")]);
        let looked = catalog.look(&Tools::of(&changed).expect("a list"), true);
        assert_eq!(looked.differing, [0, 2]);
        assert_eq!(looked.to_pin, None, "pinned once");
        assert!(catalog.refusal("a").is_some());
        assert_eq!(catalog.refusal("b"), None);
        assert!(catalog.refusal("c").is_some());
        // It is as it was: it may be called again.
        look(&mut catalog, &[("a", "A"), ("b", "B")]);
        assert_eq!(catalog.refusal("a"), None);
        // Of two with one name, the one that differs counts.
        look(&mut catalog, &[("a", "A!"), ("a", "A")]);
        assert!(catalog.refusal("a").is_some());
    }

    #[test]
    fn what_somebody_else_pinned_meanwhile_counts() {
        let mut catalog = Catalog::new(Some(Pins::unknown()));
        let listed = list(&[("a", "A!"), ("b", "B")]);
        let looked = catalog.look(&Tools::of(&listed).expect("a list"), true);
        let mut pinned = looked.to_pin.expect("pinned").tools;
        pinned.insert("a".to_owned(), "another".to_owned());
        catalog.pin(pinned);
        assert!(catalog.refusal("a").is_some());
        assert_eq!(catalog.refusal("b"), None);
    }

    #[test]
    fn of_a_flood_of_changes_the_first_are_told_and_the_others_counted() {
        let mut catalog = Catalog::new(None);
        let names: Vec<String> = (0..300).map(|number| number.to_string()).collect();
        let tools = |text: &'static str| {
            let tools: Vec<_> = names.iter().map(|name| (name.as_str(), text)).collect();
            list(&tools)
        };
        let mut look = |list: &Value| {
            let looked = catalog.look(&Tools::of(list).expect("a list"), true);
            (looked.changes.len(), looked.untold)
        };
        assert_eq!(look(&tools("A")), (0, 0));
        assert_eq!(look(&tools("B")), (TOLD_MAX, 200));
        assert_eq!(look(&tools("B")), (0, 0));
    }
}
