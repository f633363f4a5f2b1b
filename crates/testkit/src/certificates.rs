//! Certificates for receivers: an authority of the test's own, and what it issues.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::namespace;

/// Issues certificates that nobody believes but who is told to.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// What a receiver shows to who connects.
#[derive(Clone, Debug)]
pub struct Identity(pub(crate) Arc<ServerConfig>);

impl Authority {
    pub fn new() -> anyhow::Result<Self> {
        let mut params = CertificateParams::new([])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Each has a name of its own, or they would be taken for one that signs wrongly.
        let name = format!("Authority {}", namespace());
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        Ok(Self { issuer, pem })
    }

    /// Its own certificate, for a file that `SSL_CERT_FILE` names.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// An identity for this name.
    pub fn identity(&self, name: &str) -> anyhow::Result<Identity> {
        self.issue(&CertificateParams::new([name.to_owned()])?)
    }

    /// One that was valid once.
    pub fn expired_identity(&self, name: &str) -> anyhow::Result<Identity> {
        let mut params = CertificateParams::new([name.to_owned()])?;
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
        self.issue(&params)
    }

    fn issue(&self, params: &CertificateParams) -> anyhow::Result<Identity> {
        let key = KeyPair::generate()?;
        let certificate: CertificateDer<'static> =
            params.signed_by(&key, &self.issuer)?.der().clone();
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        Ok(Identity(Arc::new(config)))
    }
}
