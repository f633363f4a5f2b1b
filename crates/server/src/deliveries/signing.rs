//! Signs a delivery: the contract's header, and the Standard Webhooks ones beside it.

use domain::{DeliveryId, Timestamp};
use hyper::http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use webhook_signature::{SIGNATURE_HEADER, sign, standard};

/// The deployment's signing secret, ready for use.
pub struct Signing {
    secret: SecretString,
    /// Only a secret of the form `whsec_<base64>` can be given to a Standard Webhooks verifier.
    standard: Option<standard::Key>,
}

impl Signing {
    pub fn new(secret: &SecretString) -> Self {
        let standard = standard::Key::parse(secret.expose_secret());
        Self {
            secret: secret.clone(),
            standard,
        }
    }

    /// Adds the signatures over exactly these bytes.
    pub fn sign(
        &self,
        headers: &mut HeaderMap,
        delivery: DeliveryId,
        signed_at: Timestamp,
        body: &str,
    ) {
        let secret = self.secret.expose_secret().as_bytes();
        insert(
            headers,
            SIGNATURE_HEADER,
            &sign(secret, &signed_at.to_string(), body.as_bytes()),
        );
        if let Some(key) = &self.standard {
            let (id, seconds) = (delivery.to_string(), signed_at.unix_seconds());
            insert(headers, standard::ID_HEADER, &id);
            insert(headers, standard::TIMESTAMP_HEADER, &seconds.to_string());
            let signature = standard::sign(key, &id, seconds, body.as_bytes());
            insert(headers, standard::SIGNATURE_HEADER, &signature);
        }
    }
}

impl std::fmt::Debug for Signing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signing(hidden)")
    }
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    let value = HeaderValue::from_str(value).expect("ids, numbers, hex and base64 are plain ASCII");
    headers.insert(HeaderName::from_static(name), value);
}
