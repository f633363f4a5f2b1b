//! Signed notes: a text, an empty line, and one line for each signature (C2SP signed-note).

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::key::is_name;
use crate::{Algorithm, Error, VerifierKey, cosignature};

/// As much as Go's reader accepts. Signatures that withstand quantum computers have 5 kB each.
pub const NOTE_BYTES_MAX: usize = 1_000_000;

/// As many as Go's reader accepts; C2SP asks for 16.
pub const SIGNATURES_MAX: usize = 100;

const KEY_ID_BYTES: usize = 4;

/// What a signature's line starts with: an em dash and a space.
const SIGNATURE_START: &str = "— ";

/// A text and its signatures. Nothing is verified until [`verify`](Self::verify) says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<Signature>,
}

impl Note {
    /// A note of a text that ends with a newline, and at least one signature of it.
    pub fn new(text: String, signatures: Vec<Signature>) -> Result<Self, Error> {
        let note = Self { text, signatures };
        // What can be read back has been checked.
        if Self::parse(&note.to_string())? == note {
            Ok(note)
        } else {
            Err(Error::NoteMalformed("its text does not end with a newline"))
        }
    }

    pub fn parse(note: &str) -> Result<Self, Error> {
        if note.len() > NOTE_BYTES_MAX {
            return Err(Error::NoteMalformed("it is longer than 1,000,000 bytes"));
        }
        if has_control_characters(note) {
            return Err(Error::NoteMalformed("it has a control character"));
        }
        // The text may have empty lines; the last one is where the signatures start.
        let (before, lines) = note
            .rsplit_once("\n\n")
            .ok_or(Error::NoteMalformed("no empty line ends its text"))?;
        let signatures = Signature::parse_lines(lines)?;
        let text = format!("{before}\n");
        Ok(Self { text, signatures })
    }

    /// What is signed, including its last newline.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// Adds a signature, for example a witness's.
    pub fn add(&mut self, signature: Signature) -> Result<(), Error> {
        if self.signatures.len() == SIGNATURES_MAX {
            return Err(TOO_MANY);
        }
        self.signatures.push(signature);
        Ok(())
    }

    /// Who of `keys` signed; an error if nobody did.
    pub fn verify<'k>(&self, keys: &'k [VerifierKey]) -> Result<Vec<Signed<'k>>, Error> {
        let signed = self.signed_by(keys)?;
        if signed.is_empty() {
            return Err(Error::NotSigned);
        }
        Ok(signed)
    }

    /// Who of `keys` signed, perhaps nobody; each key once. A signature by another key is passed over, and one that claims to
    /// be by one of `keys` and does not match is an error, however many others do.
    pub fn signed_by<'k>(&self, keys: &'k [VerifierKey]) -> Result<Vec<Signed<'k>>, Error> {
        let mut signed: Vec<Signed<'k>> = Vec::new();
        for signature in &self.signatures {
            let Some(key) = keys.iter().find(|key| signature.claims(key)) else {
                continue;
            };
            let timestamp = signature.verify(key, &self.text)?;
            match signed.iter_mut().find(|earlier| earlier.key == key) {
                Some(earlier) => earlier.timestamp = earlier.timestamp.max(timestamp),
                None => signed.push(Signed { key, timestamp }),
            }
        }
        Ok(signed)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures
            .iter()
            .try_for_each(|signature| writeln!(f, "{signature}"))
    }
}

impl FromStr for Note {
    type Err = Error;

    fn from_str(note: &str) -> Result<Self, Error> {
        Self::parse(note)
    }
}

/// A key whose signature was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signed<'k> {
    pub key: &'k VerifierKey,
    /// When a witness signed, in seconds since 1970; the latest, if it signed more than once. A log's signature has no time.
    pub timestamp: Option<u64>,
}

/// One line below a note: who claims to have signed, and the signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    name: String,
    key_id: u32,
    bytes: Vec<u8>,
}

const TOO_MANY: Error = Error::NoteMalformed("it has more than 100 signatures");

impl Signature {
    pub(crate) fn new(key: &VerifierKey, bytes: Vec<u8>) -> Self {
        Self {
            name: key.name().to_owned(),
            key_id: key.id(),
            bytes,
        }
    }

    /// Reads one or more lines, each with its newline: the end of a note, or what a witness answers.
    pub fn parse_lines(lines: &str) -> Result<Vec<Self>, Error> {
        if lines.len() > NOTE_BYTES_MAX {
            return Err(Error::NoteMalformed("it is longer than 1,000,000 bytes"));
        }
        let lines = lines
            .strip_suffix('\n')
            .ok_or(Error::NoteMalformed("its last line does not end"))?;
        if lines.split('\n').count() > SIGNATURES_MAX {
            return Err(TOO_MANY);
        }
        lines.split('\n').map(str::parse).collect()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn key_id(&self) -> u32 {
        self.key_id
    }

    /// The signature itself, without the key's id.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it says that it was made with this key. Both must match: an id is short, and a name is free to choose.
    fn claims(&self, key: &VerifierKey) -> bool {
        self.name == key.name() && self.key_id == key.id()
    }

    /// Returns the time in a cosignature.
    fn verify(&self, key: &VerifierKey, text: &str) -> Result<Option<u64>, Error> {
        match key.algorithm() {
            Algorithm::Ed25519 => key
                .verify_message(text.as_bytes(), &self.bytes)
                .map(|()| None),
            Algorithm::CosignatureV1 => cosignature::verify(key, text, &self.bytes).map(Some),
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.key_id.to_be_bytes(), self.bytes.as_slice()].concat();
        write!(f, "{SIGNATURE_START}{} {}", self.name, BASE64.encode(bytes))
    }
}

/// Reads a line without its newline.
impl FromStr for Signature {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self, Error> {
        let (name, encoded) = line
            .strip_prefix(SIGNATURE_START)
            .and_then(|rest| rest.split_once(' '))
            .ok_or(Error::NoteMalformed(
                "a line is no signature: — <name> <base64>",
            ))?;
        if !is_name(name) {
            return Err(Error::NoteMalformed("a signature has no proper name"));
        }
        let bytes = BASE64
            .decode(encoded)
            .map_err(|_| Error::NoteMalformed("a signature is not base64"))?;
        match bytes.split_first_chunk::<KEY_ID_BYTES>() {
            Some((key_id, bytes)) if !bytes.is_empty() => Ok(Self {
                name: name.to_owned(),
                key_id: u32::from_be_bytes(*key_id),
                bytes: bytes.to_vec(),
            }),
            _ => Err(Error::NoteMalformed("a signature is too short")),
        }
    }
}

/// A note has none but newlines, so that a terminal shows what was signed.
pub(crate) fn has_control_characters(text: &str) -> bool {
    text.contains(|char: char| char < ' ' && char != '\n')
}
