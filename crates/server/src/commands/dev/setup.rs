//! What `watchbell dev` needs before it can show anything: a folder, engines, a demo organization.

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::account::EmailAddress;
use engines::{Engine, Engines, Search, install};
use runtime::random;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Store;

use crate::{
    accounts::new_organization,
    commands::{note, say},
    config::{self, Config},
    node, system_clock,
};

/// Where the engines keep their data.
pub(super) enum Folder {
    Kept(PathBuf),
    /// Removed when dropped.
    Temporary(tempfile::TempDir),
}

impl Folder {
    pub(super) fn open(kept: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(path) = kept {
            fs::create_dir_all(path)
                .with_context(|| format!("create the folder {}", path.display()))?;
            return Ok(Self::Kept(path.canonicalize()?));
        }
        let folder = tempfile::Builder::new()
            .prefix("watchbell-dev-")
            .tempdir()
            .context("create a temporary folder")?;
        // PostgreSQL refuses to run as root; the user it runs as then must get through.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        Ok(Self::Temporary(folder))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }
}

/// Where engines are looked for.
fn search() -> Search {
    Search {
        named: config::standard_variable("WATCHBELL_ENGINES").unwrap_or_default(),
        path: config::search_path(),
        program: std::env::current_exe().ok(),
        home: config::home(),
        cache: config::standard_variable("XDG_CACHE_HOME").map(PathBuf::from),
        needs_redis: false,
    }
}

/// Says which engines there are, and where.
pub(super) fn list_engines() {
    let search = search();
    for engine in Engine::ALL {
        match search.find_one(engine) {
            Some(found) => say(format_args!(
                "{:<10} {:<10} {:<28} {}",
                engine.name(),
                found.version,
                found.place.to_string(),
                found.program.display()
            )),
            None => say(format_args!(
                "{:<10} missing    {engine}; {}",
                engine.name(),
                without(engine)
            )),
        }
    }
}

/// What `watchbell dev` does if this one is missing.
fn without(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres | Engine::Nats => "the next start installs it, or says how to",
        Engine::Redis => "limits are counted in memory",
    }
}

/// Installs what is missing, then starts them.
pub(super) fn start_engines(folder: &Path) -> anyhow::Result<Engines> {
    let found = install::ensure(&search(), |missing| {
        note(format_args!("watchbell dev: {missing}; installing"));
    })
    .context("get the engines")?;
    let password = engines::password::of(folder).context("create a password for the engines")?;
    let options = engines::Options::default().with_password(&password);
    Engines::start_with(folder, &found, &options).context("start the engines")
}

fn random_base64() -> String {
    STANDARD.encode(random::bytes::<32>())
}

/// The demo organization, kept beside the engines' data.
#[derive(Serialize, Deserialize)]
pub(super) struct Demo {
    /// The deployment's, from which the organization's is derived.
    pub signing_secret: String,
    /// Seals the signing secrets of organizations.
    pub secrets_key: String,
    pub receiver_port: Option<u16>,
    pub api_key: String,
    pub user_email: String,
    pub user_password: String,
    rule_made: bool,
    /// Whether `--demo` was here.
    pub filled: bool,
}

impl Demo {
    const FILE: &str = "demo.json";
    pub(super) const EMAIL: &str = "demo@example.com";

    /// The one this folder has, or a new one.
    pub(super) fn load(folder: &Folder) -> anyhow::Result<Self> {
        let path = folder.path().join(Self::FILE);
        match fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).with_context(|| format!("read {}", path.display()))
            }
            Err(_) => Ok(Self {
                signing_secret: format!("whsec_{}", random_base64()),
                secrets_key: random_base64(),
                receiver_port: None,
                api_key: String::new(),
                user_email: String::new(),
                user_password: String::new(),
                rule_made: false,
                filled: false,
            }),
        }
    }

    /// For the owner's eyes only: it holds the key.
    pub(super) fn save(&self, folder: &Folder) -> anyhow::Result<()> {
        let path = folder.path().join(Self::FILE);
        engines::password::write_private(&path, &serde_json::to_string_pretty(self)?)
    }

    /// Founds the organization, unless it is there. Returns the secret that its webhooks are signed with.
    pub(super) async fn found(&mut self, store: &Store, config: &Config) -> anyhow::Result<String> {
        let deployment = config.delivery.deployment_keys();
        if !self.api_key.is_empty() {
            let email = EmailAddress::parse(&self.user_email).context("read the demo's address")?;
            let person = store.credentials(&email).await?;
            let person = person.context("find the demo organization")?;
            let secret = deployment
                .initial(person.organization.org)
                .context("the demo has no signing secret")?;
            return Ok(secret.expose_secret().to_owned());
        }
        let journal = node::connect_journal(config).await?;
        let clock = system_clock::SYSTEM;
        let founded =
            new_organization::found(store, &journal, clock, &deployment, "Demo", Self::EMAIL)
                .await?;
        self.api_key = founded.api_key;
        self.user_email = founded.user_email;
        self.user_password = founded.user_password;
        founded
            .signing_secret
            .context("the demo has no signing secret")
    }

    /// Through the front door, like anybody.
    pub(super) async fn make_rule(
        &mut self,
        api: SocketAddr,
        receiver_url: &str,
    ) -> anyhow::Result<()> {
        if self.rule_made {
            return Ok(());
        }
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(10))
            .no_proxy()
            .build()?;
        let response = client
            .post(format!("http://{api}/v1/alert-rules"))
            .bearer_auth(&self.api_key)
            .json(&json!({
                "name": "Denied tool calls",
                "description": "Created by watchbell dev",
                "match": {"event_type": ["tool_call"], "result": ["denied"]},
                "url": receiver_url,
            }))
            .send()
            .await
            .context("create the demo rule")?;
        let status = response.status();
        ensure!(
            status.is_success(),
            "create the demo rule: {status} {}",
            response.text().await.unwrap_or_default()
        );
        self.rule_made = true;
        Ok(())
    }
}
