//! Folders, names and files, and what of them a power cut would leave.
//!
//! A change of a name or of a file's attributes goes into one log, in the order of the changes, as in a journaling file
//! system: a sync of anything makes the whole log durable, and a cut goes through it backward. What is *in* a file is apart
//! (see `content`): only a sync of that file makes it durable. So a new file whose folder was synced, or that was renamed
//! over an old one, is there after a cut, and empty if nobody synced the file itself.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::mem;
use std::path::PathBuf;
use std::time::SystemTime;

use rustix::io::Errno;

use super::content::Content;
use crate::Dice;

/// The number of the folder that everything is in.
pub(super) const ROOT: u64 = 1;

#[derive(Debug)]
pub(super) struct Tree {
    /// In order, so that the same dice tear the same pages.
    nodes: BTreeMap<u64, Node>,
    next_number: u64,
    /// What changed since the last sync of anything.
    log: Vec<Change>,
    /// Files that have lost their last name. They go when that is durable and nobody has them open.
    nameless: Vec<u64>,
    held_bytes: u64,
    limit_bytes: Option<u64>,
}

/// A file, a folder or a link: what names stand for.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) attributes: Attributes,
    open: u64,
}

#[derive(Debug)]
pub(super) enum Kind {
    File(Content),
    Folder(BTreeMap<OsString, u64>),
    Link(PathBuf),
    Socket,
    Pipe,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes {
    pub(super) permissions: u16,
    pub(super) user: u32,
    pub(super) group: u32,
    /// How many names it has; 1 for a folder, which says nothing about the folders in it.
    pub(super) names: u32,
    pub(super) accessed: SystemTime,
    pub(super) modified: SystemTime,
    pub(super) changed: SystemTime,
}

/// How to go back.
#[derive(Debug)]
enum Change {
    Name {
        folder: u64,
        name: OsString,
        was: Option<u64>,
    },
    Attributes {
        node: u64,
        was: Attributes,
    },
    /// There is nothing to go back to, as content keeps that; but once the log is durable, the content is no longer.
    Truncation {
        node: u64,
        size: u64,
    },
}

impl Attributes {
    pub(super) fn new(permissions: u32, user: u32, group: u32, now: SystemTime) -> Self {
        let permissions = u16::try_from(permissions & 0o7777).expect("twelve bits");
        Self {
            permissions,
            user,
            group,
            names: 0,
            accessed: now,
            modified: now,
            changed: now,
        }
    }
}

impl Tree {
    pub(super) fn new(now: SystemTime) -> Self {
        let mut attributes = Attributes::new(0o755, 0, 0, now);
        attributes.names = 1;
        let root = Node {
            kind: Kind::Folder(BTreeMap::new()),
            attributes,
            open: 0,
        };
        Self {
            nodes: BTreeMap::from([(ROOT, root)]),
            next_number: ROOT + 1,
            log: Vec::new(),
            nameless: Vec::new(),
            held_bytes: 0,
            limit_bytes: None,
        }
    }

    pub(super) fn node(&self, node: u64) -> Result<&Node, Errno> {
        self.nodes.get(&node).ok_or(Errno::STALE)
    }

    pub(super) fn find(&self, folder: u64, name: &OsStr) -> Result<u64, Errno> {
        let found = self.names_in(folder)?.get(name);
        found.copied().ok_or(Errno::NOENT)
    }

    pub(super) fn names_in(&self, folder: u64) -> Result<&BTreeMap<OsString, u64>, Errno> {
        match &self.node(folder)?.kind {
            Kind::Folder(names) => Ok(names),
            _ => Err(Errno::NOTDIR),
        }
    }

    pub(super) fn create(
        &mut self,
        folder: u64,
        name: &OsStr,
        kind: Kind,
        attributes: Attributes,
    ) -> Result<u64, Errno> {
        if self.names_in(folder)?.contains_key(name) {
            return Err(Errno::EXIST);
        }
        let number = self.next_number;
        self.next_number += 1;
        let open = 0;
        let node = Node {
            kind,
            attributes,
            open,
        };
        self.nodes.insert(number, node);
        self.name(folder, name, Some(number), attributes.changed)?;
        Ok(number)
    }

    /// One more name for a file.
    pub(super) fn link(
        &mut self,
        node: u64,
        folder: u64,
        name: &OsStr,
        now: SystemTime,
    ) -> Result<(), Errno> {
        if self.names_in(folder)?.contains_key(name) {
            return Err(Errno::EXIST);
        }
        self.name(folder, name, Some(node), now)
    }

    pub(super) fn remove_file(
        &mut self,
        folder: u64,
        name: &OsStr,
        now: SystemTime,
    ) -> Result<(), Errno> {
        let node = self.find(folder, name)?;
        if self.names_in(node).is_ok() {
            return Err(Errno::ISDIR);
        }
        self.name(folder, name, None, now)
    }

    pub(super) fn remove_folder(
        &mut self,
        folder: u64,
        name: &OsStr,
        now: SystemTime,
    ) -> Result<(), Errno> {
        let node = self.find(folder, name)?;
        if !self.names_in(node)?.is_empty() {
            return Err(Errno::NOTEMPTY);
        }
        self.name(folder, name, None, now)
    }

    /// Moves what has the one name to the other, over what has that one.
    pub(super) fn rename(
        &mut self,
        (folder, name): (u64, &OsStr),
        (to_folder, to_name): (u64, &OsStr),
        now: SystemTime,
    ) -> Result<(), Errno> {
        let node = self.find(folder, name)?;
        match self.find(to_folder, to_name) {
            // Both are names of one file: so POSIX has it.
            Ok(replaced) if replaced == node => return Ok(()),
            Ok(replaced) => match (self.names_in(node), self.names_in(replaced)) {
                (Ok(_), Ok(inside)) if !inside.is_empty() => return Err(Errno::NOTEMPTY),
                (Ok(_), Err(_)) => return Err(Errno::NOTDIR),
                (Err(_), Ok(_)) => return Err(Errno::ISDIR),
                _ => {}
            },
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
        self.name(to_folder, to_name, Some(node), now)?;
        self.name(folder, name, None, now)
    }

    /// The attributes, to change them; a cut brings back those before.
    pub(super) fn change(&mut self, node: u64) -> Result<&mut Attributes, Errno> {
        let found = self.nodes.get_mut(&node).ok_or(Errno::STALE)?;
        let was = found.attributes;
        self.log.push(Change::Attributes { node, was });
        Ok(&mut found.attributes)
    }

    pub(super) fn open(&mut self, node: u64) -> Result<(), Errno> {
        self.nodes.get_mut(&node).ok_or(Errno::STALE)?.open += 1;
        Ok(())
    }

    pub(super) fn close(&mut self, node: u64) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.open = node.open.saturating_sub(1);
        }
    }

    pub(super) fn read(&self, node: u64, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
        match &self.node(node)?.kind {
            Kind::File(content) => Ok(content.read(offset, length)),
            _ => Err(Errno::INVAL),
        }
    }

    pub(super) fn write(
        &mut self,
        node: u64,
        offset: u64,
        bytes: &[u8],
        now: SystemTime,
    ) -> Result<(), Errno> {
        self.make_room(node, offset, bytes.len() as u64)?;
        self.alter(node, now, |content| {
            content.write(offset, bytes);
            Ok(())
        })
    }

    /// Takes room for later; with `grow` the file is longer at once, and has zeros there.
    pub(super) fn reserve(
        &mut self,
        node: u64,
        offset: u64,
        length: u64,
        grow: bool,
        now: SystemTime,
    ) -> Result<(), Errno> {
        self.make_room(node, offset, length)?;
        let taken = usize::try_from(length).map_err(|_| Errno::FBIG)?;
        self.alter(node, now, |content| {
            content.reserve(offset, taken);
            Ok(())
        })?;
        if grow && self.content(node)?.size() < offset + length {
            self.truncate(node, offset + length, now)?;
        }
        Ok(())
    }

    pub(super) fn truncate(&mut self, node: u64, size: u64, now: SystemTime) -> Result<(), Errno> {
        self.alter(node, now, |content| content.truncate(size))?;
        self.log.push(Change::Truncation { node, size });
        Ok(())
    }

    /// What is in the file is durable, and all names.
    pub(super) fn sync(&mut self, node: u64) -> Result<(), Errno> {
        self.sync_names();
        self.content(node)?.sync();
        Ok(())
    }

    pub(super) fn sync_all(&mut self) {
        self.sync_names();
        for node in self.nodes.values_mut() {
            if let Kind::File(content) = &mut node.kind {
                content.sync();
            }
        }
    }

    /// All names and attributes are durable.
    pub(super) fn sync_names(&mut self) {
        for change in mem::take(&mut self.log) {
            if let Change::Truncation { node, size } = change
                && let Ok(content) = self.content(node)
            {
                content.sync_truncation(size);
            }
        }
        let nameless = mem::take(&mut self.nameless);
        self.nameless = nameless
            .into_iter()
            .filter(|node| !self.let_go(*node))
            .collect();
    }

    /// Forgets what was not synced; how many bytes that were. With dice, some of it was written out just before: the names
    /// or not, and of each file any page.
    pub(super) fn cut(&mut self, mut dice: Option<&mut Dice>) -> u64 {
        let mut survives = move || dice.as_mut().is_some_and(|dice| dice.one_in(2));
        if survives() {
            self.sync_names();
        }
        for change in mem::take(&mut self.log).into_iter().rev() {
            match change {
                Change::Name { folder, name, was } => {
                    let folder = self.nodes.get_mut(&folder);
                    if let Some(Kind::Folder(names)) = folder.map(|folder| &mut folder.kind) {
                        match was {
                            Some(node) => names.insert(name, node),
                            None => names.remove(&name),
                        };
                    }
                }
                Change::Attributes { node, was } => {
                    if let Some(node) = self.nodes.get_mut(&node) {
                        node.attributes = was;
                    }
                }
                Change::Truncation { .. } => {}
            }
        }
        self.nameless.clear();
        let mut lost = 0;
        self.nodes.retain(|_, node| {
            node.open = 0;
            if let Kind::File(content) = &mut node.kind {
                lost += content.unsynced_bytes();
                content.cut(&mut survives);
            }
            node.attributes.names > 0
        });
        let files = self.nodes.values().map(|node| match &node.kind {
            Kind::File(content) => content.held_bytes(),
            _ => 0,
        });
        self.held_bytes = files.sum();
        lost
    }

    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    pub(super) fn limit_bytes(&self) -> Option<u64> {
        self.limit_bytes
    }

    pub(super) fn limit(&mut self, bytes: Option<u64>) {
        self.limit_bytes = bytes;
    }

    /// Gives the name to another node or to none, and counts the names of both.
    fn name(
        &mut self,
        folder: u64,
        name: &OsStr,
        node: Option<u64>,
        now: SystemTime,
    ) -> Result<(), Errno> {
        let found = self.nodes.get_mut(&folder).ok_or(Errno::STALE)?;
        let Kind::Folder(names) = &mut found.kind else {
            return Err(Errno::NOTDIR);
        };
        let was = match node {
            Some(node) => names.insert(name.to_owned(), node),
            None => names.remove(name),
        };
        found.attributes.modified = now;
        found.attributes.changed = now;
        let name = name.to_owned();
        self.log.push(Change::Name { folder, name, was });
        if let Some(was) = was {
            let attributes = self.change(was)?;
            attributes.names -= 1;
            attributes.changed = now;
            if attributes.names == 0 {
                self.nameless.push(was);
            }
        }
        if let Some(node) = node {
            let attributes = self.change(node)?;
            attributes.names += 1;
            attributes.changed = now;
        }
        Ok(())
    }

    fn content(&mut self, node: u64) -> Result<&mut Content, Errno> {
        let node = self.nodes.get_mut(&node).ok_or(Errno::STALE)?;
        match &mut node.kind {
            Kind::File(content) => Ok(content),
            _ => Err(Errno::INVAL),
        }
    }

    /// Changes what is in a file, and counts what it takes.
    fn alter(
        &mut self,
        node: u64,
        now: SystemTime,
        alter: impl FnOnce(&mut Content) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let content = self.content(node)?;
        let before = content.held_bytes();
        alter(content)?;
        let after = content.held_bytes();
        self.held_bytes = self.held_bytes + after - before;
        if let Some(node) = self.nodes.get_mut(&node) {
            node.attributes.modified = now;
            node.attributes.changed = now;
        }
        Ok(())
    }

    fn make_room(&mut self, node: u64, offset: u64, length: u64) -> Result<(), Errno> {
        let growth = self.content(node)?.growth(offset, length)?;
        let Some(limit) = self.limit_bytes else {
            return Ok(());
        };
        if growth > 0 && self.held_bytes + growth > limit {
            // What was removed takes room until that is durable: a file system writes its journal before it gives up.
            self.sync_names();
            if self.held_bytes + growth > limit {
                return Err(Errno::NOSPC);
            }
        }
        Ok(())
    }

    /// Whether it is gone: nobody has a file open that has no name.
    fn let_go(&mut self, node: u64) -> bool {
        let used = |node: &Node| node.open > 0 || node.attributes.names > 0;
        if self.nodes.get(&node).is_some_and(used) {
            // One that has a name again would be put on the list when it loses that.
            return self.nodes[&node].attributes.names > 0;
        }
        if let Some(gone) = self.nodes.remove(&node)
            && let Kind::File(content) = gone.kind
        {
            self.held_bytes -= content.held_bytes();
        }
        true
    }
}

#[cfg(test)]
mod tests;
