//! What a power cut leaves of names, folders and files.

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
        tree.cut(None);
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
    assert_eq!(tree.cut(None), 0);
    assert_eq!(text(&tree, "kept").as_deref(), Some("old"));
    assert_eq!(text(&tree, "kept.new").as_deref(), Some("new"));
    assert_eq!(tree.node(old).expect("there").attributes.permissions, 0o644);
    assert_eq!(tree.held_bytes(), before + 3);

    rename(&mut tree, "kept.new", "kept");
    let other = file(&mut tree, "other", "");
    tree.sync(other).expect("synced");
    tree.cut(None);
    assert_eq!(text(&tree, "kept").as_deref(), Some("new"));
    assert!(tree.node(old).is_err(), "it has no name and nobody uses it");
    assert_eq!(tree.held_bytes(), 3);
}

#[test]
fn what_was_never_synced_is_gone_and_counted() {
    let mut tree = Tree::new(NOW);
    file(&mut tree, "lost", "some bytes");
    assert_eq!(tree.cut(None), 10);
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
    tree.cut(None);
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
    tree.cut(None);
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
