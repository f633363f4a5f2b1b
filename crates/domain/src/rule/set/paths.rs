//! The fields that the rules of an organization name, each with a number, and what for.

use super::{key::print, shards::Shards};
use crate::event::EventView;

/// A field that a rule names. Those at the top have the numbers of [`EventView::FIELDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PathId(usize);

/// Which keys the values in a field are given, because there are rules that go by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    pub(super) equals: bool,
    pub(super) ignoring_case: bool,
    /// Together with `result`; only of `event_type`.
    pub(super) pair: bool,
    /// A bit for each of [`super::key::LENGTHS`].
    pub(super) starts: u8,
    pub(super) ends: u8,
}

/// Cheap to clone. Names are only ever added.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    /// The fields at the top; `None` if no rule names it.
    top: [Option<Uses>; EventView::FIELDS.len()],
    /// The fields inside `metadata`, by a fingerprint of where they stand, which several may share.
    inside: Shards<u64, Vec<Inside>>,
    /// How many have been numbered.
    numbered: usize,
}

/// A key of an object in `metadata`.
#[derive(Clone, Debug)]
struct Inside {
    parent: PathId,
    key: Box<str>,
    id: PathId,
    uses: Uses,
}

impl PathId {
    /// A field at the top of an event.
    pub(super) fn top(name: &str) -> Option<Self> {
        let place = EventView::FIELDS.iter().position(|field| *field == name);
        place.map(Self)
    }
}

impl Uses {
    fn and(self, other: Self) -> Self {
        Self {
            equals: self.equals | other.equals,
            ignoring_case: self.ignoring_case | other.ignoring_case,
            pair: self.pair | other.pair,
            starts: self.starts | other.starts,
            ends: self.ends | other.ends,
        }
    }
}

impl Paths {
    /// How many fields inside `metadata` have a name.
    pub(super) fn len(&self) -> usize {
        self.numbered
    }

    /// The fields at the top that rules name.
    pub(super) fn at_top(&self) -> impl Iterator<Item = (PathId, &'static str, Uses)> {
        let named = self.top.iter().enumerate();
        named.filter_map(|(place, uses)| Some((PathId(place), EventView::FIELDS[place], (*uses)?)))
    }

    /// The field that a rule names below another one.
    pub(super) fn below(&self, parent: PathId, key: &str) -> Option<(PathId, Uses)> {
        let found = self.find(print((parent, key)), parent, key)?;
        Some((found.id, found.uses))
    }

    /// The number of a path, which has it from now on, and the uses that are added to it.
    pub(super) fn name(&mut self, path: &[Box<str>], uses: Uses) -> PathId {
        let (top, inside) = path.split_first().expect("a path has a key");
        let mut here = PathId::top(top).expect("a pattern names fields of events only");
        let named = self.top[here.0].get_or_insert_default();
        if let Some((last, between)) = inside.split_last() {
            for key in between {
                here = self.name_below(here, key, Uses::default());
            }
            return self.name_below(here, last, uses);
        }
        *named = named.and(uses);
        here
    }

    fn name_below(&mut self, parent: PathId, key: &str, uses: Uses) -> PathId {
        let print = print((parent, key));
        match self.find(print, parent, key) {
            // Looked at first, because changing copies.
            Some(known) if known.uses.and(uses) == known.uses => known.id,
            Some(known) => {
                let id = known.id;
                let same_print = self.inside.at(print).iter_mut();
                for known in same_print.filter(|known| known.id == id) {
                    known.uses = known.uses.and(uses);
                }
                id
            }
            None => {
                let id = PathId(EventView::FIELDS.len() + self.numbered);
                self.numbered += 1;
                self.inside.at(print).push(Inside {
                    parent,
                    key: key.into(),
                    id,
                    uses,
                });
                id
            }
        }
    }

    fn find(&self, print: u64, parent: PathId, key: &str) -> Option<&Inside> {
        let same_print = self.inside.get(&print)?;
        same_print
            .iter()
            .find(|known| known.parent == parent && *known.key == *key)
    }
}
