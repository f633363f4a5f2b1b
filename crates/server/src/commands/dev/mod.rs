//! `watchbell dev`: from nothing to a verified webhook in one command.
//!
//! Starts private engines in a folder, the server in all roles, and a receiver that verifies what it
//! gets; makes a demo organization with a key and a rule that points at the receiver; then says what
//! to paste next and shows each webhook as it arrives. With `--demo` the organization has a past.

mod demo;
mod receiver;
mod setup;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::Context as _;
use clap::Args;
use engines::{Engines, Redis};
use tokio::{net::TcpListener, task::block_in_place};

use self::{
    demo::{Decider, Filling},
    receiver::Receiver,
    setup::Demo,
};
use super::say;
use crate::{
    config::{self, Config, Delivery, LogFormat, PublicUrl, Role},
    lifecycle::{Signals, Tasks},
    node::{self, Node},
    roles::{self, Listeners},
    system_clock,
    telemetry::{
        logs::{self, Telemetry},
        metrics,
    },
};

/// Where it serves if the port is free.
const PREFERRED_PORT: u16 = 8080;

#[derive(Debug, Args)]
pub(super) struct Dev {
    /// Keep the data in this folder. Without it, all data is deleted when the command stops.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print one line of JSON when ready, and nothing else on standard output.
    #[arg(long)]
    json: bool,
    /// Fill the demo organization with a day of sample data: this many events, plus decisions, rules and deliveries.
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u32).range(1..=i64::from(demo::EVENTS_MAX)))]
    demo: Option<u32>,
    /// List the PostgreSQL, NATS and Redis that would be used, and stop. `WATCHBELL_ENGINES` names folders to look in
    /// first, separated as in `PATH`.
    #[arg(long, conflicts_with_all = ["data_dir", "json", "demo"])]
    engines: bool,
}

impl Dev {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        if self.engines {
            setup::list_engines();
            return Ok(());
        }
        let signals = Signals::listen()?;
        let folder = setup::Folder::open(self.data_dir.as_deref())?;
        let mut engines = block_in_place(|| setup::start_engines(folder.path()))?;
        let outcome = self.serve(&folder, &engines, signals).await;
        block_in_place(|| engines.stop_all());
        outcome
    }

    async fn serve(
        &self,
        folder: &setup::Folder,
        engines: &Engines,
        mut signals: Signals,
    ) -> anyhow::Result<()> {
        let tasks = Tasks::default();
        let _telemetry = tokio::select! {
            started = self.start(folder, engines, &tasks) => started?,
            () = signals.next() => return Ok(()),
        };
        tasks.run_to_the_end(signals, Duration::ZERO).await
    }

    async fn start(
        &self,
        folder: &setup::Folder,
        engines: &Engines,
        tasks: &Tasks,
    ) -> anyhow::Result<Telemetry> {
        let mut demo = Demo::load(folder)?;
        let mut config = config(engines, &demo)?;
        config.files.url = Some(format!("file://{}", folder.path().join("files").display()));
        let listener = listen(PREFERRED_PORT).await?;
        config.http.public_url = PublicUrl::parse(&format!("http://{}", listener.local_addr()?))?;
        let telemetry = logs::start(&config.log)?;
        let metrics = metrics::start()?;

        let store = node::open_store_for_command(&config)?;
        store.migrate().await.with_context(|| {
            let path = folder.path().display();
            format!("migrate the database in {path}; if you do not need it, delete it or choose another --data-dir")
        })?;
        let secret = demo.found(&store, &config).await?;
        let deployment = config.delivery.deployment_keys();
        let mut receiver = Receiver::start(demo.receiver_port, &store, deployment, tasks).await?;
        config.console.receiver_url = Some(receiver.url());
        config.accounts.operators = vec![Demo::EMAIL.to_owned()];
        let mut node = Node::connect(&config, system_clock::SYSTEM).await?;
        node.keep_transparency_log().await;
        demo.receiver_port = Some(receiver.address.port());
        let listeners = Listeners {
            public: listener,
            admin: None,
        };
        let address = roles::start(&Role::ALL, &node, listeners, metrics, tasks)?;
        let process = demo::Process {
            node: &node,
            config: &config,
            tasks,
        };
        self.fill(&mut demo, folder, address, &mut receiver, &process)
            .await?;
        demo.save(folder)?;

        self.announce(&demo, &secret, address, &receiver, engines);
        let watching = tasks.stopping().clone();
        let (json, shown) = (self.json, receiver.arrivals);
        tasks.spawn("show webhooks", async move {
            receiver::show(shown, watching, json).await;
            Ok(())
        });
        Ok(telemetry)
    }

    /// Makes the demo rule, and everything else if that is asked for and not there yet.
    async fn fill(
        &self,
        demo: &mut Demo,
        folder: &setup::Folder,
        address: SocketAddr,
        receiver: &mut Receiver,
        process: &demo::Process<'_>,
    ) -> anyhow::Result<()> {
        let Some(events) = self.demo.filter(|_| !demo.filled) else {
            return demo.make_rule(address, &receiver.url()).await;
        };
        let (email, password) = (&demo.user_email, &demo.user_password);
        let client = demo::Client::log_in(address, &demo.api_key, email, password).await?;
        let decider = Decider::new(process, &client).await?;
        let filling = Filling::new(events, system_clock::SYSTEM.now());
        // Before it is begun: half a story is not told again over itself.
        demo.filled = true;
        demo.save(folder)?;
        let past = filling.past(&client, &decider).await;
        past.context("fill the trail")?;
        demo.make_rule(address, &receiver.url()).await?;
        let made = filling.present(&client, &decider, &receiver.url()).await;
        made.context("fill the demo organization")?;
        receiver.forget_what_arrived();
        Ok(())
    }

    fn announce(
        &self,
        demo: &Demo,
        secret: &str,
        address: SocketAddr,
        receiver: &Receiver,
        engines: &Engines,
    ) {
        let base_url = format!("http://{address}");
        if self.json {
            say(serde_json::json!({
                "base_url": base_url,
                "api_key": demo.api_key,
                "signing_secret": secret,
                "receiver_url": receiver.url(),
                "postgres_url": engines.postgres.url(),
                "nats_url": engines.nats.url(),
                "redis_url": engines.redis.as_ref().map(Redis::url),
                "user_email": demo.user_email,
                "user_password": demo.user_password,
            }));
            return;
        }
        say(format_args!(
            r#"Watchbell is running.

  console         {base_url}  {email} / {password}
  API             {base_url}
  API key         {key}
  signing secret  {secret}
  receiver        {receiver} (built in; verifies every signature)
  data            {data}

A demo rule watches for denied tool calls. Paste this into another terminal:

  curl -sS {base_url}/v1/audit/events \
    -H 'Authorization: Bearer {key}' \
    -H 'Content-Type: application/json' \
    -d '{{"event_type":"tool_call","agent_id":"demo-agent","action":"files.delete","result":"denied"}}'

Or use the command line. Paste these three lines first:

  export WATCHBELL_URL={base_url}
  export WATCHBELL_API_KEY={key}
  export WATCHBELL_SIGNING_SECRET={secret}

  watchbell events send --type tool_call --agent demo-agent --action files.delete --result denied

Webhooks appear below. Press Ctrl-C to stop everything.
"#,
            key = demo.api_key,
            receiver = receiver.url(),
            email = demo.user_email,
            password = demo.user_password,
            data = self.data_dir.as_ref().map_or_else(
                || "a temporary folder, removed when this stops (keep it with --data-dir DIR)"
                    .to_owned(),
                |folder| folder.display().to_string()
            ),
        ));
    }
}

/// Development settings: loopback http endpoints are allowed, other private addresses are not.
fn config(engines: &Engines, demo: &Demo) -> anyhow::Result<Config> {
    // Of a deployment's settings only the limits count here: everything else is this folder's own.
    let mut config = Config {
        limits: config::load(None)?.limits,
        ..Config::default()
    };
    config.postgres.url = engines.postgres.url().into();
    config.journal.url = engines.nats.url().into();
    config.redis.url = engines.redis.as_ref().map(|redis| redis.url().into());
    config.journal.monitor_url = Some(engines.nats.monitor_url());
    config.delivery = Delivery {
        signing_secret: Some(demo.signing_secret.clone().into()),
        allow_http: true,
        allow_cidrs: vec!["127.0.0.0/8".parse()?, "::1/128".parse()?],
        ..Delivery::default()
    };
    config.secrets.key = Some(demo.secrets_key.clone().into());
    config.log.format = LogFormat::Text;
    config.log.filter = "warn".to_owned();
    Ok(config)
}

/// The preferred port, or any free one.
async fn listen(preferred: u16) -> anyhow::Result<TcpListener> {
    let on = |port| TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port)));
    match on(preferred).await {
        Ok(listener) => Ok(listener),
        Err(_) => on(0).await.context("find a free port"),
    }
}
