//! One file of events, written piece by piece: its format, its compression, its checksums.

use sha2::{Digest as _, Sha256};

use crate::{Compression, Error, Events, Format, compression::Compressor, format::Writer};

/// Makes the bytes of a file of events. Its memory does not grow with the file.
pub struct FileWriter {
    writer: Writer,
    bytes: ByteWriter,
    events: u64,
}

/// Makes the bytes of a file of whatever its caller writes: compressed, and with its checksum.
pub struct ByteWriter {
    compressor: Compressor,
    /// Of the bytes before compression; the summary inside a file of events has it.
    content: Sha256,
    /// Of the bytes as they are handed out, where compression makes them others.
    compressed: Option<Sha256>,
    bytes: u64,
}

/// A file that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    pub events: u64,
    pub bytes: u64,
    /// Of the file, every byte of it, as it was handed out.
    pub sha256: String,
}

impl FileWriter {
    pub fn new(format: Format, compression: Compression) -> Result<Self, Error> {
        Ok(Self {
            writer: Writer::new(format, compression)?,
            bytes: ByteWriter::new(format.outer(compression))?,
            events: 0,
        })
    }

    /// The bytes that follow; they may lag behind the events. Computes: not for an async thread.
    pub fn write(&mut self, events: Events) -> Result<Vec<u8>, Error> {
        self.events += events.len() as u64;
        let content = self.writer.write(events)?;
        self.bytes.write(content)
    }

    /// The last bytes of the file.
    pub fn finish(self) -> Result<(Vec<u8>, Finished), Error> {
        let content = self.writer.finish(self.events, &self.bytes.content)?;
        self.bytes.finish(content, self.events)
    }

    pub fn events(&self) -> u64 {
        self.events
    }
}

impl ByteWriter {
    pub fn new(compression: Compression) -> Result<Self, Error> {
        Ok(Self {
            compressor: Compressor::new(compression)?,
            content: Sha256::new(),
            compressed: (compression != Compression::None).then(Sha256::new),
            bytes: 0,
        })
    }

    /// The bytes that follow; they may lag behind. Computes: not for an async thread.
    pub fn write(&mut self, content: Vec<u8>) -> Result<Vec<u8>, Error> {
        self.content.update(&content);
        let bytes = self.compressor.compress(content)?;
        if let Some(compressed) = &mut self.compressed {
            compressed.update(&bytes);
        }
        self.bytes += bytes.len() as u64;
        Ok(bytes)
    }

    /// The last bytes of the file, which has so many events.
    pub fn finish(mut self, last: Vec<u8>, events: u64) -> Result<(Vec<u8>, Finished), Error> {
        let mut last = self.write(last)?;
        let end = self.compressor.finish()?;
        if let Some(compressed) = &mut self.compressed {
            compressed.update(&end);
        }
        self.bytes += end.len() as u64;
        last.extend(end);
        let whole = self.compressed.unwrap_or(self.content);
        let finished = Finished {
            events,
            bytes: self.bytes,
            sha256: hex::encode(whole.finalize()),
        };
        Ok((last, finished))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    const EVENTS: [&str; 3] = [
        r#"{"id":"evt_1"}"#,
        r#"{"id":"evt_2"}"#,
        r#"{"id":"evt_3"}"#,
    ];

    fn file(format: Format, compression: Compression) -> (Vec<u8>, Finished) {
        let mut writer = FileWriter::new(format, compression).expect("a writer");
        let mut bytes = Vec::new();
        for pair in EVENTS.chunks(2) {
            let mut events = Events::default();
            for event in pair {
                events.push(event);
            }
            bytes.extend(writer.write(events).expect("bytes"));
        }
        let (last, finished) = writer.finish().expect("an end");
        bytes.extend(last);
        (bytes, finished)
    }

    #[test]
    fn a_files_checksum_is_that_of_its_bytes_whatever_the_format_and_compression() {
        for format in Format::ALL {
            for compression in Compression::ALL {
                let (bytes, finished) = file(format, compression);
                let whole = Finished {
                    events: 3,
                    bytes: bytes.len() as u64,
                    sha256: hex::encode(Sha256::digest(&bytes)),
                };
                assert_eq!(finished, whole, "{format:?} {compression:?}");
            }
        }
    }

    #[test]
    fn compressed_files_hold_the_plain_one_and_a_cut_is_noticed() {
        let (plain, _) = file(Format::Ndjson, Compression::None);
        let (gzip, _) = file(Format::Ndjson, Compression::Gzip);
        let (zstd, _) = file(Format::Ndjson, Compression::Zstd);
        let gunzip = |bytes: &[u8]| {
            let mut text = Vec::new();
            flate2::read::GzDecoder::new(bytes)
                .read_to_end(&mut text)
                .map(|_| text)
        };
        assert_eq!(gunzip(&gzip).expect("whole"), plain);
        assert!(gunzip(&gzip[..gzip.len() - 1]).is_err());
        assert_eq!(zstd::decode_all(zstd.as_slice()).expect("whole"), plain);
        assert!(zstd::decode_all(&zstd[..zstd.len() - 1]).is_err());
    }

    #[test]
    fn the_summary_proves_what_is_before_it() {
        let (bytes, _) = file(Format::Ndjson, Compression::None);
        let text = String::from_utf8(bytes).expect("UTF-8");
        let (events, last) = text.trim_end().rsplit_once('\n').expect("lines");
        let sha256 = hex::encode(Sha256::digest(format!("{events}\n")));
        assert_eq!(
            last,
            format!(r#"{{"export":{{"events":3,"sha256":"{sha256}"}}}}"#)
        );

        let (bytes, _) = file(Format::Json, Compression::None);
        let text = String::from_utf8(bytes).expect("UTF-8");
        let (events, last) = text.rsplit_once(r#","export":"#).expect("a summary");
        let sha256 = hex::encode(Sha256::digest(events));
        assert_eq!(
            last,
            format!("{{\"events\":3,\"sha256\":\"{sha256}\"}}}}\n")
        );
        assert_eq!(events, format!("{{\"events\":[\n{}\n]", EVENTS.join(",\n")));
    }
}
