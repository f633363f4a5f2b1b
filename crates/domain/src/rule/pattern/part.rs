//! A text that is looked for inside others.

use std::hash::{Hash, Hasher};

use memchr::memmem::Finder;

/// What finds the text is made once: making it takes longer than looking through a short value, and a
/// list has hundreds of those.
#[derive(Clone, Debug)]
pub struct Part(Box<Finder<'static>>);

impl Part {
    pub(super) fn new(text: &str) -> Self {
        Self(Box::new(Finder::new(text).into_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("it was made of a text")
    }

    fn as_bytes(&self) -> &[u8] {
        self.0.needle()
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.find(text.as_bytes()).is_some()
    }

    /// What stands behind the first place where it is found.
    pub(super) fn behind<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let place = self.0.find(text)?;
        text.get(place + self.as_bytes().len()..)
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Part {}

impl Hash for Part {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}
