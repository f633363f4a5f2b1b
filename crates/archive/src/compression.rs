//! Compression of a file as it is written, piece by piece.

use std::io::Write as _;

use flate2::write::GzEncoder;

use crate::Error;

/// What zstd's authors recommend: beyond it time grows faster than files shrink.
const ZSTD_LEVEL: i32 = 3;
/// gzip's own default.
const GZIP_LEVEL: u32 = 6;

/// How a file is compressed, as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None,
    Gzip,
    Zstd,
}

impl Compression {
    pub const ALL: [Self; 3] = [Self::None, Self::Gzip, Self::Zstd];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// What the file's name ends with.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }

    /// What a file is by its compression alone; `None`: what its format says.
    pub fn media_type(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some("application/gzip"),
            Self::Zstd => Some("application/zstd"),
        }
    }
}

/// Compresses what it is given. What has come out so far can be taken at any time; the end of the file
/// comes with [`Compressor::finish`] and not without it, so a file that was cut off is noticed.
pub(crate) enum Compressor {
    None,
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Compressor {
    pub(crate) fn new(compression: Compression) -> Result<Self, Error> {
        Ok(match compression {
            Compression::None => Self::None,
            Compression::Gzip => Self::Gzip(GzEncoder::new(
                Vec::new(),
                flate2::Compression::new(GZIP_LEVEL),
            )),
            Compression::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), ZSTD_LEVEL)
                    .map_err(Error::Compression)?;
                encoder.include_checksum(true).map_err(Error::Compression)?;
                Self::Zstd(encoder)
            }
        })
    }

    pub(crate) fn compress(&mut self, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
        match self {
            Self::None => Ok(bytes),
            Self::Gzip(encoder) => {
                encoder.write_all(&bytes).map_err(Error::Compression)?;
                Ok(std::mem::take(encoder.get_mut()))
            }
            Self::Zstd(encoder) => {
                encoder.write_all(&bytes).map_err(Error::Compression)?;
                Ok(std::mem::take(encoder.get_mut()))
            }
        }
    }

    /// The last bytes of the file.
    pub(crate) fn finish(self) -> Result<Vec<u8>, Error> {
        match self {
            Self::None => Ok(Vec::new()),
            Self::Gzip(encoder) => encoder.finish().map_err(Error::Compression),
            Self::Zstd(encoder) => encoder.finish().map_err(Error::Compression),
        }
    }
}
