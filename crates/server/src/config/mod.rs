//! The settings: a file, then the environment, checked together; an unknown key is an error.
//!
//! Every setting has a default and a line in [`reference::SETTINGS`], from which
//! `docs/reference/configuration.md` is generated.

mod check;
mod limits;
mod load;
mod mail;
mod public_url;
pub mod reference;
mod role;
mod witness;

use std::{net::SocketAddr, time::Duration};

use anyhow::Context as _;
use archive::{Bucket, bucket::S3Options};
use axum::http::HeaderName;
use deliver::{secrets::seal::Vault, send::signing::DeploymentKeys};
use domain::{account::EmailAddress, partition::Partitions};
use ipnet::IpNet;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use limits::Limits;
pub use load::{home, load, otel_is_configured, search_path, standard_variable};
pub use public_url::PublicUrl;
pub use role::Role;
pub use witness::Witness;

/// Everything that can be set.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub http: Http,
    pub postgres: Postgres,
    pub journal: Journal,
    pub redis: Redis,
    pub limits: Limits,
    pub events: Events,
    pub alerts: Alerts,
    pub policies: Policies,
    pub delivery: Delivery,
    pub secrets: Secrets,
    pub accounts: Accounts,
    pub console: Console,
    pub mail: Mail,
    pub files: Files,
    pub transparency: Transparency,
    pub log: Log,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    pub listen: SocketAddr,
    pub admin_listen: Option<SocketAddr>,
    pub public_url: PublicUrl,
    pub connections_per_address_max: usize,
    pub request_timeout_s: u64,
    pub drain_s: u64,
    #[serde(deserialize_with = "load::list")]
    pub trusted_proxies: Vec<IpNet>,
    pub client_ip_header: Option<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Postgres {
    #[serde(serialize_with = "hidden")]
    pub url: SecretString,
    pub connections_max: u32,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Journal {
    #[serde(serialize_with = "hidden")]
    pub url: SecretString,
    pub namespace: String,
    pub partitions: u16,
    pub replicas: usize,
    pub events_bytes_max: Option<u64>,
    pub monitor_url: Option<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Redis {
    #[serde(serialize_with = "hidden_option")]
    pub url: Option<SecretString>,
    pub timeout_ms: u64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Events {
    pub retention_days: u32,
    pub bytes_per_minute_max: u64,
    pub bytes_per_day_max: u64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Alerts {
    pub rules_per_org_max: u32,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policies {
    pub versions_per_org_max: u32,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Delivery {
    #[serde(serialize_with = "hidden_option")]
    pub signing_secret: Option<SecretString>,
    #[serde(serialize_with = "hidden_option")]
    pub previous_signing_secret: Option<SecretString>,
    #[serde(serialize_with = "hidden_option")]
    pub shared_signing_secret: Option<SecretString>,
    pub allow_http: bool,
    #[serde(deserialize_with = "load::list")]
    pub allow_cidrs: Vec<IpNet>,
    #[serde(deserialize_with = "load::list")]
    pub nameservers: Vec<SocketAddr>,
    pub concurrency: usize,
    pub endpoint_concurrency: u32,
    pub concurrency_per_host: u32,
    pub endpoint_ownership: EndpointOwnership,
    pub retention_days: u32,
}

impl Delivery {
    pub fn deployment_keys(&self) -> DeploymentKeys {
        DeploymentKeys {
            current: self.signing_secret.clone(),
            previous: self.previous_signing_secret.clone(),
            shared: self.shared_signing_secret.clone(),
        }
    }
}

/// Whether an endpoint has to answer a challenge before anything else is sent to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndpointOwnership {
    #[default]
    Optional,
    Required,
}

/// Keys that seal what customers' secrets are at rest.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Secrets {
    #[serde(serialize_with = "hidden_option")]
    pub key: Option<SecretString>,
    #[serde(serialize_with = "hidden_option")]
    pub previous_key: Option<SecretString>,
}

impl Secrets {
    pub fn vault(&self) -> anyhow::Result<Vault> {
        Vault::open(self.key.as_ref(), self.previous_key.as_ref())
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Accounts {
    pub registration: Registration,
    pub deletion_delay_days: u32,
    #[serde(deserialize_with = "load::list")]
    pub operators: Vec<String>,
}

impl Accounts {
    /// The addresses of those who run the deployment.
    pub fn operators(&self) -> anyhow::Result<Vec<EmailAddress>> {
        let address = |text: &String| {
            EmailAddress::parse(text)
                .with_context(|| format!("accounts.operators: `{text}` is not an email address"))
        };
        self.operators.iter().map(address).collect()
    }
}

/// Whether strangers may make organizations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    #[default]
    Open,
    Closed,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Console {
    pub enabled: bool,
    pub receiver_url: Option<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mail {
    #[serde(serialize_with = "hidden_option")]
    pub smtp_url: Option<SecretString>,
    pub from: String,
}

/// Where exports and archived days are kept.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Files {
    pub url: Option<String>,
    pub s3_endpoint: Option<String>,
    pub s3_region: Option<String>,
    pub s3_access_key_id: Option<String>,
    #[serde(serialize_with = "hidden_option")]
    pub s3_secret_access_key: Option<SecretString>,
    pub archive_days: bool,
    pub export_events_max: u64,
}

impl Files {
    /// Where files are kept, if anywhere.
    pub fn open(&self) -> anyhow::Result<Option<Bucket>> {
        let Some(url) = &self.url else {
            return Ok(None);
        };
        let s3 = S3Options {
            endpoint: self.s3_endpoint.clone(),
            region: self.s3_region.clone(),
            access_key_id: self.s3_access_key_id.clone(),
            secret_access_key: self
                .s3_secret_access_key
                .as_ref()
                .map(|secret| secret.expose_secret().to_owned()),
        };
        Ok(Some(Bucket::open(url, &s3)?))
    }
}

/// Who watches over transparency logs.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Transparency {
    #[serde(deserialize_with = "load::list")]
    pub witnesses: Vec<Witness>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    pub format: LogFormat,
    pub filter: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Json,
    Text,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            admin_listen: None,
            connections_per_address_max: 1_000,
            public_url: PublicUrl::parse("http://127.0.0.1:8080").expect("it is a URL"),
            request_timeout_s: 30,
            drain_s: 5,
            trusted_proxies: Vec::new(),
            client_ip_header: None,
        }
    }
}

impl Default for Postgres {
    fn default() -> Self {
        Self {
            url: SecretString::from("postgres://watchbell@127.0.0.1/watchbell"),
            connections_max: 20,
        }
    }
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            url: SecretString::from("nats://127.0.0.1:4222"),
            namespace: "watchbell".to_owned(),
            partitions: 8,
            replicas: 1,
            events_bytes_max: None,
            monitor_url: None,
        }
    }
}

impl Default for Redis {
    fn default() -> Self {
        Self {
            url: None,
            timeout_ms: 30,
        }
    }
}

impl Default for Events {
    fn default() -> Self {
        Self {
            retention_days: 183,
            bytes_per_minute_max: 1 << 30,
            bytes_per_day_max: 100 << 30,
        }
    }
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            rules_per_org_max: 500,
        }
    }
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            versions_per_org_max: 1_000,
        }
    }
}

impl Default for Delivery {
    fn default() -> Self {
        Self {
            signing_secret: None,
            previous_signing_secret: None,
            shared_signing_secret: None,
            allow_http: false,
            allow_cidrs: Vec::new(),
            nameservers: Vec::new(),
            concurrency: 1_024,
            endpoint_concurrency: 8,
            concurrency_per_host: 64,
            endpoint_ownership: EndpointOwnership::Optional,
            retention_days: 30,
        }
    }
}

impl Default for Accounts {
    fn default() -> Self {
        Self {
            registration: Registration::default(),
            deletion_delay_days: 7,
            operators: Vec::new(),
        }
    }
}

impl Default for Console {
    fn default() -> Self {
        Self {
            enabled: true,
            receiver_url: None,
        }
    }
}

impl Default for Mail {
    fn default() -> Self {
        Self {
            smtp_url: None,
            from: "Watchbell <watchbell@localhost>".to_owned(),
        }
    }
}

impl Default for Files {
    fn default() -> Self {
        Self {
            url: None,
            s3_endpoint: None,
            s3_region: None,
            s3_access_key_id: None,
            s3_secret_access_key: None,
            archive_days: false,
            export_events_max: 500_000,
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self {
            format: LogFormat::Json,
            filter: "info".to_owned(),
        }
    }
}

impl Config {
    pub fn partitions(&self) -> anyhow::Result<Partitions> {
        Partitions::new(self.journal.partitions).ok_or_else(|| {
            anyhow::anyhow!(
                "journal.partitions must be between 1 and {}",
                Partitions::MOST
            )
        })
    }

    /// The header in which trusted proxies say where a request came from.
    pub fn client_ip_header(&self) -> anyhow::Result<Option<HeaderName>> {
        let name = self.http.client_ip_header.as_deref();
        name.map(|name| {
            name.parse()
                .with_context(|| format!("http.client_ip_header: `{name}` is not a header name"))
        })
        .transpose()
    }

    pub fn retention(&self) -> Duration {
        days(self.events.retention_days)
    }

    pub fn delivery_retention(&self) -> Duration {
        days(self.delivery.retention_days)
    }

    pub fn deletion_delay(&self) -> Duration {
        days(self.accounts.deletion_delay_days)
    }
}

fn days(days: u32) -> Duration {
    Duration::from_secs(u64::from(days) * 24 * 3600)
}

fn hidden<S: serde::Serializer>(_: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("(hidden)")
}

#[expect(clippy::ref_option, reason = "serde passes the field by reference")]
fn hidden_option<S: serde::Serializer>(
    secret: &Option<SecretString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match secret {
        Some(secret) => hidden(secret, serializer),
        None => serializer.serialize_none(),
    }
}
