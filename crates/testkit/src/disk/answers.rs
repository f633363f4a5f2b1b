//! How the kernel is answered: facts about files, as it wants them, and errors.

use std::time::Duration;

use fuser::{FileAttr, FileType, Generation, INodeNo, ReplyAttr, ReplyEmpty, ReplyEntry};
use rustix::io::Errno;

use super::platter::Listing;
use super::tree::{Kind, Tree};

/// Nothing that the kernel remembers changes behind it.
pub(super) const REMEMBERED: Duration = Duration::from_hours(24);

/// What programs are told a block is; only for their information.
pub(super) const BLOCK_BYTES: u32 = 4096;

pub(super) fn listing(tree: &Tree, folder: u64) -> Result<Listing, Errno> {
    let itself = [".", ".."].map(|name| (folder, FileType::Directory, name.into()));
    let mut listing: Listing = itself.into();
    for (name, node) in tree.names_in(folder)? {
        listing.push((*node, file_type(&tree.node(*node)?.kind), name.clone()));
    }
    Ok(listing)
}

pub(super) fn attributes_of(tree: &Tree, number: u64) -> Result<FileAttr, Errno> {
    let node = tree.node(number)?;
    let (size, held_bytes) = match &node.kind {
        Kind::File(content) => (content.size(), content.held_bytes()),
        Kind::Link(target) => (target.as_os_str().len() as u64, 0),
        Kind::Folder(_) | Kind::Socket | Kind::Pipe => (0, 0),
    };
    let attributes = &node.attributes;
    Ok(FileAttr {
        ino: INodeNo(number),
        size,
        blocks: held_bytes.div_ceil(512),
        atime: attributes.accessed,
        mtime: attributes.modified,
        ctime: attributes.changed,
        crtime: attributes.changed,
        kind: file_type(&node.kind),
        perm: attributes.permissions,
        nlink: attributes.names,
        uid: attributes.user,
        gid: attributes.group,
        rdev: 0,
        blksize: BLOCK_BYTES,
        flags: 0,
    })
}

fn file_type(kind: &Kind) -> FileType {
    match kind {
        Kind::File(_) => FileType::RegularFile,
        Kind::Folder(_) => FileType::Directory,
        Kind::Link(_) => FileType::Symlink,
        Kind::Socket => FileType::Socket,
        Kind::Pipe => FileType::NamedPipe,
    }
}

pub(super) fn answer(reply: ReplyEmpty, done: Result<(), Errno>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(said(error)),
    }
}

pub(super) fn answer_entry(reply: ReplyEntry, found: Result<FileAttr, Errno>) {
    match found {
        Ok(found) => reply.entry(&REMEMBERED, &found, Generation(0)),
        Err(error) => reply.error(said(error)),
    }
}

pub(super) fn answer_attributes(reply: ReplyAttr, found: Result<FileAttr, Errno>) {
    match found {
        Ok(found) => reply.attr(&REMEMBERED, &found),
        Err(error) => reply.error(said(error)),
    }
}

pub(super) fn said(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error.raw_os_error())
}
