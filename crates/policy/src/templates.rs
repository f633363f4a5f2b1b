//! Policies to begin with, each for one purpose. They are written to stand beside `allow-all`: each
//! takes something away, or changes it. Each covers what every door sends: our own API, AuthZEN, the hooks of Claude
//! Code with their MCP servers, and the SDKs.

use crate::test::Test;

/// A policy to copy and change.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    pub id: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub policies: &'static str,
    /// Questions with what is answered, if [`crate::starter::POLICIES`] are there too; as JSON.
    tests: &'static str,
}

impl Template {
    pub fn tests(&self) -> Vec<Test> {
        serde_json::from_str(self.tests).expect("the tests of all templates are run by ours")
    }

    pub fn of_id(id: &str) -> Option<&'static Self> {
        TEMPLATES.iter().find(|template| template.id == id)
    }
}

macro_rules! template {
    ($id:literal, $title:literal, $description:literal) => {
        Template {
            id: $id,
            title: $title,
            description: $description,
            policies: include_str!(concat!("../templates/", $id, ".cedar")),
            tests: include_str!(concat!("../templates/", $id, ".tests.json")),
        }
    };
}

pub const TEMPLATES: [Template; 7] = [
    template!(
        "payments-need-approval",
        "Payments above a limit need approval",
        "A person approves every payment above 1,000, and every payment that does not say how much, or says less than nothing."
    ),
    template!(
        "read-only-agent",
        "An agent that only reads",
        "One agent may read and search, and nothing else."
    ),
    template!(
        "no-production-writes",
        "No writes in production",
        "Writes and deployments are denied in production, and where nobody says which environment it is."
    ),
    template!(
        "allow-listed-tools",
        "Tools on a list only",
        "Of all tools, those of MCP servers too, only those on a list may be called."
    ),
    template!(
        "redact-fields",
        "Take fields out of messages",
        "Messages are sent without card numbers and with another sender."
    ),
    template!(
        "dangerous-commands",
        "Dangerous shell commands",
        "Some shell commands are denied and some need approval, in their usual spellings. It stops accidents, not an attacker."
    ),
    template!(
        "working-hours",
        "Approval outside working hours",
        "Deployments outside 07:00 to 19:00 UTC need approval, by our clock."
    ),
];
