//! A version of an organisation's policies, ready to be asked.

use domain::fault::Fault;
use serde_json::Value;

use crate::{
    question::Asked,
    verdict::{Decided, Verdict},
};

/// Policies, read and indexed.
#[derive(Debug)]
pub struct PolicySet {
    digest: String,
}

impl PolicySet {
    /// Reads texts that were checked when they were saved.
    pub fn read(policies: &str, schema: Option<&str>) -> Result<Self, Vec<Fault>> {
        Ok(Self {
            digest: digest(policies, schema),
        })
    }

    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// How many policies there are.
    pub fn len(&self) -> usize {
        0
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Answers. `is_approved`: a person has approved this very question, so policies that only ask for
    /// that are satisfied.
    pub fn decide(&self, asked: &Asked, payload: Option<&Value>, is_approved: bool) -> Decided {
        let _ = (asked, payload, is_approved);
        Decided {
            verdict: Verdict::Deny,
            reason: String::new(),
            policies: Vec::new(),
            errors: Vec::new(),
            modified_payload: None,
        }
    }
}

/// Names the texts of a version: `sha256:` and 64 hexadecimal digits. Two versions with the same digest
/// answer every question alike.
pub fn digest(policies: &str, schema: Option<&str>) -> String {
    let _ = (policies, schema);
    String::new()
}
