//! `watchbell export`: the trail as a file that is proven whole before it gets its name.
//!
//! The proof is in the trailers of the answer, which say for every format how many events there are and the SHA-256 of
//! the file as it was sent. A proxy may take trailers away; uncompressed NDJSON says in its last line how many there are
//! and the SHA-256 of everything before it.

mod format;

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, anyhow, bail, ensure};
use bytes::Bytes;
use clap::Args;
use http_body_util::BodyExt as _;
use indicatif::HumanBytes;
use reqwest::{
    Body, Response,
    header::{CONTENT_DISPOSITION, HeaderMap, HeaderValue, TE},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use self::format::{Compression, Encoding, Format};
use crate::{
    events::Filter,
    exit,
    output::{Form, counted, say, say_json},
    progress,
    server::Server,
    stop::Stop,
};

const EVENTS_TRAILER: &str = "watchbell-export-events";
const SHA256_TRAILER: &str = "watchbell-export-sha256";
/// The last line of NDJSON has a count and a checksum; what is longer is an event.
const LAST_LINE_BYTES_MAX: usize = 512;

#[derive(Debug, Args)]
pub struct Export {
    /// File format. Defaults to what the file's name says, else ndjson.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Compression. Defaults to what the file's name says, else none; Parquet files are compressed internally.
    #[arg(long, value_enum)]
    compression: Option<Compression>,
    /// Where to write the export, such as trail.csv.gz; `-` is standard output. If omitted, the server chooses the file name,
    /// and an existing file is not replaced.
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    filter: Filter,
}

impl Export {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let encoding = Encoding::choose(self.file.as_deref(), self.format, self.compression)?;
        let api = self.server.api()?;
        let call = api
            .post("/v1/audit/export")
            .header(TE, HeaderValue::from_static("trailers"))
            .json(&self.request(encoding));
        let response = call.without_end().waiting().send().await?;
        let name = match self.file.clone() {
            Some(file) => file,
            None => named(&response)?,
        };
        let stream = Destination::stream(&name)?;
        // A file that is not whole has to go, whoever ends this.
        let mut stop = Stop::listen()?;
        let mut file = match stream {
            Some(stream) => stream,
            None => Destination::file(&name)?,
        };
        let has_last_line = encoding.format == Format::Ndjson
            && matches!(encoding.compression, None | Some(Compression::None));
        let mut download = Download::new(has_last_line);
        let done = tokio::select! {
            done = download.run(response, &mut file) => done.context("the download was cut off"),
            () = stop.asked() => Err(anyhow!("the download was stopped")),
        };
        let (is_stream, remains) = (file.is_stream(), file.remains());
        let proof = done
            .and_then(|()| download.proof())
            .and_then(|proof| file.keep().map(|()| proof))
            .context(remains)?;
        if is_stream {
            return Ok(exit::DONE);
        }
        tell(&name, &download, &proof, self.server.output)
    }

    fn request(&self, encoding: Encoding) -> Map<String, Value> {
        let mut request = self.filter.body();
        request.insert("format".to_owned(), encoding.format.name().into());
        if let Some(compression) = encoding.compression {
            request.insert("compression".to_owned(), compression.name().into());
        }
        request
    }
}

/// The name that the server gives the file, if nothing has it yet.
fn named(response: &Response) -> anyhow::Result<PathBuf> {
    let header = response.headers().get(CONTENT_DISPOSITION);
    let name = header.and_then(|value| value.to_str().ok()?.split('"').nth(1));
    let name = name.context("the server did not suggest a file name; set one with --file")?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    ensure!(
        name.chars().all(plain) && !name.starts_with('.'),
        "the server suggested an unusable file name; set one with --file"
    );
    ensure!(
        !Path::new(name).exists(),
        "{name} already exists; name it with --file to replace it"
    );
    Ok(PathBuf::from(name))
}

/// Where the bytes go until they are proven.
enum Destination {
    /// The standard output, a pipe or a device: what is written is gone.
    Stream(Box<dyn Write>),
    /// Beside the file that it will be, readable by its owner; removed unless it is kept.
    File { part: NamedTempFile, to: PathBuf },
}

impl Destination {
    /// What cannot be replaced by a file of that name, if it is such.
    fn stream(name: &Path) -> anyhow::Result<Option<Self>> {
        let stream: Box<dyn Write> = if name == Path::new("-") {
            Box::new(io::stdout())
        } else if fs::metadata(name).is_ok_and(|there| !there.is_file()) {
            let opened = OpenOptions::new().write(true).open(name);
            Box::new(opened.map_err(|error| unwritable(name, &error))?)
        } else {
            return Ok(None);
        };
        Ok(Some(Self::Stream(stream)))
    }

    fn file(name: &Path) -> anyhow::Result<Self> {
        // What a link leads to is replaced, not the link.
        let to = fs::canonicalize(name).unwrap_or_else(|_| name.to_owned());
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let name = to.file_name().context("--file must name a file")?;
        let part = tempfile::Builder::new()
            .prefix(&format!(".{}.", name.to_string_lossy()))
            .suffix(".part")
            .tempfile_in(folder)
            .map_err(|error| unwritable(folder, &error))?;
        Ok(Self::File { part, to })
    }

    fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Self::Stream(stream) => stream.write_all(bytes),
            Self::File { part, .. } => part.write_all(bytes),
        }
        .context("write the export")
    }

    fn is_stream(&self) -> bool {
        matches!(self, Self::Stream(_))
    }

    /// What there is of an export that is not whole.
    fn remains(&self) -> &'static str {
        match self {
            Self::Stream(_) => "the export failed; do not use what was written",
            Self::File { .. } => "the export failed; no file was kept",
        }
    }

    /// Gives the file its name.
    fn keep(self) -> anyhow::Result<()> {
        match self {
            Self::Stream(mut stream) => stream.flush().context("write the export"),
            Self::File { part, to } => {
                part.as_file().sync_all().context("write the export")?;
                part.persist(&to)
                    .with_context(|| format!("rename the file to {}", to.display()))?;
                Ok(())
            }
        }
    }
}

/// Without the names of what only we know of.
fn unwritable(place: &Path, error: &io::Error) -> anyhow::Error {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "there is no such folder".to_owned(),
        kind => kind.to_string(),
    };
    anyhow!("cannot write to {}: {reason}", place.display())
}

/// What a whole file has.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Proof {
    events: u64,
    sha256: String,
}

/// The last line of NDJSON.
#[derive(Deserialize)]
struct LastLine {
    export: Proof,
}

/// The bytes as they come.
struct Download {
    bytes: u64,
    lines: u64,
    digest: Sha256,
    /// The end of the file, if its last line is the proof; it is in the digest once another line follows it.
    last_line: Option<Vec<u8>>,
    trailers: Option<HeaderMap>,
}

impl Download {
    fn new(has_last_line: bool) -> Self {
        Self {
            bytes: 0,
            lines: 0,
            digest: Sha256::new(),
            last_line: has_last_line.then(Vec::new),
            trailers: None,
        }
    }

    async fn run(&mut self, response: Response, file: &mut Destination) -> anyhow::Result<()> {
        let bar = progress::bytes();
        let mut body = Body::from(response);
        while let Some(frame) = body.frame().await {
            let frame = frame?;
            match frame.into_data() {
                Ok(data) => {
                    file.write(&data)?;
                    self.take(&data);
                    bar.set_position(self.bytes);
                    if self.last_line.is_some() {
                        bar.set_message(counted(self.lines, "event"));
                    }
                }
                Err(frame) => self.trailers = frame.into_trailers().ok(),
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn take(&mut self, data: &Bytes) {
        self.bytes += data.len() as u64;
        let Some(last) = &mut self.last_line else {
            self.digest.update(data);
            return;
        };
        for line in data.split_inclusive(|byte| *byte == b'\n') {
            if last.ends_with(b"\n") || last.len() > LAST_LINE_BYTES_MAX {
                self.lines += u64::from(last.ends_with(b"\n"));
                self.digest.update(&*last);
                last.clear();
            }
            last.extend_from_slice(line);
        }
    }

    /// How many events the whole file has, and its SHA-256, if what the server says is so of what arrived.
    fn proof(&mut self) -> anyhow::Result<Proof> {
        let last = self.last_line.take().unwrap_or_default();
        let before_last = hex::encode(self.digest.clone().finalize());
        let whole = hex::encode(self.digest.clone().chain_update(&last).finalize());
        let by_last_line = serde_json::from_slice::<LastLine>(&last).ok();
        let (proof, found) = match (self.trailers.as_ref().and_then(trailed), by_last_line) {
            (Some(proof), _) => (proof, &whole),
            (None, Some(line)) => (line.export, &before_last),
            (None, None) => bail!(
                "there is no proof that it is complete\n  \
                 What to do: Try again. If a proxy strips the trailers of responses, use --format ndjson without compression."
            ),
        };
        ensure!(
            proof.sha256 == *found,
            "it was altered on the way: its SHA-256 differs"
        );
        Ok(Proof {
            events: proof.events,
            sha256: whole,
        })
    }
}

fn trailed(trailers: &HeaderMap) -> Option<Proof> {
    let text = |name| trailers.get(name)?.to_str().ok();
    Some(Proof {
        events: text(EVENTS_TRAILER)?.parse().ok()?,
        sha256: text(SHA256_TRAILER)?.to_owned(),
    })
}

fn tell(to: &Path, download: &Download, proof: &Proof, form: Form) -> anyhow::Result<ExitCode> {
    let Proof { events, sha256 } = proof;
    match form {
        Form::Json => say_json(
            &json!({"file": to, "events": events, "bytes": download.bytes, "sha256": sha256}),
        )?,
        Form::Table => say(format_args!(
            "{}: {}, {}; complete (SHA-256 of the file: {sha256})",
            to.display(),
            counted(*events, "event"),
            HumanBytes(download.bytes)
        ))?,
    }
    Ok(exit::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &str = "{\"id\":1}\n{\"id\":2}\n";

    fn file() -> String {
        let digest = hex::encode(Sha256::digest(EVENTS));
        format!("{EVENTS}{{\"export\":{{\"events\":2,\"sha256\":\"{digest}\"}}}}\n")
    }

    fn downloaded(text: &str, piece: usize, trailers: Option<HeaderMap>) -> anyhow::Result<Proof> {
        let mut download = Download::new(true);
        for piece in text.as_bytes().chunks(piece) {
            download.take(&Bytes::copy_from_slice(piece));
        }
        download.trailers = trailers;
        download.proof()
    }

    #[test]
    fn the_last_line_proves_the_file_however_it_came_in_pieces() {
        for piece in 1..=file().len() {
            assert_eq!(
                downloaded(&file(), piece, None).expect("whole").events,
                2,
                "in pieces of {piece}"
            );
        }
    }

    #[test]
    fn what_was_cut_off_or_changed_is_not_whole() {
        let cut = downloaded(EVENTS, 7, None).expect_err("cut off");
        assert!(
            cut.to_string()
                .starts_with("there is no proof that it is complete")
        );
        let changed =
            downloaded(&file().replace("\"id\":1", "\"id\":3"), 7, None).expect_err("changed");
        assert!(changed.to_string().contains("SHA-256 differs"));
    }

    #[test]
    fn trailers_are_of_the_whole_file() {
        let trailers = |sha256: &str| {
            let pairs = [(EVENTS_TRAILER, "2"), (SHA256_TRAILER, sha256)];
            let pairs = pairs.map(|(name, value)| {
                (
                    name.parse().expect("a name"),
                    value.parse().expect("a value"),
                )
            });
            Some(HeaderMap::from_iter(pairs))
        };
        let digest = hex::encode(Sha256::digest(file()));
        assert_eq!(
            downloaded(&file(), 7, trailers(&digest))
                .expect("whole")
                .sha256,
            digest
        );
        assert!(downloaded(&file(), 7, trailers("00")).is_err());
    }
}
