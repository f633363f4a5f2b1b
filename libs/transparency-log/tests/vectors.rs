//! The cases in `vectors/`, on which every language's verifier must agree.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};
use transparency_log::{
    AddCheckpoint, Bundle, Checkpoint, Cosigner, Edge, Error, Hash, Node, Note, Range,
    SignedCheckpoint, SigningKey, Tile, TlogProof, VerifierKey, bundle, tiles_between,
    verify_consistency, verify_inclusion, witness,
};

#[test]
fn hashes() {
    for case in cases(include_str!("../vectors/hashes.json"), "hashes") {
        let found = if case.has("empty") {
            Hash::of_empty_tree()
        } else if case.has("entry") {
            Hash::of_leaf(&case.bytes("entry"))
        } else {
            Hash::of_node(&case.hash("left"), &case.hash("right"))
        };
        assert_eq!(found, case.hash("hash"), "{}", case.name);
    }
}

#[test]
fn roots() {
    for case in cases(include_str!("../vectors/roots.json"), "roots") {
        let edge = grown(case.number("size"));
        assert_eq!(edge.root(), case.hash("root"), "{}", case.name);
        assert_eq!(edge.roots(), case.hashes("edge"), "{}", case.name);
    }
}

#[test]
fn inclusion() {
    for case in cases(include_str!("../vectors/inclusion.json"), "inclusion") {
        case.check(&verify_inclusion(
            &case.hash("leaf"),
            case.number("index"),
            case.number("size"),
            &case.hash("root"),
            &case.hashes("proof"),
        ));
    }
}

#[test]
fn consistency() {
    for case in cases(include_str!("../vectors/consistency.json"), "consistency") {
        case.check(&verify_consistency(
            case.number("old_size"),
            &case.hash("old_root"),
            case.number("new_size"),
            &case.hash("new_root"),
            &case.hashes("proof"),
        ));
    }
}

#[test]
fn ranges() {
    for case in cases(include_str!("../vectors/ranges.json"), "ranges") {
        let (begin, end) = (case.number("begin"), case.number("end"));
        let root = Range::new(begin, end, case.number("size")).and_then(|range| {
            let (before, after) = (case.hashes("before"), case.hashes("after"));
            range.root(&before, case.hashes("leaves"), &after)
        });
        case.check(&root.and_then(|root| {
            let is_root = root == case.hash("root");
            is_root.then_some(()).ok_or(Error::RootMismatch)
        }));
    }
}

#[test]
fn paths() {
    for case in cases(include_str!("../vectors/paths.json"), "paths") {
        let path = case.text("path");
        let found = match (path.parse::<Tile>(), path.parse::<Bundle>()) {
            (Ok(tile), Err(_)) => {
                let found = (Some(tile.level().into()), tile.index(), tile.width().into());
                Ok((tile.to_string(), found))
            }
            (Err(_), Ok(bundle)) => {
                let found = (None, bundle.index(), bundle.width().into());
                Ok((bundle.to_string(), found))
            }
            (Err(refused), Err(_)) => Err(refused),
            (Ok(_), Ok(_)) => panic!("{path} is two things"),
        };
        if let Some((printed, found)) = case.check(&found) {
            assert_eq!(*printed, path);
            let level: Option<u64> = case.has("level").then(|| case.number("level"));
            assert_eq!(*found, (level, case.number("index"), case.number("width")));
        }
    }
}

#[test]
fn tiles() {
    for case in cases(include_str!("../vectors/tiles.json"), "tiles") {
        let (old, new) = (case.number("old_size"), case.number("new_size"));
        let found = tiles_between(old, new).expect("two sizes");
        let found: Vec<_> = found.map(|tile| tile.to_string()).collect();
        assert_eq!(found, case.texts("tiles"), "{}", case.name);
        let found = bundle::bundles_between(old, new).expect("two sizes");
        let found: Vec<_> = found.map(|bundle| bundle.to_string()).collect();
        assert_eq!(found, case.texts("bundles"), "{}", case.name);
    }
}

#[test]
fn nodes() {
    for case in cases(include_str!("../vectors/nodes.json"), "nodes") {
        let level = u8::try_from(case.number("level")).expect("a level");
        let index = case.number("index");
        let node = Node { level, index };
        let held = Tile::holding(node, case.number("size"));
        let held = held.ok_or(Error::NodeMissing { level, index });
        let Some(tile) = case.check(&held) else {
            continue;
        };
        assert_eq!(tile.to_string(), case.text("tile"), "{}", case.name);
        let places = tile.hashes_of(node).expect("the tile holds it");
        let expected = case.number("begin")..case.number("end");
        assert_eq!(
            places.start as u64..places.end as u64,
            expected,
            "{}",
            case.name
        );
        if case.has("hashes") {
            let root = tile.root_of(node, &case.hashes("hashes"));
            assert_eq!(root, Ok(case.hash("root")), "{}", case.name);
        }
    }
}

#[test]
fn bundles() {
    for case in cases(include_str!("../vectors/bundles.json"), "bundles") {
        let width = u16::try_from(case.number("width")).expect("a width");
        let bytes = case.bytes("bytes");
        let decoded = Bundle::new(0, width).and_then(|bundle| bundle.decode(&bytes));
        if let Some(entries) = case.check(&decoded) {
            let encoded: Vec<_> = entries.iter().map(|entry| BASE64.encode(entry)).collect();
            assert_eq!(encoded, case.texts("entries"), "{}", case.name);
            let again = bundle::encode(entries.iter().copied());
            assert_eq!(again.as_ref(), Ok(&bytes), "{}", case.name);
        }
    }
}

#[test]
fn keys() {
    for case in cases(include_str!("../vectors/keys.json"), "keys") {
        let vkey = case.text("vkey");
        let parsed = vkey.parse::<VerifierKey>();
        let Some(key) = case.check(&parsed) else {
            continue;
        };
        assert_eq!(key.to_string(), vkey);
        assert_eq!(key.name(), case.text("key_name"));
        assert_eq!(format!("{:08x}", key.id()), case.text("id"));
        assert_eq!(u64::from(key.algorithm().identifier()), case.number("type"));
        assert_eq!(key.public().as_slice(), case.bytes("public"));
        if case.has("seed") {
            let (name, seed) = (key.name(), case.seed("seed"));
            let made = match case.number("type") {
                1 => SigningKey::from_seed(name, &seed).map(|key| key.verifier_key().clone()),
                _ => Cosigner::from_seed(name, &seed).map(|key| key.verifier_key().clone()),
            };
            assert_eq!(made.as_ref(), Ok(key), "{}", case.name);
        }
    }
}

#[test]
fn notes() {
    for case in cases(include_str!("../vectors/notes.json"), "notes") {
        let mut text = case.text("note").to_owned();
        if case.has("note_prefix") {
            let count = usize::try_from(case.number("note_prefix_count")).expect("a count");
            text.insert_str(0, &case.text("note_prefix").repeat(count));
        }
        let keys = case.keys("keys");
        let verified = Note::parse(&text).and_then(|note| {
            assert_eq!(note.to_string(), text, "{}", case.name);
            let signed = note.verify(&keys)?;
            let signed: Vec<_> = signed.iter().map(|signed| signed.key.to_string()).collect();
            Ok((note.text().to_owned(), signed))
        });
        if let Some((text, signed)) = case.check(&verified) {
            assert_eq!(text, case.text("text"), "{}", case.name);
            assert_eq!(*signed, case.texts("signed_by"), "{}", case.name);
        }
    }
}

#[test]
fn checkpoints() {
    for case in cases(include_str!("../vectors/checkpoints.json"), "checkpoints") {
        let text = case.text("text");
        if let Some(checkpoint) = case.check(&Checkpoint::parse(text)) {
            assert_eq!(checkpoint.to_string(), text);
            assert_eq!(checkpoint.origin(), case.text("origin"));
            assert_eq!(checkpoint.size(), case.number("size"));
            assert_eq!(*checkpoint.root(), case.hash("root"));
            assert_eq!(checkpoint.extensions(), case.texts("extensions"));
        }
    }
}

#[test]
fn cosignatures() {
    for case in cases(include_str!("../vectors/cosignatures.json"), "cosignatures") {
        let text = case.text("checkpoint");
        let checkpoint = SignedCheckpoint::parse(text).expect("a checkpoint");
        assert_eq!(checkpoint.to_string(), text);
        let witnesses = case.keys("witnesses");
        let cosigned = checkpoint.cosigned_by(&witnesses);
        if let Some(cosigned) = case.check(&cosigned) {
            let found = cosigned.iter().map(|one| {
                let at = one.timestamp.expect("a cosignature has a time");
                (one.key.to_string(), at)
            });
            let expected = case.array("cosigned").iter().map(|one| {
                let one = Case::of(one);
                (one.text("key").to_owned(), one.number("timestamp"))
            });
            assert!(found.eq(expected), "{}", case.name);
        }
        if case.has("made_with") {
            let with = Case::of(&case.fields["made_with"]);
            let cosigner = Cosigner::from_seed(with.text("name"), &with.seed("seed"));
            let made = cosigner
                .and_then(|key| key.cosign(checkpoint.unverified(), with.number("timestamp")));
            assert_eq!(
                format!("{}\n", made.expect("a cosignature")),
                with.text("line")
            );
        }
    }
}

#[test]
fn witnesses() {
    for case in cases(include_str!("../vectors/witness.json"), "witness") {
        let request = match AddCheckpoint::parse(case.text("request")) {
            Ok(request) => request,
            Err(refused) => {
                assert_eq!(case.number("status"), 400, "{}: {refused}", case.name);
                assert_eq!(refused.code(), case.text("error"), "{}", case.name);
                continue;
            }
        };
        assert!(!case.has("error"), "{} was read", case.name);
        assert_eq!(request.to_string(), case.text("request"));
        let keys = (!case.fields["log_keys"].is_null()).then(|| case.keys("log_keys"));
        let seen = (!case.fields["seen"].is_null()).then(|| {
            let seen = Case::of(&case.fields["seen"]);
            witness::Seen {
                size: seen.number("size"),
                root: seen.hash("root"),
            }
        });
        let answer = witness::judge(&request, keys.as_deref(), seen);
        assert_eq!(
            u64::from(answer.status()),
            case.number("status"),
            "{}",
            case.name
        );
        let conflict = match answer {
            witness::Answer::Conflict { size } => Some(size),
            _ => None,
        };
        let expected = case.has("conflict").then(|| case.number("conflict"));
        assert_eq!(conflict, expected, "{}", case.name);
    }
}

#[test]
fn tlog_proofs() {
    for case in cases(include_str!("../vectors/tlog_proofs.json"), "tlog_proofs") {
        let (log_keys, witnesses) = (case.keys("log_keys"), case.keys("witnesses"));
        let verified = TlogProof::parse(case.text("proof")).and_then(|proof| {
            assert_eq!(proof.to_string(), case.text("proof"));
            let extra = case.has("extra").then(|| case.bytes("extra"));
            assert_eq!(proof.extra(), extra.as_deref(), "{}", case.name);
            proof.verify(
                &case.hash("leaf"),
                case.text("origin"),
                &log_keys,
                &witnesses,
            )
        });
        if let Some(proven) = case.check(&verified) {
            assert_eq!(proven.index, case.number("index"));
            assert_eq!(proven.size, case.number("size"));
            let cosigned = proven.cosigned.iter().map(|one| one.key.to_string());
            assert!(cosigned.eq(case.texts("cosigned")), "{}", case.name);
        }
    }
}

/// The tree whose entries are the numbers from 0.
fn grown(size: u64) -> Edge {
    let mut edge = Edge::new();
    for index in 0..size {
        let leaf = Hash::of_leaf(index.to_string().as_bytes());
        edge.append(leaf).expect("a small tree");
    }
    edge
}

fn cases(json: &str, about: &str) -> Vec<Case> {
    let file: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(file["version"], 1);
    assert_eq!(file["about"], about);
    let cases: Vec<_> = file["cases"]
        .as_array()
        .expect("cases")
        .iter()
        .map(Case::of)
        .collect();
    assert!(!cases.is_empty());
    cases
}

struct Case {
    name: String,
    fields: Map<String, Value>,
}

impl Case {
    fn of(value: &Value) -> Self {
        let fields = value.as_object().expect("an object").clone();
        let name = fields
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Self {
            name: name.to_owned(),
            fields,
        }
    }

    /// What was accepted; `None` if it was refused as it should be.
    fn check<'r, T>(&self, result: &'r Result<T, Error>) -> Option<&'r T> {
        let code = result.as_ref().err().map(Error::code);
        let expected = self.has("error").then(|| self.text("error"));
        assert_eq!(code, expected, "{}", self.name);
        assert_eq!(self.fields["accepted"], result.is_ok(), "{}", self.name);
        result.as_ref().ok()
    }

    fn has(&self, field: &str) -> bool {
        self.fields.contains_key(field)
    }

    fn text(&self, field: &str) -> &str {
        self.fields[field].as_str().expect("a text")
    }

    /// Large ones are text, because JavaScript cannot read them as numbers.
    fn number(&self, field: &str) -> u64 {
        match &self.fields[field] {
            Value::String(text) => text.parse().expect("a number"),
            number => number.as_u64().expect("a number"),
        }
    }

    fn bytes(&self, field: &str) -> Vec<u8> {
        BASE64.decode(self.text(field)).expect("base64")
    }

    fn seed(&self, field: &str) -> [u8; 32] {
        self.bytes(field).try_into().expect("32 bytes")
    }

    fn hash(&self, field: &str) -> Hash {
        self.text(field).parse().expect("a hash")
    }

    fn array(&self, field: &str) -> &[Value] {
        self.fields[field].as_array().expect("a list")
    }

    fn texts(&self, field: &str) -> Vec<String> {
        let texts = self.array(field).iter();
        texts
            .map(|text| text.as_str().expect("a text").to_owned())
            .collect()
    }

    fn hashes(&self, field: &str) -> Vec<Hash> {
        let texts = self.texts(field);
        texts
            .iter()
            .map(|hash| hash.parse().expect("a hash"))
            .collect()
    }

    fn keys(&self, field: &str) -> Vec<VerifierKey> {
        let texts = self.texts(field);
        texts
            .iter()
            .map(|vkey| vkey.parse().expect("a key"))
            .collect()
    }
}
