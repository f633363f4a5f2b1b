//! Folders, names and files, and what of them a power cut would leave.
//!
//! A change of a name or of a file's attributes goes into one log, in the order of the changes, as in a journaling file
//! system: a sync of anything makes the whole log durable, and a cut goes through it backward. What is *in* a file is apart
//! (see `content`): only a sync of that file makes it durable. So a new file whose folder was synced, or that was renamed
//! over an old one, is there after a cut, and empty if nobody synced the file itself.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::mem;
use std::path::PathBuf;
use std::time::SystemTime;

use rustix::io::Errno;

use super::content::Content;

/// The number of the folder that everything is in.
pub(super) const ROOT: u64 = 1;

#[derive(Debug)]
pub(super) struct Tree {
    nodes: HashMap<u64, Node>,
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
            nodes: HashMap::from([(ROOT, root)]),
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

    /// Forgets what was not synced; how many bytes that were.
    pub(super) fn cut(&mut self) -> u64 {
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
                content.cut();
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
mod tests {
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    #[test]
    fn a_new_file_over_a_synced_one_is_empty_unless_it_was_synced_itself() {
        for (synced, left) in [(false, ""), (true, "new")] {
            let mut tree = Tree::new(NOW);
            let old = file(&mut tree, "kept", "old");
            tree.sync(old).expect("synced");
            let new = file(&mut tree, "kept.new", "new");
            if synced {
                tree.sync(new).expect("synced");
            }
            rename(&mut tree, "kept.new", "kept");
            tree.sync_names();
            tree.cut();
            assert_eq!(text(&tree, "kept").as_deref(), Some(left));
            assert_eq!(text(&tree, "kept.new"), None);
        }
    }

    #[test]
    fn a_cut_brings_old_names_back_unless_anything_was_synced_since() {
        let mut tree = Tree::new(NOW);
        let old = file(&mut tree, "kept", "old");
        tree.sync(old).expect("synced");
        let before = tree.held_bytes();
        let new = file(&mut tree, "kept.new", "new");
        tree.sync(new).expect("synced");
        rename(&mut tree, "kept.new", "kept");
        tree.remove_file(ROOT, "kept".as_ref(), NOW).expect("there");
        tree.change(old).expect("still there").permissions = 0o600;
        assert_eq!(tree.cut(), 0);
        assert_eq!(text(&tree, "kept").as_deref(), Some("old"));
        assert_eq!(text(&tree, "kept.new").as_deref(), Some("new"));
        assert_eq!(tree.node(old).expect("there").attributes.permissions, 0o644);
        assert_eq!(tree.held_bytes(), before + 3);

        rename(&mut tree, "kept.new", "kept");
        let other = file(&mut tree, "other", "");
        tree.sync(other).expect("synced");
        tree.cut();
        assert_eq!(text(&tree, "kept").as_deref(), Some("new"));
        assert!(tree.node(old).is_err(), "it has no name and nobody uses it");
        assert_eq!(tree.held_bytes(), 3);
    }

    #[test]
    fn what_was_never_synced_is_gone_and_counted() {
        let mut tree = Tree::new(NOW);
        file(&mut tree, "lost", "some bytes");
        assert_eq!(tree.cut(), 10);
        assert_eq!(text(&tree, "lost"), None);
        assert_eq!(tree.held_bytes(), 0);
        assert_eq!(tree.nodes.len(), 1);
    }

    #[test]
    fn a_file_that_was_emptied_and_written_again_is_empty_when_another_was_synced() {
        let mut tree = Tree::new(NOW);
        let kept = file(&mut tree, "kept", "old");
        tree.sync(kept).expect("synced");
        tree.truncate(kept, 0, NOW).expect("emptied");
        tree.write(kept, 0, b"new", NOW).expect("written");
        let other = file(&mut tree, "other", "");
        tree.sync(other).expect("synced");
        tree.cut();
        assert_eq!(text(&tree, "kept").as_deref(), Some(""));
    }

    #[test]
    fn a_full_disk_takes_no_more_until_something_goes() {
        let mut tree = Tree::new(NOW);
        let first = file(&mut tree, "first", "12345");
        tree.limit(Some(8));
        assert_eq!(tree.write(first, 5, b"6789", NOW), Err(Errno::NOSPC));
        tree.write(first, 0, b"over", NOW).expect("no more room");
        tree.open(first).expect("opened");
        tree.remove_file(ROOT, "first".as_ref(), NOW).expect("gone");
        let second = tree.create(
            ROOT,
            "second".as_ref(),
            Kind::File(Content::default()),
            new(),
        );
        let second = second.expect("a file");
        assert_eq!(
            tree.write(second, 0, b"1234", NOW),
            Err(Errno::NOSPC),
            "it is open"
        );
        tree.close(first);
        tree.write(second, 0, b"1234", NOW).expect("room");
        assert_eq!(tree.held_bytes(), 4);
    }

    #[test]
    fn folders_are_removed_and_replaced_only_when_empty() {
        let mut tree = Tree::new(NOW);
        let folder = Kind::Folder(BTreeMap::new());
        let full = tree
            .create(ROOT, "full".as_ref(), folder, new())
            .expect("a folder");
        tree.create(full, "in".as_ref(), Kind::Pipe, new())
            .expect("a pipe");
        let folder = Kind::Folder(BTreeMap::new());
        tree.create(ROOT, "empty".as_ref(), folder, new())
            .expect("a folder");
        assert_eq!(
            tree.remove_folder(ROOT, "full".as_ref(), NOW),
            Err(Errno::NOTEMPTY)
        );
        let onto = tree.rename((ROOT, "empty".as_ref()), (ROOT, "full".as_ref()), NOW);
        assert_eq!(onto, Err(Errno::NOTEMPTY));
        rename(&mut tree, "full", "empty");
        tree.cut();
        assert!(tree.names_in(ROOT).expect("a folder").is_empty());
    }

    fn new() -> Attributes {
        Attributes::new(0o644, 0, 0, NOW)
    }

    fn file(tree: &mut Tree, name: &str, text: &str) -> u64 {
        let kind = Kind::File(Content::default());
        let file = tree
            .create(ROOT, name.as_ref(), kind, new())
            .expect("a file");
        tree.write(file, 0, text.as_bytes(), NOW).expect("written");
        file
    }

    fn rename(tree: &mut Tree, name: &str, to: &str) {
        tree.rename((ROOT, name.as_ref()), (ROOT, to.as_ref()), NOW)
            .expect("renamed");
    }

    fn text(tree: &Tree, name: &str) -> Option<String> {
        let file = tree.find(ROOT, name.as_ref()).ok()?;
        let bytes = tree.read(file, 0, 100).expect("a file");
        Some(String::from_utf8(bytes).expect("text"))
    }
}
