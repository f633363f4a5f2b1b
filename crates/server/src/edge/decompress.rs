//! Unpacks compressed bodies: bytes in, bytes out, and never more of them than may be.
//!
//! A small body can unpack to gigabytes, so unpacking ends as soon as the output passes the bound.

use std::io::{self, Read};

use flate2::bufread::MultiGzDecoder;

/// How far back a zstd stream may refer, as a power of two: 8 MiB, what RFC 9659 lets a server ask.
/// The decoder keeps that much in memory, whatever the stream says it needs.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// How a body is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Gzip,
    Zstd,
}

/// Why a body could not be unpacked.
#[derive(Debug)]
pub enum Failure {
    TooLarge,
    /// It is not what it says it is, or a part is missing.
    Broken(io::Error),
}

impl Encoding {
    /// The encoding of that name in `Content-Encoding`.
    pub fn of(name: &str) -> Option<Self> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if is("gzip") || is("x-gzip") {
            Some(Self::Gzip)
        } else if is("zstd") {
            Some(Self::Zstd)
        } else {
            None
        }
    }

    /// All that `packed` holds, if that is at most `bytes_max`.
    pub fn unpack(self, packed: &[u8], bytes_max: usize) -> Result<Vec<u8>, Failure> {
        match self {
            // All members: what was packed in pieces is not cut off after the first.
            Self::Gzip => read(MultiGzDecoder::new(packed), bytes_max),
            Self::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(packed);
                let mut decoder = decoder.map_err(Failure::Broken)?;
                decoder
                    .window_log_max(ZSTD_WINDOW_LOG_MAX)
                    .map_err(Failure::Broken)?;
                read(decoder, bytes_max)
            }
        }
    }
}

fn read(unpacked: impl Read, bytes_max: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let one_too_many = bytes_max as u64 + 1;
    unpacked
        .take(one_too_many)
        .read_to_end(&mut bytes)
        .map_err(Failure::Broken)?;
    if bytes.len() > bytes_max {
        return Err(Failure::TooLarge);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).expect("packed");
        packed.finish().expect("packed")
    }

    #[test]
    fn what_was_packed_is_unpacked_whole_or_not_at_all() {
        let text = b"watchbell".repeat(1_000);
        let packed = [
            (Encoding::Gzip, gzip(&text)),
            (
                Encoding::Zstd,
                zstd::encode_all(text.as_slice(), 3).expect("packed"),
            ),
        ];
        for (encoding, packed) in packed {
            let unpack = |packed: &[u8], most| encoding.unpack(packed, most);
            assert_eq!(unpack(&packed, text.len()).expect("it fits"), text);
            let twice = [packed.as_slice(), &packed].concat();
            let both = unpack(&twice, 2 * text.len()).expect("it fits");
            assert_eq!(both.len(), 2 * text.len(), "every part is read");
            for (packed, most) in [(&packed, text.len() - 1), (&twice, text.len())] {
                let refused = unpack(packed, most);
                assert!(matches!(refused, Err(Failure::TooLarge)), "{encoding:?}");
            }
            for end in 1..packed.len() {
                let refused = unpack(&packed[..end], text.len());
                assert!(matches!(refused, Err(Failure::Broken(_))), "{encoding:?}");
            }
            let refused = unpack(b"nonsense", text.len());
            assert!(matches!(refused, Err(Failure::Broken(_))), "{encoding:?}");
        }
    }

    #[test]
    fn a_stream_that_wants_a_larger_window_is_refused() {
        let mut packed = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
        packed.window_log(27).expect("set");
        packed.long_distance_matching(true).expect("set");
        packed.include_contentsize(false).expect("set");
        packed.write_all(&vec![0; 1 << 20]).expect("packed");
        let packed = packed.finish().expect("packed");
        let refused = Encoding::Zstd.unpack(&packed, 5 << 20);
        assert!(matches!(refused, Err(Failure::Broken(_))), "{refused:?}");
    }
}
