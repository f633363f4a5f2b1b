//! Lines of hashes in front of a checkpoint, as a witness is sent them and as a proof has them.

use crate::{Error, Hash};

/// As many as C2SP lets a log send to a witness: enough for 2^62 leaves.
pub(crate) const PROOF_LINES_MAX: usize = 63;

/// One hash to a line up to an empty line, and what follows that.
pub(crate) fn hashes_until_empty_line(
    text: &str,
    malformed: fn(&'static str) -> Error,
) -> Result<(Vec<Hash>, &str), Error> {
    let mut hashes = Vec::new();
    let mut rest = text;
    loop {
        let (line, after) = rest
            .split_once('\n')
            .ok_or(malformed("no empty line ends its hashes"))?;
        if line.is_empty() {
            return Ok((hashes, after));
        }
        if hashes.len() == PROOF_LINES_MAX {
            return Err(malformed("it has more than 63 hashes"));
        }
        hashes.push(
            line.parse()
                .map_err(|_| malformed("a line is not a hash in base64"))?,
        );
        rest = after;
    }
}
