//! What is different between two versions, policy by policy.

use std::collections::BTreeMap;

use domain::fault::Fault;
use serde::Serialize;

use crate::set::{Age, Named, Parsed};

/// The texts of a version.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    pub policies: &'a str,
    pub schema: Option<&'a str>,
}

/// What is different, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diff {
    pub added: Vec<Written>,
    pub removed: Vec<Written>,
    pub changed: Vec<Changed>,
    /// How many policies are the same to the letter.
    pub unchanged: usize,
    pub schema_changed: bool,
}

/// A policy as it is written, with its annotations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Written {
    pub id: String,
    pub text: String,
}

/// A policy that was written anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    pub id: String,
    pub before: String,
    pub after: String,
}

/// Compares. Comments that stand between policies belong to none, and are not compared.
pub fn diff(before: Texts<'_>, after: Texts<'_>) -> Result<Diff, Vec<Fault>> {
    let mut old = written(before)?;
    let mut diff = Diff {
        schema_changed: before.schema != after.schema,
        ..Diff::default()
    };
    for (id, text) in written(after)? {
        match old.remove(&id) {
            None => diff.added.push(Written { id, text }),
            Some(before) if before == text => diff.unchanged += 1,
            Some(before) => diff.changed.push(Changed {
                id,
                before,
                after: text,
            }),
        }
    }
    let removed = old.into_iter();
    diff.removed = removed.map(|(id, text)| Written { id, text }).collect();
    Ok(diff)
}

fn written(texts: Texts<'_>) -> Result<BTreeMap<String, String>, Vec<Fault>> {
    let parsed = Parsed::read(texts.policies, texts.schema, Age::Saved)?;
    let policies = parsed.policies.iter().map(|Named { policy, terms, .. }| {
        let text = policy.to_cedar().unwrap_or_else(|| policy.to_string());
        (terms.id().to_owned(), text)
    });
    Ok(policies.collect())
}
