//! A deployment for one test: its own database and journal namespace, real processes, one customer.

use std::path::Path;
use std::time::Duration;

use domain::partition::Partitions;
use engines::Postgres;
use journal::{Journal, Options};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use testkit::{Clock, Database, Own, Watchbell, eventually, namespace, own, shared};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_watchbell");
pub(crate) const SECRET: &str = "whsec_dGhpcyBpcyBhIHNlY3JldCBmb3IgdGVzdHMgb25seSE=";
/// What organizations' own secrets are derived from.
pub(crate) const ROOT_SECRET: &str = "whsec_YSByb290IGZvciB0ZXN0cywga25vd24gdG8gbm9ib2R5ISE=";
/// Long enough for a loaded machine; a test that waits this long has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The settings of the limits of spec section 8, and of our own.
pub(crate) const LIMITS: [&str; 26] = [
    "LIMITS__INGEST",
    "LIMITS__LIST",
    "LIMITS__EXPORT",
    "LIMITS__DECISIONS",
    "LIMITS__RULE_WRITES",
    "LIMITS__LOGIN",
    "LIMITS__REGISTER",
    "LIMITS__PASSWORD_RESET",
    "LIMITS__CONFIRM",
    "LIMITS__KEY_LOOKUPS",
    "LIMITS__INVITATIONS",
    "LIMITS__LOGIN_ELSEWHERE",
    "LIMITS__PASSWORD_CHANGES",
    "LIMITS__MAILS",
    "LIMITS__KEY_WRITES",
    "LIMITS__RULE_TRIES",
    "LIMITS__POLICY_WRITES",
    "LIMITS__POLICY_TRIES",
    "LIMITS__STREAMS",
    "LIMITS__STATS",
    "LIMITS__EVALUATIONS",
    "LIMITS__HOOK_DECISIONS",
    "LIMITS__HOOK_EVENTS",
    "LIMITS__READS",
    "LIMITS__WRITES",
    "LIMITS__PUBLIC",
];

/// What a deployment is made of before any process runs.
pub(crate) struct Deployment {
    variables: Vec<(String, String)>,
    /// Dropped with the deployment; `None` if PostgreSQL is the test's own.
    database: Option<Database>,
}

/// A customer of a deployment: an organization's key and the address to call.
#[derive(Clone)]
pub(crate) struct Customer {
    pub(crate) http: Client,
    pub(crate) base_url: String,
    pub(crate) api_key: String,
}

impl Deployment {
    /// On the engines all tests share.
    pub(crate) fn new() -> Self {
        Self::on_journal(&shared().nats_url)
    }

    /// On a journal of the test's own and the PostgreSQL all tests share.
    pub(crate) fn on_journal(nats_url: &str) -> Self {
        let database = Database::from_template("watchbell", migrate).expect("a database");
        let deployment = Self::on(database.url(), nats_url);
        Self {
            database: Some(database),
            ..deployment
        }
    }

    /// On a PostgreSQL of the test's own, which it may stop, and the journal all tests share.
    pub(crate) fn on_own_postgres() -> (Own<Postgres>, Self) {
        let postgres = own::postgres().expect("PostgreSQL");
        let url = postgres.ensure_database("watchbell").expect("a database");
        migrate(&url).expect("a migrated database");
        let deployment = Self::on(&url, &shared().nats_url);
        (postgres, deployment)
    }

    /// On engines of the test's own. The database must be migrated by [`migrate`].
    pub(crate) fn on(postgres_url: &str, nats_url: &str) -> Self {
        let namespace = namespace();
        let variables = [
            ("HTTP__LISTEN", "127.0.0.1:0"),
            ("HTTP__DRAIN_S", "0"),
            ("POSTGRES__URL", postgres_url),
            ("JOURNAL__URL", nats_url),
            ("JOURNAL__NAMESPACE", &namespace),
            // Enough to show that partitions work; each costs streams and tasks.
            ("JOURNAL__PARTITIONS", "2"),
            ("DELIVERY__SIGNING_SECRET", ROOT_SECRET),
            // A test knows the secret before it has an organization. What `watchbell dev` shows has one for each.
            ("DELIVERY__SHARED_SIGNING_SECRET", SECRET),
            ("DELIVERY__ALLOW_HTTP", "true"),
            ("DELIVERY__ALLOW_CIDRS", "127.0.0.0/8"),
            // On a machine that runs many tests at once an answer may take longer than in production.
            ("REDIS__TIMEOUT_MS", "5000"),
            ("LOG__FILTER", "info"),
        ];
        // A test that is not about limits never meets one.
        let unlimited = LIMITS.map(|limit| (limit, "100000/1m"));
        let named =
            |(name, value): &(&str, &str)| (format!("WATCHBELL__{name}"), (*value).to_owned());
        Self {
            variables: variables.iter().chain(&unlimited).map(named).collect(),
            database: None,
        }
    }

    /// Changes a setting: `.with("DELIVERY__CONCURRENCY", "1")`.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    /// The same for processes that start from now on.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        let name = format!("WATCHBELL__{name}");
        self.variables.retain(|(existing, _)| *existing != name);
        self.variables.push((name, value.to_owned()));
    }

    /// Leaves a setting out.
    pub(crate) fn without(mut self, name: &str) -> Self {
        let name = format!("WATCHBELL__{name}");
        self.variables.retain(|(existing, _)| *existing != name);
        self
    }

    pub(crate) fn setting(&self, name: &str) -> String {
        let name = format!("WATCHBELL__{name}");
        let found = self.variables().find(|(key, _)| *key == name);
        found.expect("a setting").1.to_owned()
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Runs SQL in the deployment's database: to look behind the curtain, or to let time pass.
    pub(crate) fn sql(&self, sql: &str) -> String {
        let database = self.database.as_ref().expect("on the shared PostgreSQL");
        database.query(sql).expect("the query runs")
    }

    /// The deployment's journal, for a test that writes or reads what no client can.
    pub(crate) async fn journal(&self) -> Journal {
        let setting = |name: &str| self.setting(&format!("JOURNAL__{name}"));
        let partitions = setting("PARTITIONS").parse().expect("a number");
        let options = Options {
            url: setting("URL"),
            namespace: setting("NAMESPACE"),
            partitions: Partitions::new(partitions).expect("in range"),
            replicas: 1,
            events_bytes_max: None,
        };
        Journal::connect(&options).await.expect("NATS runs")
    }

    /// How many messages the queue of deliveries took so far, and how many of them are left; as NATS tells whoever
    /// monitors it.
    pub(crate) async fn queue(&self, nats_monitor_url: &str) -> (u64, u64) {
        let (_, namespace) = self
            .variables()
            .find(|(name, _)| *name == "WATCHBELL__JOURNAL__NAMESPACE")
            .expect("a namespace");
        let url = format!("{nats_monitor_url}/jsz?accounts=true&streams=true");
        let told = ok(http().get(url).send().await.expect("an answer")).await;
        let accounts = told["account_details"].as_array().expect("accounts");
        let streams = accounts
            .iter()
            .filter_map(|it| it["stream_detail"].as_array());
        let prefix = format!("{namespace}_DELIVERIES_");
        let queues = streams.flatten().filter(|stream| {
            stream["name"]
                .as_str()
                .is_some_and(|it| it.starts_with(&prefix))
        });
        queues.fold((0, 0), |(taken, left), queue| {
            let number = |what: &str| queue["state"][what].as_u64().expect("a number");
            (taken + number("last_seq"), left + number("messages"))
        })
    }

    /// Waits until nothing is left in the queue: whatever was in it was sent or thrown away.
    pub(crate) async fn queue_is_empty(&self) {
        eventually(DEADLINE, "the queue is empty", async || {
            match self.queue(&shared().nats_monitor_url).await {
                (_, 0) => Ok(()),
                (_, left) => Err(format!("{left} messages are left")),
            }
        })
        .await;
    }

    /// Any command of the binary, with this deployment's settings.
    pub(crate) fn command(&self, arguments: &[&str]) -> Watchbell {
        Watchbell::spawn(Path::new(BINARY), arguments, self.variables()).expect("watchbell starts")
    }

    /// A process in these roles (`"api,index"`), listening.
    pub(crate) fn serve(&self, roles: &str) -> Watchbell {
        let mut process = self.command(&["serve", "--role", roles]);
        process.address(DEADLINE);
        process
    }

    /// A process in these roles with a clock of its own.
    pub(crate) fn serve_by(&self, clock: &Clock, roles: &str) -> Watchbell {
        let clock = clock.variables();
        let clock = clock.iter().map(|(name, value)| (&**name, &**value));
        let variables = self.variables().chain(clock);
        let arguments = ["serve", "--role", roles];
        let process = Watchbell::spawn(Path::new(BINARY), &arguments, variables);
        let mut process = process.expect("watchbell starts");
        process.address(DEADLINE);
        process
    }

    /// A process in all roles.
    pub(crate) fn serve_all(&self) -> Watchbell {
        self.serve("api,index,match,deliver")
    }

    /// Founds an organization that calls `api`.
    pub(crate) fn customer(&self, api: &mut Watchbell) -> Customer {
        let email = format!("{}@example.com", namespace());
        let mut command =
            self.command(&["admin", "create-org", "--name", "Test", "--email", &email]);
        let line = command.wait_for_line(DEADLINE, |line| line.contains("api_key"));
        assert!(command.wait_until_ended(DEADLINE).success());
        let founded: Value = serde_json::from_str(&line).expect("JSON");
        let api_key = founded["api_key"].as_str().expect("a key").to_owned();
        Customer {
            http: http(),
            base_url: api.url(DEADLINE),
            api_key,
        }
    }
}

/// A deployment with one process in all roles and one customer, which is what most tests need.
pub(crate) struct Running {
    // In this order: the process ends before its database goes.
    pub(crate) server: Watchbell,
    pub(crate) customer: Customer,
    pub(crate) deployment: Deployment,
}

impl Running {
    pub(crate) fn start(deployment: Deployment) -> Self {
        let mut server = deployment.serve_all();
        let customer = deployment.customer(&mut server);
        Self {
            server,
            customer,
            deployment,
        }
    }
}

/// Brings an empty database up to date, by the command an operator uses.
pub(crate) fn migrate(postgres_url: &str) -> anyhow::Result<()> {
    let variables = [("WATCHBELL__POSTGRES__URL", postgres_url)];
    let mut command = Watchbell::spawn(Path::new(BINARY), &["migrate"], variables)?;
    anyhow::ensure!(
        command.wait_until_ended(DEADLINE).success(),
        "watchbell migrate failed"
    );
    Ok(())
}

/// A client that waits as long as a patient customer would: 10 s.
pub(crate) fn http() -> Client {
    Client::builder()
        .timeout(Duration::from_secs(10))
        .no_proxy()
        .build()
        .expect("a client")
}

impl Customer {
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base_url))
            .bearer_auth(&self.api_key)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path)
            .send()
            .await
            .expect("an answer")
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.request(Method::POST, path)
            .json(body)
            .send()
            .await
            .expect("an answer")
    }

    pub(crate) async fn get_json(&self, path: &str) -> Value {
        ok(self.get(path).await).await
    }

    /// Posts one event and returns its id.
    pub(crate) async fn ingest(&self, event: &Value) -> String {
        let answer = ok(self.post("/v1/audit/events", event).await).await;
        answer["events"][0]["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    }

    /// Makes a rule for what a test sends, and returns its id. What becomes of rules and
    /// deliveries is an event too.
    pub(crate) async fn rule(&self, pattern: Value, url: &str) -> String {
        let except =
            json!([{"event_type": ["rule_change", "delivery_failure", "endpoint_change"]}]);
        let body = json!({"name": "Test rule", "match": pattern, "except": except, "url": url});
        self.make_rule(&body).await
    }

    /// Makes a rule that is written out, and returns its id.
    pub(crate) async fn make_rule(&self, rule: &Value) -> String {
        let made = ok(self.post("/v1/alert-rules", rule).await).await;
        made["id"].as_str().expect("an id").to_owned()
    }

    /// Changes some fields, and returns what they are fields of.
    pub(crate) async fn patch(&self, path: &str, fields: &Value) -> Value {
        let request = self.request(Method::PATCH, path).json(fields);
        ok(request.send().await.expect("an answer")).await
    }

    pub(crate) async fn delete(&self, path: &str) {
        let request = self.request(Method::DELETE, path);
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    }

    /// A request that has a name, and so may be sent again.
    pub(crate) fn named(&self, path: &str, name: &str, body: &Value) -> RequestBuilder {
        let request = self.request(Method::POST, path);
        request.header("Idempotency-Key", name).json(body)
    }

    /// Every event of the organization, newest first, page by page, but for those that say that a rule was
    /// changed: they are ours.
    pub(crate) async fn all_events(&self) -> Vec<Value> {
        let mut events = self.all("/v1/audit/events").await;
        events.retain(|event| event["event_type"] != "rule_change");
        events
    }

    /// The ids of every event of the organization, sorted.
    pub(crate) async fn listed_ids(&self) -> Vec<String> {
        let events = self.all_events().await;
        let ids = events.iter().map(|event| event["id"].as_str());
        let mut ids: Vec<String> = ids.map(|id| id.expect("an id").to_owned()).collect();
        ids.sort_unstable();
        ids
    }

    /// Every delivery of the organization, newest event first, page by page.
    pub(crate) async fn all_deliveries(&self) -> Vec<Value> {
        self.all("/v1/deliveries").await
    }

    pub(crate) async fn all(&self, list: &str) -> Vec<Value> {
        let mut rows = Vec::new();
        let mut path = format!("{list}?limit=1000");
        loop {
            let page = self.get_json(&path).await;
            rows.extend(page["data"].as_array().expect("data").iter().cloned());
            match page["next_cursor"].as_str() {
                Some(cursor) => path = format!("{list}?limit=1000&cursor={cursor}"),
                None => return rows,
            }
        }
    }

    /// The same customer, calling another process.
    pub(crate) fn at(&self, api: &mut Watchbell) -> Self {
        Self {
            base_url: api.url(DEADLINE),
            ..self.clone()
        }
    }

    /// The delivery once it is in `state`.
    pub(crate) async fn delivery_in_state(&self, id: &str, state: &str) -> Value {
        let what = format!("{id} is {state}");
        eventually(DEADLINE, &what, async || {
            let response = self.get(&format!("/v1/deliveries/{id}")).await;
            let body: Value = response.json().await.ok()?;
            (body["state"] == state).then_some(body)
        })
        .await
    }
}

/// The body of an answer that must be a success.
pub(crate) async fn ok(response: Response) -> Value {
    let (status, text) = (response.status(), response.text().await.expect("a body"));
    assert!(status.is_success(), "{status}: {text}");
    serde_json::from_str(&text).expect("JSON")
}

/// The answer to a request that has a name, and whether it says that the request came before.
pub(crate) async fn answered(request: RequestBuilder) -> (Value, bool) {
    let response = request.send().await.expect("an answer");
    let replayed = response.headers().get("idempotency-replayed").cloned();
    let is_replayed = replayed.is_some_and(|value| value == "true");
    (ok(response).await, is_replayed)
}

/// A denied tool call, told from others by its agent.
pub(crate) fn event(agent: &str) -> Value {
    json!({"event_type": "tool_call", "agent_id": agent, "action": "files.delete", "result": "denied"})
}
