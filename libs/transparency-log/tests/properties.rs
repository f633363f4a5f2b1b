//! What holds for every tree, whatever its entries; `ct-merkle`, another implementation of RFC 6962, says what is right.

use std::collections::HashMap;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use proptest::collection::vec;
use proptest::prelude::*;
use sha2::Sha256;
use transparency_log::{
    Bundle, Edge, Error, Hash, Node, Range, Tile, bundle, complete_subtrees, consistency_nodes,
    inclusion_nodes, tiles, tiles_between, verify_consistency, verify_inclusion,
};

/// Three levels of tiles would need 65,536 leaves; the vectors have those.
const LEAVES_MAX: usize = 700;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn roots_and_proofs_are_those_of_another_implementation(
        entries in vec(vec(any::<u8>(), 0..8), 1..LEAVES_MAX),
        at in any::<prop::sample::Index>(),
        earlier in any::<prop::sample::Index>(),
    ) {
        let log = Log::of(&entries);
        let oracle = oracle(&entries);
        let (size, root) = (log.size(), log.edge.root());
        let theirs = oracle.root();
        prop_assert_eq!(root.as_bytes().as_slice(), theirs.as_bytes().as_slice());

        let index = at.index(entries.len());
        let proof = log.inclusion(index as u64, size);
        let theirs = oracle.prove_inclusion(index);
        prop_assert_eq!(bytes(&proof), theirs.as_bytes());
        let leaf = Hash::of_leaf(&entries[index]);
        prop_assert_eq!(verify_inclusion(&leaf, index as u64, size, &root, &proof), Ok(()));

        let old = 1 + earlier.index(entries.len());
        let proof = log.consistency(old as u64, size);
        let theirs = oracle.prove_consistency(entries.len() - old);
        prop_assert_eq!(bytes(&proof), theirs.as_bytes());
        let old_root = Log::of(&entries[..old]).edge.root();
        let verified = verify_consistency(old as u64, &old_root, size, &root, &proof);
        prop_assert_eq!(verified, Ok(()));
    }

    #[test]
    fn a_changed_proof_is_refused(
        entries in vec(vec(any::<u8>(), 0..8), 2..LEAVES_MAX),
        at in any::<prop::sample::Index>(),
        hash in any::<prop::sample::Index>(),
        bit in 0..256_usize,
    ) {
        let log = Log::of(&entries);
        let (size, root) = (log.size(), log.edge.root());
        let flipped = |mut proof: Vec<Hash>| {
            let at = hash.index(proof.len());
            let mut bytes = *proof[at].as_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            proof[at] = Hash::from_bytes(bytes);
            proof
        };

        let index = at.index(entries.len());
        let leaf = Hash::of_leaf(&entries[index]);
        let proof = flipped(log.inclusion(index as u64, size));
        let verified = verify_inclusion(&leaf, index as u64, size, &root, &proof);
        prop_assert_eq!(verified, Err(Error::RootMismatch));

        let old = 1 + at.index(entries.len() - 1);
        let old_root = Log::of(&entries[..old]).edge.root();
        let proof = flipped(log.consistency(old as u64, size));
        let verified = verify_consistency(old as u64, &old_root, size, &root, &proof);
        prop_assert_eq!(verified, Err(Error::Inconsistent));
    }

    #[test]
    fn a_range_makes_the_root_only_with_all_of_its_leaves(
        entries in vec(vec(any::<u8>(), 0..8), 1..LEAVES_MAX),
        one in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        changed in any::<prop::sample::Index>(),
    ) {
        let log = Log::of(&entries);
        let (one, other) = (one.index(entries.len() + 1), other.index(entries.len() + 1));
        let (begin, end) = (one.min(other), one.max(other));
        let range = Range::new(begin as u64, end as u64, log.size()).expect("a range");
        let (before, after) = (log.roots(&range.before()), log.roots(&range.after()));
        let mut leaves: Vec<_> = entries[begin..end].iter().map(|entry| Hash::of_leaf(entry)).collect();
        prop_assert_eq!(range.root(&before, leaves.clone(), &after), Ok(log.edge.root()));

        prop_assume!(begin < end);
        let changed = changed.index(leaves.len());
        leaves[changed] = Hash::of_leaf(b"an entry that is longer than the others");
        let root = range.root(&before, leaves.clone(), &after).expect("as many leaves");
        prop_assert_ne!(root, log.edge.root());
        leaves.remove(changed);
        let missing = matches!(range.root(&before, leaves, &after), Err(Error::HashCountWrong { .. }));
        prop_assert!(missing);
    }

    #[test]
    fn every_subtree_is_in_a_tile_of_its_tree(entries in vec(vec(any::<u8>(), 0..4), 1..LEAVES_MAX)) {
        let log = Log::of(&entries);
        let files: HashMap<Tile, Vec<Hash>> = tiles(log.size())
            .expect("a size")
            .map(|tile| {
                let roots = log.roots(&tile.nodes().collect::<Vec<_>>());
                let bytes = tile.encode(&roots).expect("as wide");
                (tile, tile.decode(&bytes).expect("what was encoded"))
            })
            .collect();
        for (node, root) in &log.nodes {
            let tile = Tile::holding(*node, log.size()).expect("a subtree of this tree");
            prop_assert_eq!(tile.root_of(*node, &files[&tile]), Ok(*root));
        }
    }

    #[test]
    fn a_growing_log_writes_the_tiles_that_it_then_has(old in 0..2_000_000_u64, more in 0..3_000_u64) {
        let new = old + more;
        let mut kept: HashMap<(u8, u64), Tile> = HashMap::new();
        for tile in tiles(old).expect("a size").chain(tiles_between(old, new).expect("two sizes")) {
            kept.insert((tile.level(), tile.index()), tile);
        }
        let all: HashMap<_, _> = tiles(new)
            .expect("a size")
            .map(|tile| ((tile.level(), tile.index()), tile))
            .collect();
        prop_assert_eq!(kept, all);
    }

    #[test]
    fn paths_are_read_as_they_are_written(level in 0..=63_u8, index in 0..=i64::MAX.unsigned_abs(), width in 1..=256_u16) {
        let tile = Tile::new(level, index, width).expect("a tile");
        prop_assert_eq!(tile.to_string().parse(), Ok(tile));
        let bundle = Bundle::new(index, width).expect("a bundle");
        prop_assert_eq!(bundle.to_string().parse(), Ok(bundle));
    }

    #[test]
    fn bundles_are_read_as_they_are_written(entries in vec(vec(any::<u8>(), 0..600), 1..=256)) {
        let bytes = bundle::encode(entries.iter().map(Vec::as_slice)).expect("short entries");
        let decoded = bundle::decode(&bytes).expect("what was encoded");
        prop_assert!(decoded.iter().eq(&entries));
    }

    #[test]
    fn subtrees_cover_their_range(begin in any::<u32>(), length in any::<u32>()) {
        let (mut at, end) = (u64::from(begin), u64::from(begin) + u64::from(length));
        for node in complete_subtrees(at, end) {
            prop_assert_eq!(node.index << node.level, at);
            at += 1 << node.level;
        }
        prop_assert_eq!(at, end);
    }

    #[test]
    fn any_index_of_any_tree_has_a_short_proof(size in 1..=1_u64 << 62, at in any::<u64>(), old in any::<u64>()) {
        let hash = Hash::of_leaf(b"");
        let inclusion = inclusion_nodes(at % size, size).expect("in the tree");
        let proof = inclusion.prove(|_| Some(hash)).expect("all are known");
        prop_assert!(proof.len() <= 63);
        let consistency = consistency_nodes(old % (size + 1), size).expect("not larger");
        let proof = consistency.prove(|_| Some(hash)).expect("all are known");
        prop_assert!(proof.len() <= 63);
    }
}

#[test]
fn an_edge_goes_on_where_it_was_kept() {
    let mut edge = Edge::new();
    for index in 0..1_000_u32 {
        edge = Edge::from_parts(edge.size(), edge.roots().to_vec()).expect("its own parts");
        edge.append(Hash::of_leaf(&index.to_be_bytes()))
            .expect("a small tree");
    }
    let mut whole = Edge::new();
    for index in 0..1_000_u32 {
        whole
            .append(Hash::of_leaf(&index.to_be_bytes()))
            .expect("a small tree");
    }
    assert_eq!(edge, whole);
    let wrong = Edge::from_parts(7, whole.roots()[..2].to_vec());
    assert_eq!(wrong.map_err(|error| error.code()), Err("hash_count_wrong"));
}

#[test]
fn a_tree_ends_before_its_size_overflows() {
    let last = i64::MAX.unsigned_abs();
    let roots = vec![Hash::of_leaf(b""); 63];
    let mut edge = Edge::from_parts(last, roots).expect("the largest tree");
    assert_eq!(
        edge.append(Hash::of_leaf(b"")),
        Err(Error::SizeTooLarge(last + 1))
    );
    assert_eq!(edge.size(), last);
}

#[test]
fn a_tile_outside_of_every_tree_has_no_subtrees() {
    for (level, index) in [
        (0, (1 << 56) - 1),
        (0, i64::MAX.unsigned_abs()),
        (8, 0),
        (63, 0),
    ] {
        let tile = Tile::new(level, index, 256).expect("a path may name it");
        assert_eq!(tile.nodes().count(), 0, "{tile}");
        assert_eq!(
            Tile::in_tree(level, index, i64::MAX.unsigned_abs()),
            None,
            "{tile}"
        );
    }
    let tile = Tile::new(7, 0, 3).expect("a tile");
    let level = 56;
    let expected = [0, 1, 2].map(|index| Node { level, index });
    assert!(tile.nodes().eq(expected));
}

#[test]
fn the_longest_entry_fits_and_a_longer_one_does_not() {
    let longest = vec![0; bundle::ENTRY_BYTES_MAX];
    let bytes = bundle::encode([longest.as_slice()]).expect("65,535 bytes");
    assert_eq!(bundle::decode(&bytes), Ok(vec![longest.as_slice()]));
    let longer = vec![0; bundle::ENTRY_BYTES_MAX + 1];
    assert_eq!(
        bundle::encode([longer.as_slice()]),
        Err(Error::EntryTooLong(65_536))
    );
}

/// A log that remembers the root of every complete subtree.
struct Log {
    edge: Edge,
    nodes: HashMap<Node, Hash>,
}

impl Log {
    fn of(entries: &[Vec<u8>]) -> Self {
        let mut edge = Edge::new();
        let mut nodes = HashMap::new();
        for entry in entries {
            let completed = |node, root: &Hash| assert_eq!(nodes.insert(node, *root), None);
            edge.append_each(Hash::of_leaf(entry), completed)
                .expect("a small tree");
        }
        Self { edge, nodes }
    }

    fn size(&self) -> u64 {
        self.edge.size()
    }

    fn inclusion(&self, index: u64, size: u64) -> Vec<Hash> {
        let needed = inclusion_nodes(index, size).expect("a leaf of the tree");
        needed
            .prove(|node| self.nodes.get(&node).copied())
            .expect("complete subtrees")
    }

    fn consistency(&self, old: u64, new: u64) -> Vec<Hash> {
        let needed = consistency_nodes(old, new).expect("two sizes");
        needed
            .prove(|node| self.nodes.get(&node).copied())
            .expect("complete subtrees")
    }

    fn roots(&self, nodes: &[Node]) -> Vec<Hash> {
        nodes.iter().map(|node| self.nodes[node]).collect()
    }
}

fn oracle(entries: &[Vec<u8>]) -> MemoryBackedTree<Sha256, Vec<u8>> {
    let mut tree = MemoryBackedTree::new();
    for entry in entries {
        tree.push(entry.clone());
    }
    tree
}

fn bytes(proof: &[Hash]) -> Vec<u8> {
    proof.iter().flat_map(|hash| *hash.as_bytes()).collect()
}
