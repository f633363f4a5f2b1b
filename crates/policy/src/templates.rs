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
        "A person approves every payment above 1,000, and every payment whose amount is missing or negative."
    ),
    template!(
        "read-only-agent",
        "An agent that only reads",
        "One agent may read and search, and nothing else."
    ),
    template!(
        "no-production-writes",
        "No writes in production",
        "Writes and deployments are denied in production, and wherever the environment is not stated."
    ),
    template!(
        "allow-listed-tools",
        "Only tools on a list",
        "Only the tools on a list may be called, including those of MCP servers."
    ),
    template!(
        "redact-fields",
        "Remove fields from messages",
        "Messages are sent without card numbers and with a different sender."
    ),
    template!(
        "dangerous-commands",
        "Dangerous shell commands",
        "Some shell commands are denied and some need approval, in their usual spellings. This stops accidents, not attackers."
    ),
    template!(
        "working-hours",
        "Approval outside working hours",
        "Deployments outside 07:00 to 19:00 UTC need approval, by the server's clock."
    ),
];
