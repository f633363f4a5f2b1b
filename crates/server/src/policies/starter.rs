//! The version that everybody begins with, in the words of the control plane.

use std::sync::LazyLock;

use domain::guard::PolicyText;
use policy::{set, starter};
use store::policies::versions::Written;

/// How many policies the starter has.
const SIZE: u32 = 1;

/// What the data plane is told when the starter is in force or in shadow.
pub fn text() -> &'static PolicyText {
    static TEXT: LazyLock<PolicyText> = LazyLock::new(|| PolicyText {
        version: starter::VERSION,
        digest: set::digest(starter::POLICIES, None),
        policies: starter::POLICIES.to_owned(),
        schema: None,
    });
    &TEXT
}

/// The same as if somebody had written it.
pub fn written() -> Written {
    let text = text();
    Written {
        digest: text.digest.clone(),
        policies: text.policies.clone(),
        schema: None,
        tests: "[]".to_owned(),
        note: Some("The starter policies: everything is permitted.".to_owned()),
        size: SIZE,
    }
}
