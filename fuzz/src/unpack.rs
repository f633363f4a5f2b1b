//! The unpacking of bodies: whatever it is given, it never gives back more than it may.

#[path = "../../crates/server/src/edge/decompress.rs"]
#[allow(
    dead_code,
    reason = "the server looks encodings up by name; here a byte says which"
)]
mod server_unpack;

/// Less than the server's own bound, so that small inputs pass it too.
const BYTES_MAX: usize = 64 * 1024;

pub(crate) fn check(input: &[u8]) {
    let Some((encoding, packed)) = input.split_first() else {
        return;
    };
    let encoding =
        [server_unpack::Encoding::Gzip, server_unpack::Encoding::Zstd][usize::from(encoding % 2)];
    if let Ok(bytes) = encoding.unpack(packed, BYTES_MAX) {
        assert!(bytes.len() <= BYTES_MAX);
        assert!(bytes.capacity() <= 4 * BYTES_MAX, "room for what there is");
    }
}
