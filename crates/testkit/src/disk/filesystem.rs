//! What the kernel asks of the disk, by FUSE, and what it is answered.
//!
//! The kernel keeps names, attributes and pages that it has seen for as long as the disk is mounted: nobody else changes
//! them, and a power cut ends the mount. It writes through: each write reaches us before it returns.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use fuser::{
    BsdFileFlags, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;

use super::answers::{
    BLOCK_BYTES, REMEMBERED, answer, answer_attributes, answer_entry, attributes_of, listing, said,
};
use super::content::Content;
use super::platter::{Platter, now};
use super::tree::{Attributes, Kind, Tree};

/// How large a disk without a limit says it is.
const UNLIMITED_BYTES: u64 = 1 << 40;

/// What the kernel talks to.
#[derive(Debug)]
pub(super) struct Served(pub(super) Arc<Platter>);

impl Served {
    fn create_node(
        &self,
        (folder, name): (INodeNo, &OsStr),
        kind: Kind,
        attributes: Attributes,
        open: bool,
    ) -> Result<FileAttr, Errno> {
        let mut tree = self.0.powered()?;
        let node = tree.create(folder.0, name, kind, attributes)?;
        if open {
            tree.open(node)?;
        }
        attributes_of(&tree, node)
    }
}

impl Filesystem for Served {
    fn lookup(&self, _request: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self
            .0
            .powered()
            .and_then(|tree| attributes_of(&tree, tree.find(folder.0, name)?));
        answer_entry(reply, found);
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let found = self.0.powered();
        answer_attributes(reply, found.and_then(|tree| attributes_of(&tree, node.0)));
    }

    fn setattr(
        &self,
        _request: &Request,
        node: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _created: Option<SystemTime>,
        _flags_changed: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = |tree: &mut Tree| {
            if let Some(size) = size {
                tree.truncate(node.0, size, now())?;
            }
            let attributes = tree.change(node.0)?;
            if let Some(mode) = mode {
                attributes.permissions =
                    Attributes::new(mode, 0, 0, attributes.changed).permissions;
            }
            attributes.user = user.unwrap_or(attributes.user);
            attributes.group = group.unwrap_or(attributes.group);
            attributes.accessed = accessed.map_or(attributes.accessed, time);
            attributes.modified = modified.map_or(attributes.modified, time);
            attributes.changed = now();
            attributes_of(tree, node.0)
        };
        let done = self.0.powered().and_then(|mut tree| set(&mut tree));
        answer_attributes(reply, done);
    }

    fn readlink(&self, _request: &Request, node: INodeNo, reply: ReplyData) {
        let tree = self.0.powered();
        let target = tree.and_then(|tree| match &tree.node(node.0)?.kind {
            Kind::Link(target) => Ok(target.clone()),
            _ => Err(Errno::INVAL),
        });
        match target {
            Ok(target) => reply.data(target.as_os_str().as_encoded_bytes()),
            Err(error) => reply.error(said(error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _device: u32,
        reply: ReplyEntry,
    ) {
        let kind = match rustix::fs::FileType::from_raw_mode(mode) {
            rustix::fs::FileType::RegularFile => Ok(Kind::File(Content::default())),
            rustix::fs::FileType::Socket => Ok(Kind::Socket),
            rustix::fs::FileType::Fifo => Ok(Kind::Pipe),
            _ => Err(Errno::PERM),
        };
        let attributes = new(request, mode & !umask);
        let made = kind.and_then(|kind| self.create_node((folder, name), kind, attributes, false));
        answer_entry(reply, made);
    }

    fn mkdir(
        &self,
        request: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let kind = Kind::Folder(BTreeMap::new());
        let attributes = new(request, mode & !umask);
        let made = self.create_node((folder, name), kind, attributes, false);
        answer_entry(reply, made);
    }

    fn unlink(&self, _request: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let tree = self.0.powered();
        let done = tree.and_then(|mut tree| tree.remove_file(folder.0, name, now()));
        answer(reply, done);
    }

    fn rmdir(&self, _request: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let tree = self.0.powered();
        let done = tree.and_then(|mut tree| tree.remove_folder(folder.0, name, now()));
        answer(reply, done);
    }

    fn symlink(
        &self,
        request: &Request,
        folder: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let kind = Kind::Link(target.to_owned());
        let made = self.create_node((folder, name), kind, new(request, 0o777), false);
        answer_entry(reply, made);
    }

    fn rename(
        &self,
        _request: &Request,
        folder: INodeNo,
        name: &OsStr,
        to_folder: INodeNo,
        to_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let done = self.0.powered().and_then(|mut tree| {
            if flags.contains(RenameFlags::RENAME_NOREPLACE) {
                if tree.find(to_folder.0, to_name).is_ok() {
                    return Err(Errno::EXIST);
                }
            } else if !flags.is_empty() {
                return Err(Errno::INVAL);
            }
            tree.rename((folder.0, name), (to_folder.0, to_name), now())
        });
        answer(reply, done);
    }

    fn link(
        &self,
        _request: &Request,
        node: INodeNo,
        folder: INodeNo,
        name: &OsStr,
        reply: ReplyEntry,
    ) {
        let made = self.0.powered().and_then(|mut tree| {
            tree.link(node.0, folder.0, name, now())?;
            attributes_of(&tree, node.0)
        });
        answer_entry(reply, made);
    }

    fn open(&self, _request: &Request, node: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let tree = self.0.powered();
        match tree.and_then(|mut tree| tree.open(node.0)) {
            Ok(()) => reply.opened(FileHandle(0), opened()),
            Err(error) => reply.error(said(error)),
        }
    }

    fn create(
        &self,
        request: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let kind = Kind::File(Content::default());
        let attributes = new(request, mode & !umask);
        match self.create_node((folder, name), kind, attributes, true) {
            Ok(made) => {
                let (first, handle) = (Generation(0), FileHandle(0));
                reply.created(&REMEMBERED, &made, first, handle, opened());
            }
            Err(error) => reply.error(said(error)),
        }
    }

    fn release(
        &self,
        _request: &Request,
        node: INodeNo,
        _handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        answer(reply, self.0.powered().map(|mut tree| tree.close(node.0)));
    }

    fn read(
        &self,
        _request: &Request,
        node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let tree = self.0.powered();
        match tree.and_then(|tree| tree.read(node.0, offset, size as usize)) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(said(error)),
        }
    }

    fn write(
        &self,
        _request: &Request,
        node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        bytes: &[u8],
        _write_flags: WriteFlags,
        flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let done = self.0.slowly(|tree| {
            tree.write(node.0, offset, bytes, now())?;
            let flags = OFlags::from_bits_retain(flags.0.cast_unsigned());
            if flags.intersects(OFlags::SYNC | OFlags::DSYNC) {
                tree.sync(node.0)?;
            }
            Ok(())
        });
        match done {
            Ok(()) => {
                reply.written(u32::try_from(bytes.len()).expect("a request is a few MiB at most"));
            }
            Err(error) => reply.error(said(error)),
        }
    }

    fn fallocate(
        &self,
        _request: &Request,
        node: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let flags = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        let keeps_size = flags == FallocateFlags::KEEP_SIZE;
        if !flags.is_empty() && !keeps_size {
            return reply.error(said(Errno::OPNOTSUPP));
        }
        let reserve = |tree: &mut Tree| tree.reserve(node.0, offset, length, !keeps_size, now());
        answer(reply, self.0.slowly(reserve));
    }

    fn fsync(
        &self,
        _request: &Request,
        node: INodeNo,
        _handle: FileHandle,
        _only_data: bool,
        reply: ReplyEmpty,
    ) {
        answer(reply, self.0.slowly(|tree| tree.sync(node.0)));
    }

    fn fsyncdir(
        &self,
        _request: &Request,
        _node: INodeNo,
        _handle: FileHandle,
        _only_data: bool,
        reply: ReplyEmpty,
    ) {
        let sync = |tree: &mut Tree| {
            tree.sync_names();
            Ok(())
        };
        answer(reply, self.0.slowly(sync));
    }

    fn opendir(&self, _request: &Request, _node: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(self.0.open_listing()), FopenFlags::empty());
    }

    fn readdir(
        &self,
        _request: &Request,
        node: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let mut listings = self.0.listings();
        if offset == 0 {
            let tree = self.0.powered();
            match tree.and_then(|tree| listing(&tree, node.0)) {
                Ok(listing) => drop(listings.insert(handle.0, listing)),
                Err(error) => return reply.error(said(error)),
            }
        }
        let listing = listings.get(&handle.0).map_or(&[][..], Vec::as_slice);
        let places = (offset + 1..).zip(listing.iter().skip(usize::try_from(offset).unwrap_or(0)));
        for (next, (node, kind, name)) in places {
            if reply.add(INodeNo(*node), next, *kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _request: &Request,
        _node: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.0.listings().remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _request: &Request, _node: INodeNo, reply: ReplyStatfs) {
        let tree = self.0.tree();
        let blocks = |bytes: u64| bytes / u64::from(BLOCK_BYTES);
        let all = tree.limit_bytes().unwrap_or(UNLIMITED_BYTES);
        let free = blocks(all.saturating_sub(tree.held_bytes()));
        let files = u64::from(u32::MAX);
        let name_bytes_max = 255;
        reply.statfs(
            blocks(all),
            free,
            free,
            files,
            files,
            BLOCK_BYTES,
            name_bytes_max,
            BLOCK_BYTES,
        );
    }
}

/// The kernel may keep pages from one time that a file is open to the next, and need not tell when it is closed.
fn opened() -> FopenFlags {
    FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_NOFLUSH
}

fn new(request: &Request, permissions: u32) -> Attributes {
    Attributes::new(permissions, request.uid(), request.gid(), now())
}

fn time(time: TimeOrNow) -> SystemTime {
    match time {
        TimeOrNow::SpecificTime(time) => time,
        TimeOrNow::Now => now(),
    }
}
