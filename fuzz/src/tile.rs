//! Paths of tiles and entry bundles: each place has one path, and no path is of two.

use transparency_log::{Bundle, Tile};

pub(crate) fn check(input: &[u8]) {
    let Ok(path) = str::from_utf8(input) else {
        return;
    };
    let (tile, bundle) = (path.parse::<Tile>(), path.parse::<Bundle>());
    assert!(tile.is_err() || bundle.is_err());
    if let Ok(tile) = tile {
        assert_eq!(tile.to_string(), path);
        assert!(tile.full().is_full());
        for (at, node) in tile.nodes().enumerate() {
            assert_eq!(tile.hashes_of(node), Some(at..at + 1));
        }
    }
    if let Ok(bundle) = bundle {
        assert_eq!(bundle.to_string(), path);
        assert!(bundle.full().is_full());
    }
}
