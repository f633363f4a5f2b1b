//! Fuzzes the unpacking of bodies: whatever it is given, it never gives back more than it may.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/server/src/edge/unpack.rs"]
#[allow(dead_code, reason = "the server looks encodings up by name; here a byte says which")]
mod unpack;

/// Less than the server's own bound, so that small inputs pass it too.
const BYTES_MAX: usize = 64 * 1024;

fuzz_target!(|input: &[u8]| {
    let Some((encoding, packed)) = input.split_first() else { return };
    let encoding = [unpack::Encoding::Gzip, unpack::Encoding::Zstd][usize::from(encoding % 2)];
    if let Ok(bytes) = encoding.unpack(packed, BYTES_MAX) {
        assert!(bytes.len() <= BYTES_MAX);
        assert!(bytes.capacity() <= 4 * BYTES_MAX, "room for what there is");
    }
});
