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
        "Address and port for `/healthz` and `/metrics`, which `http.listen` then does not serve: probes are answered however busy the other port is, and strangers do not see them.",
    ),
    setting(
        "http.connections_per_address_max",
        "1000",
        "Connections that one client address may have at a time on a process, of 10,000 in all; the next are closed. Trusted proxies may have all.",
    ),
    setting(
        "http.public_url",
        "http://127.0.0.1:8080",
        "Where people reach it. Links in mails start with it; with `https` the session cookie is `Secure`.",
    ),
    setting(
        "http.request_timeout_s",
        "30",
        "Seconds a request may take before it is answered 408, and seconds an answer waits for a client that does not read it before the connection is closed.",
    ),
    setting(
        "http.drain_s",
        "5",
        "Seconds between SIGTERM and the end of service: readiness says 503, everything still works. At least the interval of your load balancer's health check.",
    ),
    setting(
        "http.trusted_proxies",
        "none",
        "The proxies in front, as networks such as `10.0.7.4/32`; in the environment separated by commas. Only they are believed when they say where a request came from, so name the proxies alone: whoever else is in such a network can say any address.",
    ),
    setting(
        "http.client_ip_header",
        "none",
        "The header in which they say it: `x-forwarded-for`, `forwarded`, or one of your own. Read from the right; the first address that is not a trusted proxy is the client.",
    ),
    setting(
        "postgres.url",
        "postgres://watchbell@127.0.0.1/watchbell",
        "Where PostgreSQL is. Secret: prefer `WATCHBELL__POSTGRES__URL_FILE`.",
    ),
    setting(
        "postgres.connections_max",
        "20",
        "Connections per process, the writers' own not counted (one for each partition and log).",
    ),
    setting(
        "journal.url",
        "nats://127.0.0.1:4222",
        "One or more NATS servers, separated by commas. Server 2.12 or later, JetStream on, `sync_interval: always`. Secret if it carries a password.",
    ),
    setting(
        "journal.namespace",
        "watchbell",
        "Prefix of every stream and subject, so that deployments can share a server.",
    ),
    setting(
        "journal.partitions",
        "8",
        "How many logs events are spread over. Chosen at installation; never changes afterwards.",
    ),
    setting(
        "journal.replicas",
        "1",
        "Copies of each stream: 1, or 3 or 5 on a cluster.",
    ),
    setting(
        "journal.events_bytes_max",
        "none",
        "Bytes that the logs of events may hold, all together; each partition has an equal share. Above 90 % of it the organisations that sent most are answered 429; those of a partition that is full 503, until what is older than 7 days is gone. Nothing is dropped. NATS sets as much of its `max_file_store` aside, so this must be less. Once set it can be changed, but not lifted by leaving it out.",
    ),
    setting(
        "journal.monitor_url",
        "none",
        "The NATS server's monitoring address. With it, the start and `watchbell doctor` say whether an acknowledged event survives a power cut.",
    ),
    setting(
        "redis.url",
        "none",
        "Where Redis 7 or Valkey is, which holds the rate-limit windows that nodes share; dedicated, and never evicting (`maxmemory-policy noeviction`). Without it each process counts by itself. Secret if it carries a password.",
    ),
    setting(
        "redis.timeout_ms",
        "30",
        "Milliseconds one check of a limit waits for Redis; then the node decides by what it admitted itself. Longer keeps limits exact on a machine that is very busy, and costs requests that time when Redis hangs.",
    ),
    setting(
        "limits.ingest",
        "600/60s",
        "Requests to `POST /v1/audit/events` per API key, as COUNT/WINDOW; a batch counts one. The windows roll: in no minute, wherever it begins, are more admitted. This and the next seven are the contract's, and nothing else counts in them.",
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
        "Alert rules created and changed, together, per API key or person.",
    ),
    setting(
        "limits.login",
        "10/15m",
        "Attempts to log in per client address.",
    ),
    setting(
        "limits.register",
        "3/1h",
        "Registrations per client address.",
    ),
    setting(
        "limits.password_reset",
        "3/1h",
        "Requests for a password reset per client address.",
    ),
    setting(
        "limits.confirm",
        "30/15m",
        "Uses of the links in mails (verify, reset, accept) per client address.",
    ),
    setting(
        "limits.key_lookups",
        "6000/60s",
        "API keys and sessions presented that nobody knows, per client address, on each node by itself: bounds what inventing them costs. Keys and sessions that work count for nothing.",
    ),
    setting(
        "limits.invitations",
        "50/24h",
        "Invitations made per organisation, those counted too that were revoked or replaced since.",
    ),
    setting(
        "limits.refused_logins",
        "20/1h",
        "Refused logins of one account that its organisation's trail tells of; the next are not told. It refuses nobody.",
    ),
    setting(
        "limits.login_elsewhere",
        "60/1h",
        "Logins to one account from all browsers together that nobody was let in with before. One that is known, by a cookie, has as many of its own.",
    ),
    setting(
        "limits.password_changes",
        "10/15m",
        "Changes of one's own password and requests to delete the organisation, and so tries of the password, together per person.",
    ),
    setting(
        "limits.mails",
        "10/24h",
        "Mails of one kind (registrations, new passwords, invitations, deletions of the organisation, troubles of endpoints) to one address, for all organisations together. Those beyond it are dropped and counted, and whoever asked is answered as ever.",
    ),
    setting(
        "limits.key_writes",
        "60/60s",
        "API keys made and rotated per person.",
    ),
    setting(
        "limits.rule_tries",
        "20/60s",
        "Alert rules tried (`test`, `suggest`, `backtest` and `trigger`) and endpoints asked for their challenge (`verify`), together, per API key or person.",
    ),
    setting(
        "limits.rule_previews",
        "120/60s",
        "Alert rules tried on the newest events (`preview`), per API key or person.",
    ),
    setting(
        "limits.policy_writes",
        "20/60s",
        "Changes of policies (versions written, activated, rolled back, watched, settings), together, per API key or person.",
    ),
    setting(
        "limits.policy_tries",
        "20/60s",
        "Policies tried (`validate`, `test`, `diff`, `backtest` and the report of a shadow), together, per API key or person.",
    ),
    setting(
        "limits.streams",
        "120/60s",
        "Streams opened, of events and of what waits for approval, together, per API key or person.",
    ),
    setting(
        "limits.stats",
        "120/60s",
        "Requests to `GET /v1/audit/stats`, `GET /v1/audit/facets` and `GET /v1/overview`, together, per API key or person.",
    ),
    setting(
        "limits.evaluations",
        "5000/60s",
        "Requests to `POST /access/v1/evaluation` and `/evaluations`, together, per API key; a batch counts one.",
    ),
    setting(
        "limits.hook_decisions",
        "5000/60s",
        "Requests to `POST /v1/hooks/claude-code/pre-tool-use` per API key.",
    ),
    setting(
        "limits.hook_events",
        "600/60s",
        "Requests to `POST /v1/hooks/claude-code/post-tool-use` per API key.",
    ),
    setting(
        "limits.reads",
        "600/60s",
        "Whatever is read and has no limit of its own, together, per API key or person.",
    ),
    setting(
        "limits.writes",
        "120/60s",
        "Whatever is changed and has no limit of its own, together, per API key or person.",
    ),
    setting(
        "limits.public",
        "6000/60s",
        "What anybody may ask (`/v1/about`, the API document, links to files, logging out), together, per client address and node.",
    ),
    setting(
        "events.retention_days",
        "183",
        "How many days events are kept, by when they occurred. An event that is older is refused; a day that is older is dropped whole.",
    ),
    setting(
        "events.bytes_per_minute_max",
        "1073741824",
        "Bytes of events and questions that one organisation may send to one process in a minute, unpacked. Beyond it a request is refused (429) and told when to come again.",
    ),
    setting(
        "events.bytes_per_day_max",
        "107374182400",
        "The same for a day. A process begins anew when it starts.",
    ),
    setting(
        "alerts.rules_per_org_max",
        "500",
        "How many alert rules an organisation may have, 1 to 10000. Every process that matches holds all of them in memory.",
    ),
    setting(
        "policies.versions_per_org_max",
        "1000",
        "How many versions of its policies an organisation may have, 1 to 100000, the starter counted. None is ever deleted: decisions name the version that made them.",
    ),
    setting(
        "delivery.signing_secret",
        "none",
        "What the initial secret of each organisation is derived from, with which its webhooks are signed until it promotes one that it staged; without it the signature header is absent. Secret: prefer `WATCHBELL__DELIVERY__SIGNING_SECRET_FILE`.",
    ),
    setting(
        "delivery.previous_signing_secret",
        "none",
        "What `delivery.signing_secret` was before. While it is set, webhooks carry its signature too (`X-Service-Signature-Previous`), so that receivers can be changed over one by one. Secret: prefer `WATCHBELL__DELIVERY__PREVIOUS_SIGNING_SECRET_FILE`.",
    ),
    setting(
        "delivery.shared_signing_secret",
        "none",
        "A secret that signs for all organisations as it is, in place of their initial ones: what `delivery.signing_secret` was before there were initial secrets, while receivers are changed over. Whoever knows it can make what another organisation's receiver verifies. Secret: prefer `WATCHBELL__DELIVERY__SHARED_SIGNING_SECRET_FILE`.",
    ),
    setting(
        "delivery.allow_http",
        "false",
        "Whether endpoints may be plain http.",
    ),
    setting(
        "delivery.allow_cidrs",
        "none",
        "Networks webhooks may be sent to although they are not public, such as `10.1.0.0/16`; in the environment separated by commas.",
    ),
    setting(
        "delivery.nameservers",
        "none",
        "The name servers that endpoints are looked up with, such as `10.0.0.2:53`; in the environment separated by commas. Without them: those of this machine (`/etc/resolv.conf`). Its hosts file and search domains are never used. Public resolvers are best, or others that know no internal names: what becomes of a webhook tells whoever made the rule whether a name exists.",
    ),
    setting(
        "delivery.concurrency",
        "1024",
        "Sends one process has in flight at most.",
    ),
    setting(
        "delivery.endpoint_concurrency",
        "8",
        "Sends one process has in flight to one endpoint at most, 1 to 64. Fewer while the endpoint is slow or asks for a slower pace.",
    ),
    setting(
        "delivery.concurrency_per_host",
        "64",
        "Sends of one organisation that one process has in flight to one host (name and port) at most, however many URLs it has there; all organisations together have four times as many. Enough for eight endpoints at their own bound, and what a small web server takes without noticing.",
    ),
    setting(
        "delivery.endpoint_ownership",
        "optional",
        "`required`: nothing is sent to an endpoint until its receiver has answered a challenge, for each organisation that names it; deliveries wait meanwhile. `optional`: nobody is asked. The same on every node; set `required` when all of them run a version that knows it.",
    ),
    setting(
        "delivery.retention_days",
        "30",
        "How many days deliveries and their attempts can be looked at.",
    ),
    setting(
        "secrets.key",
        "none",
        "Seals the signing secrets of organisations, which are kept in PostgreSQL and the journal: 32 random bytes in base64 (`openssl rand -base64 32`), the same on every node. Without it organisations cannot have secrets of their own. If it is lost, so are they. Secret: prefer `WATCHBELL__SECRETS__KEY_FILE`.",
    ),
    setting(
        "secrets.previous_key",
        "none",
        "What `secrets.key` was before: opens what was sealed by it, and seals nothing. Secret: prefer `WATCHBELL__SECRETS__PREVIOUS_KEY_FILE`.",
    ),
    setting(
        "accounts.registration",
        "open",
        "`open`: anybody may register an organisation. `closed`: only `watchbell admin create-org` makes one, and people join by invitation.",
    ),
    setting(
        "accounts.deletion_delay_days",
        "7",
        "Days between an owner's request to delete the organisation and its deletion, within which any owner can cancel it. 0: at once.",
    ),
    setting(
        "accounts.operators",
        "none",
        "The addresses of people who run this deployment; in the environment separated by commas. They see the system page (`GET /v1/system`), which tells of all organisations. Without a mail server nobody proves that an address is theirs: then nobody can register or be invited under it, and `watchbell admin create-org` makes their account.",
    ),
    setting(
        "console.enabled",
        "true",
        "Whether nodes of the role `api` serve the console, on every path that is not the API's.",
    ),
    setting(
        "console.receiver_url",
        "none",
        "A receiver of webhooks that the console offers for trying out. `watchbell dev` sets its own.",
    ),
    setting(
        "mail.smtp_url",
        "none",
        "The mail server: `smtps://user:password@host`, `smtp://user:password@host:587?tls=required` (STARTTLS), or `smtp://host:25` in clear. Without it nobody gets mail: registering makes the account at once, and `watchbell admin reset-link` stands in for the mail. Secret: prefer `WATCHBELL__MAIL__SMTP_URL_FILE`.",
    ),
    setting(
        "mail.from",
        "Watchbell <watchbell@localhost>",
        "Who mails come from.",
    ),
    setting(
        "files.url",
        "none",
        "Where files are kept: `file:///folder`, which every node must share, or `s3://bucket/prefix`. Exports asked for with `async` are below `exports/`, days of the trail below `archive/`. Without it there is neither.",
    ),
    setting(
        "files.s3_endpoint",
        "none",
        "The address of an S3-compatible server that is not Amazon's, such as `https://minio.internal:9000`.",
    ),
    setting(
        "files.s3_region",
        "none",
        "The bucket's region; `us-east-1` unless set.",
    ),
    setting(
        "files.s3_access_key_id",
        "none",
        "Without it and the next, the machine's own role is used (instance metadata).",
    ),
    setting(
        "files.s3_secret_access_key",
        "none",
        "Secret: prefer `WATCHBELL__FILES__S3_SECRET_ACCESS_KEY_FILE`.",
    ),
    setting(
        "files.archive_days",
        "false",
        "Whether days that are older than `events.retention_days` are written to files, which exports read, before they leave the database.",
    ),
    setting(
        "files.export_events_max",
        "500000",
        "Events after which a file of an export that is made in the background ends and the next begins; what is lost when a node dies is the file it was writing.",
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
         `watchbell serve --config FILE` reads a TOML file; the environment is read over it. The setting \
         `section.key` is `key` under `[section]` in the file and `WATCHBELL__SECTION__KEY` in the \
         environment. `WATCHBELL__SECTION__KEY_FILE` names a file that holds the value, so that secrets \
         stay out of the environment. An unknown key is an error.\n\n\
         Traces are configured by the standard `OTEL_*` variables: they are sent by OTLP over HTTP when \
         `OTEL_EXPORTER_OTLP_ENDPOINT` is set.\n\n\
         | setting | default | what it does |\n|---|---|---|\n",
    );
    for Setting {
        key,
        default,
        about,
    } in SETTINGS
    {
        let default = default_cell(default);
        page.extend([
            "| `", key, "` | ", &default, " | ", about, " |
",
        ]);
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
