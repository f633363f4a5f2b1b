//! Brings what PostgreSQL knows of a log and the log's files to the same size, before anything is appended.
//!
//! | the files have | why | what is done |
//! |---|---|---|
//! | as much | nothing happened | the roots are compared |
//! | more | a sequencer died, or PostgreSQL was put back to an earlier state | PostgreSQL adopts it |
//! | less | the bucket lost what was written last | it is written again, if PostgreSQL still has it |
//!
//! Whatever else is the case is a contradiction, and the log stops.

use std::{collections::BTreeMap, time::Duration};

use domain::Timestamp;
use store::transparency::{Leaves, logs::Adopted};
use trail_proof::leaf::Leaf;
use transparency_log::{Edge, Hash};

use super::{
    growth::{BUNDLE_LEAVES, Growth, in_full_bundles},
    sequencer::{Error, OpenLog},
    step::Step,
};

/// For how long steps are kept whose leaves full bundles have: far longer than any sequencer trusts what it knows.
const STEPS_KEPT: Duration = Duration::from_hours(24);

/// The sizes that steps go on from, and when they were written.
type Steps = BTreeMap<u64, Timestamp>;

impl OpenLog<'_> {
    pub(super) async fn catch_up(&mut self) -> Result<(), Error> {
        let steps = self.files.steps().await?;
        let last = match steps.last_key_value() {
            Some((last, _)) => Some(self.step(*last).await?),
            None => None,
        };
        let size = last.as_ref().map_or(0, Step::size);
        if size < self.edge.size() {
            return self.write_again(size).await;
        }
        let Some(last) = last else {
            return Ok(());
        };
        if last.origin != self.state.origin {
            let (theirs, ours) = (&last.origin, &self.state.origin);
            let problem = format!("the files are of the log {theirs}, and this is {ours}");
            return Err(Error::Contradiction(problem));
        }
        self.compare(&steps, &last).await?;
        while self.edge.size() < size {
            let leaves = self.leaves_from(&steps, self.edge.size()).await?;
            self.adopt(leaves).await?;
        }
        let full = in_full_bundles(self.edge.size());
        let before = self.sequencer.tools.clock.now().minus(STEPS_KEPT);
        self.files.delete_old_steps(&steps, full, before).await?;
        Ok(())
    }

    /// Whether what the files have goes on from what PostgreSQL has signed. Before anything of it is adopted: what is adopted
    /// is signed.
    async fn compare(&self, steps: &Steps, last: &Step) -> Result<(), Error> {
        let mut edge = self.edge.clone();
        while edge.size() < last.size() {
            let leaves = self.leaves_from(steps, edge.size()).await?;
            for leaf in leaves.iter() {
                edge.append(Hash::of_leaf(leaf))?;
            }
        }
        if edge.root() != last.root {
            return Err(Error::Contradiction(format!(
                "the files have another tree of {} leaves than what was signed of {} leads to",
                last.size(),
                self.edge.size()
            )));
        }
        Ok(())
    }

    /// Adopts the step that somebody else wrote from the size that the log has.
    pub(super) async fn adopt_step(&mut self, from: u64) -> Result<(), Error> {
        let step = self.step(from).await?;
        let steps = Steps::from([(from, Timestamp::MIN)]);
        self.compare(&steps, &step).await?;
        self.adopt(step.leaves).await
    }

    async fn adopt(&mut self, leaves: Leaves) -> Result<(), Error> {
        let growth = self.grow(&leaves).await?;
        self.files.write(&growth).await?;
        let advance = self.advance(&growth)?;
        let times = leaves.iter().filter_map(|leaf| Leaf::decode(leaf).ok());
        let until = times.map(|leaf| leaf.received_ms).max();
        let adopted = Adopted {
            partition: self.sequencer.partition,
            leaves,
            until: until.map_or(Timestamp::MIN, Timestamp::from_unix_millis),
        };
        let store = &self.sequencer.tools.store;
        if !store.adopt_leaves(self.org, &advance, &adopted).await? {
            return Err(Error::Overtaken);
        }
        self.state.adopted_until = self.state.adopted_until.max(Some(adopted.until));
        self.moved(growth).await
    }

    /// Writes again what the files had from `size` on, from what PostgreSQL still has of it.
    async fn write_again(&self, size: u64) -> Result<(), Error> {
        let full = in_full_bundles(size);
        let store = &self.sequencer.tools.store;
        let lost = || {
            let (from, to) = (size, self.edge.size());
            Error::Contradiction(format!(
                "the files have lost the leaves from {from} up to {to}"
            ))
        };
        let leaves = store.last_leaves(self.org, full, self.edge.size()).await?;
        let leaves = leaves.ok_or_else(lost)?;
        let growth = Growth::of(self.edge_of_full(full).await?, &Leaves::default(), &leaves)?;
        if growth.edge != self.edge {
            return Err(lost());
        }
        let known = usize::try_from(size - full).expect("below 256");
        let step = Step {
            origin: self.state.origin.clone(),
            from: size,
            leaves: leaves.iter().skip(known).collect(),
            root: self.edge.root(),
        };
        self.files.write(&growth).await?;
        if !self.files.write_step(&step).await? {
            return Err(Error::Overtaken);
        }
        tracing::warn!(
            org.id = %self.org,
            from = size,
            to = self.edge.size(),
            "wrote again what the files of a transparency log had lost"
        );
        Ok(())
    }

    /// The edge of the tree of so many leaves, all in full bundles.
    async fn edge_of_full(&self, size: u64) -> Result<Edge, Error> {
        let mut roots = Vec::new();
        for node in transparency_log::complete_subtrees(0, size) {
            let tile = transparency_log::Tile::holding(node, size)
                .ok_or_else(|| Error::Contradiction(format!("there is no tile of {node:?}")))?;
            let hashes = self
                .files
                .tile_hashes(tile.level(), tile.index(), tile.width().into())
                .await?;
            roots.push(tile.root_of(node, &hashes)?);
        }
        Ok(Edge::from_parts(size, roots)?)
    }

    /// Leaves that no full bundle has yet.
    pub(super) async fn last_leaves(&self) -> Result<Leaves, Error> {
        let size = self.edge.size();
        let full = in_full_bundles(size);
        if full == size {
            return Ok(Leaves::default());
        }
        let store = &self.sequencer.tools.store;
        if let Some(last) = store.last_leaves(self.org, full, size).await? {
            return Ok(last);
        }
        let steps = self.files.steps().await?;
        let mut last = Leaves::default();
        while full + (last.count() as u64) < size {
            let at = full + last.count() as u64;
            let more = self.leaves_from(&steps, at).await?;
            let wanted = usize::try_from(size - at).expect("below 256");
            last.append(&more.iter().take(wanted).collect());
        }
        Ok(last)
    }

    /// Some leaves from an index on, as the files have them: from the step that has it, or from its bundle.
    async fn leaves_from(&self, steps: &Steps, index: u64) -> Result<Leaves, Error> {
        if let Some((from, _)) = steps.range(..=index).next_back() {
            let step = self.step(*from).await?;
            if step.size() > index {
                return Ok(skipping(&step.leaves, index - *from));
            }
        }
        let number = index / BUNDLE_LEAVES;
        let bundle = self.files.bundle(number).await?;
        let bundle = bundle.ok_or_else(|| {
            Error::Contradiction(format!("no file has the leaf {index} any more"))
        })?;
        Ok(skipping(&bundle, index % BUNDLE_LEAVES))
    }

    async fn step(&self, from: u64) -> Result<Step, Error> {
        let step = self.files.step(from).await?;
        // It was there a moment ago: somebody was faster and has given it up since.
        step.ok_or(Error::Overtaken)
    }
}

fn skipping(leaves: &Leaves, count: u64) -> Leaves {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    leaves.iter().skip(count).collect()
}
