//! Names JSON by what it says, whatever the order of members in its text.

use std::fmt::{self, Write};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Begins what is hashed, so that the digest of a value is no digest of anything else.
const DOMAIN: &str = "watchbell.json.v1\n";

/// Names a value: `sha256:` and 64 hexadecimal digits, the same for any order of members.
pub fn of_json(value: &Value) -> String {
    let mut hasher = Hasher::new(DOMAIN);
    hasher.value(value);
    hasher.finish()
}

/// Hashes JSON in a form of its own: members by name, and lengths before everything.
pub(crate) struct Hasher(Sha256);

impl Hasher {
    pub fn new(domain: &str) -> Self {
        Self(Sha256::new_with_prefix(domain))
    }

    pub fn finish(self) -> String {
        format!("sha256:{}", hex::encode(self.0.finalize()))
    }

    pub fn mark(&mut self, mark: &str) {
        self.0.update(mark);
    }

    /// How much is to come.
    fn count(&mut self, count: usize) {
        write!(self, "{count}:").expect("what is hashed has no end");
    }

    /// Texts carry their length, so that two of them cannot be mistaken for two others.
    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.mark(text);
    }

    pub fn object(&mut self, object: &Map<String, Value>) {
        let mut members: Vec<_> = object.iter().collect();
        members.sort_unstable_by_key(|(name, _)| *name);
        self.mark("{");
        self.count(members.len());
        for (name, value) in members {
            self.text(name);
            self.value(value);
        }
    }

    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.mark("n"),
            Value::Bool(true) => self.mark("t"),
            Value::Bool(false) => self.mark("f"),
            Value::Number(number) => {
                self.mark("#");
                self.text(&number.to_string());
            }
            Value::String(text) => {
                self.mark("\"");
                self.text(text);
            }
            Value::Array(values) => {
                self.mark("[");
                self.count(values.len());
                for value in values {
                    self.value(value);
                }
            }
            Value::Object(object) => self.object(object),
        }
    }
}

impl Write for Hasher {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.mark(text);
        Ok(())
    }
}
