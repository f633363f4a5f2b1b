//! The page of settings, generated from one table that a test holds against the code.

/// One setting as people read about it.
pub struct Setting {
    pub key: &'static str,
    pub default: &'static str,
    pub about: &'static str,
}

const fn setting(key: &'static str, default: &'static str, about: &'static str) -> Setting {
    Setting {
        key,
        default,
        about,
    }
}

pub const SETTINGS: &[Setting] = &[
    setting(
        "http.listen",
        "127.0.0.1:8080",
        "Address and port to serve on.",
    ),
    setting(
        "http.admin_listen",
        "none",
        "Address and port for `/healthz` and `/metrics`, which `http.listen` then no longer serves: probes are answered however busy the other port is, and outsiders cannot see them.",
    ),
    setting(
        "http.connections_per_address_max",
        "1000",
        "Maximum number of simultaneous connections from one client address to one process, out of 10,000 in total; further ones are closed. Trusted proxies may use all of them.",
    ),
    setting(
        "http.public_url",
        "http://127.0.0.1:8080",
        "The URL at which people reach the server. Links in mail start with it; with `https` the session cookie is `Secure`.",
    ),
    setting(
        "http.request_timeout_s",
        "30",
        "Seconds a request may take before it is answered with 408, and seconds a response waits for a client that does not read it before the connection is closed.",
    ),
    setting(
        "http.drain_s",
        "5",
        "Seconds between SIGTERM and the end of service: meanwhile readiness answers 503 and everything still works. Set it to at least the interval of your load balancer's health check.",
    ),
    setting(
        "http.trusted_proxies",
        "none",
        "The proxies in front of the server, as networks such as `10.0.7.4/32`; comma-separated in the environment. Only they are trusted to say where a request came from, so list nothing but the proxies: anyone else in such a network can claim any address.",
    ),
    setting(
        "http.client_ip_header",
        "none",
        "The header in which the trusted proxies pass on the client address: `x-forwarded-for`, `forwarded`, or one of your own. It is read from the right; the first address that is not a trusted proxy is the client.",
    ),
    setting(
        "postgres.url",
        "postgres://watchbell@127.0.0.1/watchbell",
        "The URL of PostgreSQL. Secret: prefer `WATCHBELL__POSTGRES__URL_FILE`.",
    ),
    setting(
        "postgres.connections_max",
        "20",
        "Maximum number of connections per process, not counting those of the writers (one for each partition and log).",
    ),
    setting(
        "journal.url",
        "nats://127.0.0.1:4222",
        "One or more NATS servers, comma-separated. They need version 2.12 or later, JetStream enabled, and `sync_interval: always`. Secret if it contains a password.",
    ),
    setting(
        "journal.namespace",
        "watchbell",
        "Prefix of every stream and subject, so that several deployments can share a server.",
    ),
    setting(
        "journal.partitions",
        "8",
        "How many logs events are spread over. Chosen at installation; cannot be changed afterwards.",
    ),
    setting(
        "journal.replicas",
        "1",
        "Copies of each stream: 1, or 3 or 5 on a cluster.",
    ),
    setting(
        "journal.events_bytes_max",
        "none",
        "Maximum number of bytes in all event logs together; each partition has an equal share. Above 90% of a share, the organizations that sent most are answered with 429; once a partition is full, its organizations are answered with 503 until events older than 7 days are gone. Nothing is dropped. NATS reserves this much of its `max_file_store`, so it must be less than that. Once set, it can be changed, but leaving it out does not remove it.",
    ),
    setting(
        "journal.monitor_url",
        "none",
        "The NATS server's monitoring URL. With it, startup and `watchbell doctor` report whether acknowledged events survive a power cut.",
    ),
    setting(
        "redis.url",
        "none",
        "The URL of Redis 7 or Valkey, which holds the rate-limit windows that nodes share; it must be dedicated and never evict (`maxmemory-policy noeviction`). Without it each process counts on its own. Secret if it contains a password.",
    ),
    setting(
        "redis.timeout_ms",
        "30",
        "Milliseconds that one limit check waits for Redis; after that the node decides from what it has admitted itself. A longer wait keeps limits exact on a very busy machine, and delays requests by that much when Redis hangs.",
    ),
    setting(
        "limits.ingest",
        "600/60s",
        "Requests to `POST /v1/audit/events` per API key, as COUNT/WINDOW; a batch counts as one. Windows are rolling: no minute, wherever it starts, admits more. This limit and the next seven are part of the contract, and nothing else counts toward them.",
    ),
    setting(
        "limits.list",
        "120/60s",
        "Requests to `GET /v1/audit/events` per API key or person.",
    ),
    setting(
        "limits.export",
        "10/60s",
        "Requests to `POST /v1/audit/export` per API key or person.",
    ),
    setting(
        "limits.decisions",
        "5000/60s",
        "Requests to `POST /v1/runtime/decisions` per API key.",
    ),
    setting(
        "limits.rule_writes",
        "20/60s",
        "Alert rules created and changed, combined, per API key or person.",
    ),
    setting(
        "limits.login",
        "10/15m",
        "Login attempts per client address.",
    ),
    setting(
        "limits.register",
        "3/1h",
        "Registrations per client address.",
    ),
    setting(
        "limits.password_reset",
        "3/1h",
        "Password reset requests per client address.",
    ),
    setting(
        "limits.confirm",
        "30/15m",
        "Uses of links in mail (verify, reset, accept) per client address.",
    ),
    setting(
        "limits.key_lookups",
        "6000/60s",
        "Unknown API keys and sessions presented per client address, counted on each node separately: this bounds the cost of guessed ones. Valid keys and sessions do not count.",
    ),
    setting(
        "limits.invitations",
        "50/24h",
        "Invitations created per organization, including those revoked or replaced since.",
    ),
    setting(
        "limits.refused_logins",
        "20/1h",
        "Refused logins per account that are recorded in its organization's trail; further ones are not recorded. It does not block anyone.",
    ),
    setting(
        "limits.login_elsewhere",
        "60/1h",
        "Logins to one account from unknown browsers, all combined. A browser that has logged in before, recognized by a cookie, has the same limit to itself.",
    ),
    setting(
        "limits.password_changes",
        "10/15m",
        "Password changes and requests to delete the organization, combined, per person; this also bounds guesses at the password.",
    ),
    setting(
        "limits.mails",
        "10/24h",
        "Mails of one kind (registration, password reset, invitation, organization deletion, endpoint trouble) to one address, across all organizations. Mails beyond it are dropped and counted, and the request that caused one is answered as usual.",
    ),
    setting(
        "limits.key_writes",
        "60/60s",
        "API keys created and rotated, per person.",
    ),
    setting(
        "limits.rule_tries",
        "20/60s",
        "Alert rules tried (`test`, `suggest`, `backtest` and `trigger`) and endpoints challenged (`verify`), combined, per API key or person.",
    ),
    setting(
        "limits.rule_previews",
        "120/60s",
        "Alert rules tried on the newest events (`preview`), per API key or person.",
    ),
    setting(
        "limits.policy_writes",
        "20/60s",
        "Policy changes (versions saved, activated, rolled back or shadowed, and settings), combined, per API key or person.",
    ),
    setting(
        "limits.policy_tries",
        "20/60s",
        "Policies tried (`validate`, `test`, `diff`, `backtest` and the shadow report), combined, per API key or person.",
    ),
    setting(
        "limits.streams",
        "120/60s",
        "Streams opened, of events and of pending approvals, combined, per API key or person.",
    ),
    setting(
        "limits.stats",
        "120/60s",
        "Requests to `GET /v1/audit/stats`, `GET /v1/audit/facets` and `GET /v1/overview`, combined, per API key or person.",
    ),
    setting(
        "limits.evaluations",
        "5000/60s",
        "Requests to `POST /access/v1/evaluation` and `/evaluations`, combined, per API key; a batch counts as one.",
    ),
    setting(
        "limits.hook_decisions",
        "5000/60s",
        "Requests to `POST /v1/hooks/claude-code/pre-tool-use` and `/v1/hooks/{dialect}/before` per API key.",
    ),
    setting(
        "limits.hook_events",
        "600/60s",
        "Requests to `POST /v1/hooks/claude-code/post-tool-use` and `/v1/hooks/{dialect}/after` per API key.",
    ),
    setting(
        "limits.reads",
        "600/60s",
        "All reads that have no limit of their own, combined, per API key or person.",
    ),
    setting(
        "limits.writes",
        "120/60s",
        "All changes that have no limit of their own, combined, per API key or person.",
    ),
    setting(
        "limits.public",
        "6000/60s",
        "Requests that need no authentication (`/v1/about`, the API document, links to files, logging out), combined, per client address and node.",
    ),
    setting(
        "events.retention_days",
        "183",
        "How many days events are kept, counted from when they occurred. Older events are refused; older days are dropped as a whole.",
    ),
    setting(
        "events.bytes_per_minute_max",
        "1073741824",
        "Bytes of events and questions, uncompressed, that one organization may send to one process per minute. Beyond that, requests are refused (429) with the time to wait.",
    ),
    setting(
        "events.bytes_per_day_max",
        "107374182400",
        "The same per day. A process starts counting from zero when it starts.",
    ),
    setting(
        "alerts.rules_per_org_max",
        "500",
        "How many alert rules an organization may have, 1 to 10000. Every process with the role `match` holds all rules in memory.",
    ),
    setting(
        "policies.versions_per_org_max",
        "1000",
        "How many policy versions an organization may have, 1 to 100000, including the starter. Versions are never deleted: decisions name the version that made them.",
    ),
    setting(
        "delivery.signing_secret",
        "none",
        "The secret from which each organization's initial signing secret is derived. That one signs its webhooks until the organization promotes a staged secret. Without it the signature header is absent. Secret: prefer `WATCHBELL__DELIVERY__SIGNING_SECRET_FILE`.",
    ),
    setting(
        "delivery.previous_signing_secret",
        "none",
        "The former `delivery.signing_secret`. While it is set, webhooks carry its signature too (`X-Service-Signature-Previous`), so that receivers can be switched over one by one. Secret: prefer `WATCHBELL__DELIVERY__PREVIOUS_SIGNING_SECRET_FILE`.",
    ),
    setting(
        "delivery.shared_signing_secret",
        "none",
        "A secret that signs for all organizations as is, instead of their initial secrets: the `delivery.signing_secret` from before initial secrets existed, for use while receivers are switched over. Anyone who knows it can forge webhooks that another organization's receiver accepts. Secret: prefer `WATCHBELL__DELIVERY__SHARED_SIGNING_SECRET_FILE`.",
    ),
    setting(
        "delivery.allow_http",
        "false",
        "Whether endpoints may use plain http.",
    ),
    setting(
        "delivery.allow_cidrs",
        "none",
        "Non-public networks that webhooks may be sent to, such as `10.1.0.0/16`; comma-separated in the environment.",
    ),
    setting(
        "delivery.nameservers",
        "none",
        "The name servers used to resolve endpoints, such as `10.0.0.2:53`; comma-separated in the environment. Defaults to those of this machine (`/etc/resolv.conf`). Its hosts file and search domains are never used. Prefer public resolvers, or others that know no internal names: the outcome of a webhook tells the rule's author whether a name exists.",
    ),
    setting(
        "delivery.concurrency",
        "1024",
        "Maximum number of sends in flight per process.",
    ),
    setting(
        "delivery.endpoint_concurrency",
        "8",
        "Maximum number of sends in flight per process to one endpoint, 1 to 64. Fewer while the endpoint is slow or asks for a slower pace.",
    ),
    setting(
        "delivery.concurrency_per_host",
        "64",
        "Maximum number of sends in flight per process from one organization to one host (name and port), however many URLs it has there; all organizations combined may have four times as many. The default is enough for eight endpoints at their own limit, and no strain for a small web server.",
    ),
    setting(
        "delivery.endpoint_ownership",
        "optional",
        "`required`: nothing is sent to an endpoint until its receiver has answered a challenge, for each organization that uses it; until then deliveries wait. `optional`: no challenge is needed. Must be the same on every node; set `required` once all of them run a version that supports it.",
    ),
    setting(
        "delivery.retention_days",
        "30",
        "How many days deliveries and their attempts are kept.",
    ),
    setting(
        "secrets.key",
        "none",
        "The key that encrypts organizations' signing secrets in PostgreSQL and the journal: 32 random bytes in base64 (`openssl rand -base64 32`), the same on every node. Without it organizations cannot have their own secrets. If it is lost, so are they. Secret: prefer `WATCHBELL__SECRETS__KEY_FILE`.",
    ),
    setting(
        "secrets.previous_key",
        "none",
        "The former `secrets.key`: decrypts what was encrypted with it, and encrypts nothing. Secret: prefer `WATCHBELL__SECRETS__PREVIOUS_KEY_FILE`.",
    ),
    setting(
        "accounts.registration",
        "open",
        "`open`: anyone may register an organization. `closed`: only `watchbell admin create-org` creates one, and people join by invitation.",
    ),
    setting(
        "accounts.deletion_delay_days",
        "7",
        "Days between an owner's request to delete the organization and its deletion, during which any owner can cancel it. 0: immediately.",
    ),
    setting(
        "accounts.operators",
        "none",
        "Email addresses of the people who run this deployment; comma-separated in the environment. They can see the system page (`GET /v1/system`), which covers all organizations. Without a mail server nobody can prove that they own an address: then nobody can register or be invited with one of these, and `watchbell admin create-org` creates their accounts.",
    ),
    setting(
        "console.enabled",
        "true",
        "Whether nodes with the role `api` serve the console, on every path that is not part of the API.",
    ),
    setting(
        "console.receiver_url",
        "none",
        "A webhook receiver that the console offers for trying things out. `watchbell dev` sets its own.",
    ),
    setting(
        "mail.smtp_url",
        "none",
        "The mail server: `smtps://user:password@host`, `smtp://user:password@host:587?tls=required` (STARTTLS), or `smtp://host:25` unencrypted. Without it no mail is sent: registering creates the account immediately, and `watchbell admin reset-link` takes the place of password reset mail. Secret: prefer `WATCHBELL__MAIL__SMTP_URL_FILE`.",
    ),
    setting(
        "mail.from",
        "Watchbell <watchbell@localhost>",
        "The sender of mail.",
    ),
    setting(
        "files.url",
        "none",
        "Where files are stored: `file:///folder`, which every node must share, or `s3://bucket/prefix`. Exports requested with `async` are under `exports/`, archived days of the trail under `archive/`, transparency logs under `transparency/`. Without it none of these is available; transparency logs also need `secrets.key`, and a bucket that honors `If-None-Match`.",
    ),
    setting(
        "files.s3_endpoint",
        "none",
        "The URL of an S3-compatible server other than Amazon's, such as `https://minio.internal:9000`.",
    ),
    setting(
        "files.s3_region",
        "none",
        "The bucket's region; defaults to `us-east-1`.",
    ),
    setting(
        "files.s3_access_key_id",
        "none",
        "The access key id. Without it and the next setting, the machine's own role is used (instance metadata).",
    ),
    setting(
        "files.s3_secret_access_key",
        "none",
        "The secret part of the access key. Secret: prefer `WATCHBELL__FILES__S3_SECRET_ACCESS_KEY_FILE`.",
    ),
    setting(
        "files.archive_days",
        "false",
        "Whether days older than `events.retention_days` are written to files, which exports read, before they are dropped from the database.",
    ),
    setting(
        "files.export_events_max",
        "500000",
        "Number of events after which a background export starts its next file; if a node dies, only the file it was writing is lost.",
    ),
    setting(
        "transparency.witnesses",
        "none",
        "Who cosigns the checkpoints of transparency logs: up to 12 witnesses, each as `URL KEY`, a list in the file, comma-separated in the environment. The key is what `watchbell witness key` prints. The URLs are yours to choose, so private addresses are allowed. See [run a witness](../how-to/run-a-witness.md).",
    ),
    setting("log.format", "json", "`json` or `text`."),
    setting(
        "log.filter",
        "info",
        "Which log lines are written, such as `info,journal=debug`.",
    ),
];

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = String::from(
        "# Configuration\n\n\
         <!-- Generated by `cargo xtask generate`; do not edit. -->\n\n\
         `watchbell serve --config FILE` reads a TOML file; the environment overrides it. The setting \
         `section.key` is `key` under `[section]` in the file and `WATCHBELL__SECTION__KEY` in the \
         environment. `WATCHBELL__SECTION__KEY_FILE` names a file that holds the value, so that secrets \
         stay out of the environment. An unknown key is an error.\n\n\
         Traces are configured by the standard `OTEL_*` variables: they are sent by OTLP over HTTP when \
         `OTEL_EXPORTER_OTLP_ENDPOINT` is set.\n\n\
         | setting | default | what it does |\n|---|---|---|\n",
    );
    for setting in SETTINGS {
        let (key, default, about) = (setting.key, default_cell(setting.default), setting.about);
        page.extend(["| `", key, "` | ", &default, " | ", about, " |\n"]);
    }
    page
}

fn default_cell(default: &str) -> String {
    if default == "none" {
        "none".to_owned()
    } else {
        format!("`{default}`")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::config::Config;

    fn leaves() -> Vec<(String, Value)> {
        let config = serde_json::to_value(Config::default()).expect("JSON");
        let sections = config.as_object().expect("sections").clone();
        sections
            .into_iter()
            .flat_map(|(section, keys)| {
                let keys = keys.as_object().expect("keys").clone();
                keys.into_iter()
                    .map(move |(key, value)| (format!("{section}.{key}"), value))
            })
            .collect()
    }

    #[test]
    fn every_setting_is_on_the_page_with_its_default() {
        let mut documented: Vec<_> = SETTINGS
            .iter()
            .map(|setting| setting.key.to_owned())
            .collect();
        let mut existing: Vec<_> = leaves().into_iter().map(|(key, _)| key).collect();
        documented.sort();
        existing.sort();
        assert_eq!(documented, existing);
        for (key, value) in leaves() {
            let documented = SETTINGS
                .iter()
                .find(|setting| setting.key == key)
                .expect("documented")
                .default;
            match value {
                Value::Null => assert_eq!(documented, "none", "{key}"),
                Value::Array(values) => assert!(values.is_empty() && documented == "none", "{key}"),
                Value::String(text) if text == "(hidden)" => {}
                Value::String(text) => assert_eq!(documented, text, "{key}"),
                other => assert_eq!(documented, other.to_string(), "{key}"),
            }
        }
    }
}
