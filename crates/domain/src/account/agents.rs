//! Which agents an API key speaks for.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::fault::{Fault, FaultCode};

/// How many names a key may have: a key for more is a key for all.
pub const AGENTS_MAX: usize = 20;
/// The longest, as long as that of an agent.
const CHARS_MAX: usize = 128;

/// Agents, or all whose names start alike (`billing-*`). Without any, the key speaks for whomever it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Agents(Vec<String>);

impl Agents {
    /// Every agent there is.
    pub const ALL: Self = Self(Vec::new());

    /// Everything that is wrong with what was given, by where it stands under `/agents`.
    pub fn parse(given: &[String]) -> Result<Self, Vec<Fault>> {
        if given.len() > AGENTS_MAX {
            let detail = format!("`agents` can have at most {AGENTS_MAX} entries.");
            let fault = Fault::new(FaultCode::FieldTooLong, "/agents", detail);
            return Err(vec![fault]);
        }
        let faults: Vec<Fault> = given
            .iter()
            .enumerate()
            .filter(|(_, name)| !is_name(name))
            .map(|(place, _)| {
                let detail = format!(
                    "An agent must be 1 to {CHARS_MAX} characters; a `*` matches any rest (billing-*) and is allowed \
                     only at the end."
                );
                Fault::invalid(format!("/agents/{place}"), detail)
            })
            .collect();
        if faults.is_empty() {
            Ok(Self(given.to_vec()))
        } else {
            Err(faults)
        }
    }

    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Whether it speaks for all.
    pub fn are_all(&self) -> bool {
        self.0.is_empty()
    }

    pub fn include(&self, agent: &str) -> bool {
        let is_it = |name: &String| match name.strip_suffix('*') {
            Some(start) => agent.starts_with(start),
            None => agent == name,
        };
        self.are_all() || self.0.iter().any(is_it)
    }
}

fn is_name(text: &str) -> bool {
    let start = text.strip_suffix('*').unwrap_or(text);
    !text.is_empty() && text.chars().count() <= CHARS_MAX && !start.contains(['*', '\0'])
}

impl fmt::Display for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.0.iter().enumerate() {
            let between = if number > 0 { ", " } else { "" };
            write!(f, "{between}`{name}`")?;
        }
        Ok(())
    }
}

/// As they were saved.
impl From<Vec<String>> for Agents {
    fn from(names: Vec<String>) -> Self {
        Self(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(names: &[&str]) -> Result<Agents, Vec<Fault>> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Agents::parse(&names)
    }

    #[test]
    fn a_key_speaks_for_the_agents_it_names_and_without_any_for_all() {
        let bound = agents(&["billing-*", "mail"]).expect("agents");
        for (agent, is_one) in [
            ("billing-", true),
            ("billing-7", true),
            ("billing", false),
            ("mail", true),
            ("mailer", false),
            ("", false),
        ] {
            assert_eq!(bound.include(agent), is_one, "{agent}");
        }
        assert_eq!(bound.to_string(), "`billing-*`, `mail`");
        assert!(agents(&[]).expect("all").include("anybody"));
        assert!(agents(&["*"]).expect("all").include("anybody"));
    }

    #[test]
    fn what_no_agent_is_called_is_pointed_at() {
        let long = "x".repeat(CHARS_MAX + 1);
        let faults = agents(&["a", "", "a*b", "**", "a\0", &long]).expect_err("wrong");
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        let expected = [
            "/agents/1",
            "/agents/2",
            "/agents/3",
            "/agents/4",
            "/agents/5",
        ];
        assert_eq!(pointers, expected);
        assert!(agents(&["a"; AGENTS_MAX + 1]).is_err());
    }
}
