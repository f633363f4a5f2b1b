//! A disk that loses power, fills up and slows down, as files on it see it.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testkit::Disk;

use crate::can_be_had;

/// As Linux has it.
const O_DSYNC: i32 = 0o10_000;

#[test]
fn a_power_cut_leaves_what_was_synced() {
    let Some((_folder, disk)) = disk() else {
        return;
    };
    let at = disk.path();
    write_synced(&at.join("kept"), b"synced");
    let mut grown = write_synced(&at.join("grown"), b"synced");
    grown.write_all(b" and not").expect("written");
    fs::write(at.join("lost"), b"never synced").expect("written");
    let mut direct = OpenOptions::new();
    let direct = direct.write(true).create(true).custom_flags(O_DSYNC);
    let mut direct = direct.open(at.join("direct")).expect("opened");
    direct.write_all(b"each write").expect("written");
    fs::write(at.join("late"), b"never synced").expect("written");

    disk.cut_power();
    assert_eq!(fs::read(at.join("kept")).expect("there"), b"synced");
    assert_eq!(fs::read(at.join("grown")).expect("there"), b"synced");
    assert_eq!(fs::read(at.join("direct")).expect("there"), b"each write");
    let empty = fs::read(at.join("lost")).expect("its name was synced");
    assert_eq!(empty, b"");
    assert!(!at.join("late").exists(), "its name was not");
    assert_eq!(disk.lost_bytes(), 8 + 12 + 12);
    assert_eq!(disk.cuts(), 1);
    let off = grown.write(b"more").expect_err("its machine is off");
    assert_ne!(off.kind(), ErrorKind::NotFound, "{off}");
    let mut again = OpenOptions::new();
    let mut again = again.append(true).open(at.join("grown")).expect("there");
    again.write_all(b" again").expect("written");
    assert_eq!(fs::read(at.join("grown")).expect("there"), b"synced again");
}

#[test]
fn a_file_renamed_before_it_was_synced_is_empty_after_a_cut() {
    let Some((_folder, disk)) = disk() else {
        return;
    };
    let (kept, new) = (disk.path().join("kept"), disk.path().join("new"));
    write_synced(&kept, b"old");
    fs::write(&new, b"new").expect("written");
    fs::rename(&new, &kept).expect("renamed");
    File::open(disk.path())
        .and_then(|folder| folder.sync_all())
        .expect("synced");
    disk.cut_power();
    assert_eq!(fs::read(&kept).expect("there"), b"");
    assert!(!new.exists());

    write_synced(&new, b"new");
    fs::rename(&new, &kept).expect("renamed");
    disk.cut_power();
    assert_eq!(fs::read(&kept).expect("there"), b"", "not renamed yet");
    assert_eq!(fs::read(&new).expect("there"), b"new");
}

#[test]
fn a_full_disk_refuses_more_and_takes_it_when_there_is_room() {
    let Some((_folder, disk)) = disk() else {
        return;
    };
    let at = disk.path();
    fs::write(at.join("large"), vec![1; 3 << 20]).expect("written");
    assert_eq!(disk.bytes(), 3 << 20);
    disk.limit(Some(4 << 20));
    let full = fs::write(at.join("more"), vec![1; 2 << 20]).expect_err("no room");
    assert_eq!(full.kind(), ErrorKind::StorageFull);
    disk.limit(None);
    fs::write(at.join("more"), vec![1; 2 << 20]).expect("room");
    disk.limit(Some(4 << 20));
    let grown = File::options().append(true).open(at.join("more"));
    let grown = grown.expect("there").write(&[1]).expect_err("no room");
    assert_eq!(grown.kind(), ErrorKind::StorageFull);
    fs::remove_file(at.join("large")).expect("removed");
    fs::write(at.join("again"), vec![1; 1 << 20]).expect("room");
}

#[test]
fn a_slow_disk_takes_its_time_for_writes_and_syncs_and_not_for_reads() {
    let Some((_folder, disk)) = disk() else {
        return;
    };
    let slower_by = Duration::from_millis(500);
    let mut file = write_synced(&disk.path().join("file"), b"before");
    disk.slow_down(slower_by);
    let started = Instant::now();
    assert_eq!(
        fs::read(disk.path().join("file")).expect("there"),
        b"before"
    );
    assert!(started.elapsed() < slower_by);
    let started = Instant::now();
    file.write_all(b"after").expect("written");
    file.sync_all().expect("synced");
    assert!(started.elapsed() >= slower_by * 2);
    disk.slow_down(Duration::ZERO);
    let started = Instant::now();
    file.sync_all().expect("synced");
    assert!(started.elapsed() < slower_by);
}

#[test]
fn files_are_as_on_any_other_disk() {
    let Some((_folder, disk)) = disk() else {
        return;
    };
    let at = disk.path();
    fs::create_dir(at.join("folder")).expect("created");
    let names: Vec<String> = (0..2_000)
        .map(|number| format!("file {number:05}"))
        .collect();
    for name in &names {
        fs::write(at.join("folder").join(name), name).expect("written");
    }
    let listed = fs::read_dir(at.join("folder")).expect("a folder");
    let mut listed: Vec<_> = listed
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    listed.sort();
    assert!(listed.iter().eq(names.iter().map(OsStr::new)), "{listed:?}");
    assert!(
        fs::remove_dir(at.join("folder")).is_err(),
        "it is not empty"
    );

    let first = at.join("folder").join(&names[0]);
    fs::hard_link(&first, at.join("second name")).expect("linked");
    std::os::unix::fs::symlink("second name", at.join("link")).expect("linked");
    fs::remove_dir_all(at.join("folder")).expect("removed");
    assert_eq!(
        fs::read(at.join("link")).expect("there"),
        names[0].as_bytes()
    );
    let facts = fs::metadata(at.join("link")).expect("there");
    assert_eq!((facts.nlink(), facts.len()), (1, 10));

    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(at.join("second name"), private).expect("changed");
    std::os::unix::fs::chown(at.join("second name"), Some(65534), None).expect("changed");
    let facts = fs::metadata(at.join("second name")).expect("there");
    assert_eq!((facts.mode() & 0o7777, facts.uid()), (0o600, 65534));

    let mut open = File::options();
    let open = open.read(true).write(true).create(true);
    let mut open = open.open(at.join("large")).expect("created");
    fs::remove_file(at.join("large")).expect("removed");
    open.write_all_at(b"far", 20 << 20).expect("written");
    open.set_len((20 << 20) + 2).expect("cut off");
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes).expect("read");
    assert_eq!(bytes.len(), (20 << 20) + 2);
    assert_eq!(bytes.iter().filter(|byte| **byte != 0).count(), 2);
    assert!(
        disk.bytes() < 1 << 20,
        "a hole takes no room: {}",
        disk.bytes()
    );
}

/// A disk of the test's own, or nothing where there can be none.
pub(crate) fn disk() -> Option<(TempDir, Disk)> {
    if !can_be_had("a disk that loses power", Disk::unavailable()) {
        return None;
    }
    let folder = tempfile::Builder::new()
        // PostgreSQL's own user must be able to enter.
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir()
        .expect("a folder");
    let disk = Disk::mount(&folder.path().join("disk")).expect("a disk");
    Some((folder, disk))
}

fn write_synced(path: &Path, bytes: &[u8]) -> File {
    let mut file = File::create(path).expect("created");
    file.write_all(bytes).expect("written");
    file.sync_all().expect("synced");
    file
}
