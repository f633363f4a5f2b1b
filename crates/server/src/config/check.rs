//! What a value alone cannot tell: settings that do not fit together are refused before anything starts.

use deliver::ENDPOINT_CONCURRENCY_MOST;
use secrecy::ExposeSecret as _;
use url::Url;

use super::{Config, Witness};

/// The most that `alerts.rules_per_org_max` may be: matching is measured and tested up to here.
const RULES_PER_ORG_MOST: u32 = 10_000;
/// The most that `policies.versions_per_org_max` may be: a version a quarter of an hour, for three years.
const POLICY_VERSIONS_MOST: u32 = 100_000;
/// The most that `accounts.deletion_delay_days` may be: who wants to keep it so long does not want it deleted.
const DELETION_DELAY_DAYS_MOST: u32 = 365;
/// The most that `transparency.witnesses` may have: as many signatures as every reader of a checkpoint accepts (C2SP
/// signed-note), with room for the log's own.
const WITNESSES_MOST: usize = 12;

impl Config {
    /// What a value alone cannot tell; run before anything starts.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        self.partitions()?;
        let header = self.client_ip_header()?;
        anyhow::ensure!(
            header.is_some() || self.http.trusted_proxies.is_empty(),
            "http.trusted_proxies has no effect without http.client_ip_header; set that to the header \
             the proxies write, such as x-forwarded-for"
        );
        let namespace = &self.journal.namespace;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        anyhow::ensure!(
            !namespace.is_empty() && namespace.len() <= 32 && namespace.bytes().all(plain),
            "journal.namespace must be 1 to 32 letters, digits, - or _"
        );
        anyhow::ensure!(
            [1, 3, 5].contains(&self.journal.replicas),
            "journal.replicas must be 1, 3 or 5"
        );
        anyhow::ensure!(
            self.http.connections_per_address_max > 0,
            "http.connections_per_address_max must be at least 1"
        );
        anyhow::ensure!(
            self.journal.events_bytes_max != Some(0),
            "journal.events_bytes_max must be at least 1; leave it out for no limit"
        );
        anyhow::ensure!(
            (1..=RULES_PER_ORG_MOST).contains(&self.alerts.rules_per_org_max),
            "alerts.rules_per_org_max must be between 1 and {RULES_PER_ORG_MOST}"
        );
        anyhow::ensure!(
            (1..=POLICY_VERSIONS_MOST).contains(&self.policies.versions_per_org_max),
            "policies.versions_per_org_max must be between 1 and {POLICY_VERSIONS_MOST}"
        );
        anyhow::ensure!(
            self.delivery.concurrency > 0,
            "delivery.concurrency must be at least 1"
        );
        anyhow::ensure!(
            (1..=ENDPOINT_CONCURRENCY_MOST).contains(&self.delivery.endpoint_concurrency),
            "delivery.endpoint_concurrency must be 1 to {ENDPOINT_CONCURRENCY_MOST}"
        );
        anyhow::ensure!(
            self.delivery.concurrency_per_host > 0,
            "delivery.concurrency_per_host must be at least 1"
        );
        anyhow::ensure!(
            (1..=10_000).contains(&self.redis.timeout_ms),
            "redis.timeout_ms must be between 1 and 10000"
        );
        anyhow::ensure!(
            self.events.retention_days > 0,
            "events.retention_days must be at least 1"
        );
        anyhow::ensure!(
            self.delivery.retention_days > 0,
            "delivery.retention_days must be at least 1"
        );
        anyhow::ensure!(
            self.accounts.deletion_delay_days <= DELETION_DELAY_DAYS_MOST,
            "accounts.deletion_delay_days must be at most {DELETION_DELAY_DAYS_MOST}"
        );
        self.accounts.operators()?;
        if let Some(url) = &self.console.receiver_url {
            anyhow::ensure!(
                Url::parse(url).is_ok_and(|url| ["http", "https"].contains(&url.scheme())),
                "console.receiver_url must be an http:// or https:// URL"
            );
        }
        self.mail.sender()?;
        self.mail.server()?;
        anyhow::ensure!(
            self.files.url.is_some() || !self.files.archive_days,
            "files.archive_days needs files.url, where archived days are stored"
        );
        anyhow::ensure!(
            self.files.s3_access_key_id.is_some() == self.files.s3_secret_access_key.is_some(),
            "files.s3_access_key_id and files.s3_secret_access_key must be set together or not at all"
        );
        self.check_witnesses()?;
        if let Some(secret) = &self.delivery.signing_secret {
            anyhow::ensure!(
                !secret.expose_secret().is_empty(),
                "delivery.signing_secret is empty; leave it out to send unsigned webhooks"
            );
        }
        if let Some(shared) = &self.delivery.shared_signing_secret {
            let own = self.delivery.signing_secret.as_ref();
            anyhow::ensure!(
                own.is_some_and(|own| own.expose_secret() != shared.expose_secret())
                    && !shared.expose_secret().is_empty(),
                "delivery.shared_signing_secret is the secret that signed for all organizations; it must not be \
                 empty, and delivery.signing_secret must be set too, to a different secret that no organization knows"
            );
        }
        if let Some(previous) = &self.delivery.previous_signing_secret {
            anyhow::ensure!(
                self.delivery.signing_secret.is_some() && !previous.expose_secret().is_empty(),
                "delivery.previous_signing_secret is the former delivery.signing_secret; it must not be empty, \
                 and delivery.signing_secret must be set too"
            );
        }
        self.secrets.vault()?;
        anyhow::ensure!(
            self.secrets.key.is_some() || self.secrets.previous_key.is_none(),
            "secrets.previous_key is the former secrets.key; secrets.key must be set too"
        );
        Ok(())
    }
    fn check_witnesses(&self) -> anyhow::Result<()> {
        let witnesses = &self.transparency.witnesses;
        anyhow::ensure!(
            witnesses.is_empty() || (self.files.url.is_some() && self.secrets.key.is_some()),
            "transparency.witnesses needs files.url and secrets.key: without them there is no log to cosign"
        );
        anyhow::ensure!(
            witnesses.len() <= WITNESSES_MOST,
            "transparency.witnesses may have at most {WITNESSES_MOST}"
        );
        let mut names: Vec<&str> = witnesses.iter().map(Witness::name).collect();
        names.sort_unstable();
        names.dedup();
        anyhow::ensure!(
            names.len() == witnesses.len(),
            "transparency.witnesses has two of the same name"
        );
        Ok(())
    }
}
