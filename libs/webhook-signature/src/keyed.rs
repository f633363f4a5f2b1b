//! HMAC-SHA-256 with a key that is read once: kept in place of a secret, it saves hashing that for each delivery.

#[cfg(feature = "aws-lc-rs")]
pub(crate) use aws_lc::Keyed;
#[cfg(not(feature = "aws-lc-rs"))]
pub(crate) use pure::Keyed;

#[cfg(feature = "aws-lc-rs")]
mod aws_lc {
    use aws_lc_rs::hmac::{Context, HMAC_SHA256, Key};

    #[derive(Clone)]
    pub(crate) struct Keyed(Key);

    impl Keyed {
        pub(crate) fn new(secret: &[u8]) -> Self {
            Self(Key::new(HMAC_SHA256, secret))
        }

        /// The HMAC of the parts, one after the other.
        pub(crate) fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
            let mut context = Context::with_key(&self.0);
            for part in parts {
                context.update(part);
            }
            let tag = context.sign();
            tag.as_ref().try_into().expect("SHA-256 has 32 bytes")
        }
    }
}

#[cfg(not(feature = "aws-lc-rs"))]
mod pure {
    use hmac::{Hmac, KeyInit, Mac};
    use sha2::Sha256;

    #[derive(Clone)]
    pub(crate) struct Keyed(Hmac<Sha256>);

    impl Keyed {
        pub(crate) fn new(secret: &[u8]) -> Self {
            Self(Hmac::new_from_slice(secret).expect("HMAC takes a key of any length"))
        }

        /// The HMAC of the parts, one after the other.
        pub(crate) fn digest(&self, parts: &[&[u8]]) -> [u8; 32] {
            let mut mac = self.0.clone();
            for part in parts {
                mac.update(part);
            }
            mac.finalize().into_bytes().into()
        }
    }
}
