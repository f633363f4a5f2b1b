//! Seals the text of a signing secret with a key of the configuration, so that neither the database nor the
//! journal can tell it.
//!
//! AES-256-GCM with a random nonce. The organization and the secret are bound in, so that what was sealed for
//! one cannot be put in the place of another. A sealed text says by which key: `v1.<key>.<base64>`.

use anyhow::Context as _;
use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    digest::{SHA256, digest},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{OrgId, SecretId};
use runtime::random;
use secrecy::{ExposeSecret as _, SecretString};

const KEY_BYTES: usize = 32;
const VERSION: &str = "v1";
/// Enough to tell the few keys of a deployment apart, and of no use to find one.
const KEY_ID_BYTES: usize = 4;

/// The keys of the configuration. Without any it can neither seal nor open.
pub struct Vault {
    /// The first seals; each opens what it sealed.
    keys: Vec<Key>,
}

struct Key {
    id: String,
    key: LessSafeKey,
}

/// Why a sealed text cannot be read. Customers may see it: it names no secret and no key. Which key it was is for
/// the log (`Debug`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsealable {
    #[error("no key is configured")]
    NoKey,
    #[error("it was sealed with a key that is not configured")]
    OtherKey(String),
    #[error("it is not what was sealed for this organization and secret")]
    Damaged,
}

impl Vault {
    pub fn open(
        key: Option<&SecretString>,
        previous_key: Option<&SecretString>,
    ) -> anyhow::Result<Self> {
        let named = [("secrets.key", key), ("secrets.previous_key", previous_key)];
        let keys = named.into_iter().filter_map(|(name, key)| {
            Some(Key::parse(key?).with_context(|| format!("read {name}")))
        });
        Ok(Self {
            keys: keys.collect::<anyhow::Result<_>>()?,
        })
    }

    /// Whether there is no key to seal with.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The sealed text; `None` without a key.
    pub fn seal(&self, org: OrgId, id: SecretId, text: &SecretString) -> Option<String> {
        let key = self.keys.first()?;
        let nonce: [u8; NONCE_LEN] = random::bytes();
        let mut sealed = text.expose_secret().as_bytes().to_vec();
        key.key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                bound_to(org, id),
                &mut sealed,
            )
            .expect("a text of a few bytes can always be sealed");
        let bytes = [nonce.as_slice(), &sealed].concat();
        Some(format!("{VERSION}.{}.{}", key.id, STANDARD.encode(bytes)))
    }

    pub fn unseal(
        &self,
        org: OrgId,
        id: SecretId,
        sealed: &str,
    ) -> Result<SecretString, Unsealable> {
        if self.keys.is_empty() {
            return Err(Unsealable::NoKey);
        }
        let mut parts = sealed.splitn(3, '.');
        let (Some(VERSION), Some(key_id), Some(base64)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(Unsealable::Damaged);
        };
        let Some(key) = self.keys.iter().find(|key| key.id == key_id) else {
            return Err(Unsealable::OtherKey(key_id.to_owned()));
        };
        let bytes = STANDARD.decode(base64).map_err(|_| Unsealable::Damaged)?;
        let (nonce, rest) = bytes
            .split_first_chunk::<NONCE_LEN>()
            .ok_or(Unsealable::Damaged)?;
        let mut sealed = rest.to_vec();
        let text = key
            .key
            .open_in_place(
                Nonce::assume_unique_for_key(*nonce),
                bound_to(org, id),
                &mut sealed,
            )
            .map_err(|_| Unsealable::Damaged)?;
        let text = str::from_utf8(text).map_err(|_| Unsealable::Damaged)?;
        Ok(SecretString::from(text))
    }
}

impl Key {
    fn parse(text: &SecretString) -> anyhow::Result<Self> {
        let bytes = STANDARD
            .decode(text.expose_secret())
            .ok()
            .filter(|bytes| bytes.len() == KEY_BYTES)
            .context("it must be 32 random bytes in base64: openssl rand -base64 32")?;
        let id = hex::encode(&digest(&SHA256, &bytes).as_ref()[..KEY_ID_BYTES]);
        let key = UnboundKey::new(&AES_256_GCM, &bytes)
            .map_err(|_| anyhow::anyhow!("it is not an AES-256 key"))?;
        Ok(Self {
            id,
            key: LessSafeKey::new(key),
        })
    }
}

/// What a sealed text belongs to.
fn bound_to(org: OrgId, id: SecretId) -> Aad<String> {
    Aad::from(format!("watchbell signing secret {VERSION} {org} {id}"))
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vault({} keys)", self.keys.len())
    }
}

#[cfg(test)]
mod tests {
    use domain::Timestamp;

    use super::*;

    fn vault(key: Option<u8>, previous_key: Option<u8>) -> Vault {
        let text = |byte: u8| SecretString::from(STANDARD.encode([byte; KEY_BYTES]));
        let (key, previous_key) = (key.map(text), previous_key.map(text));
        Vault::open(key.as_ref(), previous_key.as_ref()).expect("keys")
    }

    fn ids(byte: u8) -> (OrgId, SecretId) {
        let at = Timestamp::from_unix_millis(1_794_735_000_000);
        (OrgId::new(at, [byte; 10]), SecretId::new(at, [byte; 10]))
    }

    #[test]
    fn what_was_sealed_is_read_again_by_the_same_key_only() {
        let ((org, id), text) = (ids(1), SecretString::from("whsec_abc"));
        let sealed = vault(Some(1), None).seal(org, id, &text).expect("sealed");
        assert!(!sealed.contains("abc"), "{sealed}");
        for opens in [vault(Some(1), None), vault(Some(2), Some(1))] {
            let opened = opens.unseal(org, id, &sealed).expect("opened");
            assert_eq!(opened.expose_secret(), "whsec_abc");
        }
        let none = vault(None, None);
        assert_eq!(none.seal(org, id, &text), None);
        assert_eq!(none.unseal(org, id, &sealed).err(), Some(Unsealable::NoKey));
        let other = vault(Some(2), None).unseal(org, id, &sealed).err();
        assert!(matches!(other, Some(Unsealable::OtherKey(_))), "{other:?}");
    }

    #[test]
    fn a_sealed_text_is_of_no_use_in_another_place_or_after_a_change() {
        let ((org, id), (other_org, other_id)) = (ids(1), ids(2));
        let vault = vault(Some(1), None);
        let text = SecretString::from("whsec_abc");
        let sealed = vault.seal(org, id, &text).expect("sealed");
        let again = vault.seal(org, id, &text).expect("sealed");
        assert_ne!(sealed, again, "the nonce is random");
        let damaged = Some(Unsealable::Damaged);
        assert_eq!(vault.unseal(other_org, id, &sealed).err(), damaged);
        assert_eq!(vault.unseal(org, other_id, &sealed).err(), damaged);
        let (head, base64) = sealed.rsplit_once('.').expect("three parts");
        for place in 0..base64.len() {
            let mut changed = base64.as_bytes().to_vec();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            let changed = format!("{head}.{}", String::from_utf8_lossy(&changed));
            assert!(vault.unseal(org, id, &changed).is_err(), "{changed}");
        }
        for nonsense in ["", "v1", "v2.x.y", "v1.", &sealed[..sealed.len() / 2]] {
            assert!(vault.unseal(org, id, nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn a_key_that_is_not_32_bytes_is_refused_without_being_shown() {
        let key = SecretString::from("c2hvcnQ=");
        let error = Vault::open(Some(&key), None).map(drop);
        let error = format!("{:#}", error.expect_err("too short"));
        assert!(error.contains("secrets.key") && !error.contains("c2hvcnQ"));
    }
}
