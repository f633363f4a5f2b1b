//! People for tests: a server with a mail server beside it, and those who register, log in and ask.

use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};
use testkit::{MailSink, Watchbell, namespace};

use crate::deployment::{Customer, DEADLINE, Deployment, http, ok};

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A deployment that sends its mail to a mail server of the test's own.
pub(crate) struct Town {
    // In this order: the process ends before its database goes.
    pub(crate) server: Watchbell,
    pub(crate) mail: MailSink,
    pub(crate) deployment: Deployment,
    pub(crate) base_url: String,
}

/// Somebody at their browser, logged in or not.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) http: Client,
    pub(crate) base_url: String,
    pub(crate) email: String,
    /// The session, `name=value`, as a browser sends it back.
    pub(crate) cookie: Option<String>,
    /// What the browser is known by, in the same form.
    pub(crate) mark: Option<String>,
}

impl Town {
    pub(crate) fn start() -> Self {
        Self::with(Deployment::new())
    }

    pub(crate) fn with(deployment: Deployment) -> Self {
        let mail = MailSink::start().expect("a mail server");
        let deployment = deployment
            .with("MAIL__SMTP_URL", &mail.url())
            .with("MAIL__FROM", "Watchbell <bell@example.com>");
        let mut server = deployment.serve("api");
        let base_url = server.url(DEADLINE);
        Self {
            server,
            mail,
            deployment,
            base_url,
        }
    }

    /// Somebody who has never been here, with an address of their own.
    pub(crate) fn stranger(&self) -> Person {
        Person::at(&self.base_url)
    }

    /// Somebody who registered an organization, opened the link and logged in: its owner.
    pub(crate) async fn owner(&self) -> Person {
        let mut person = self.stranger();
        assert_eq!(person.register().await.status(), StatusCode::ACCEPTED);
        let mail = self.mail.wait_for(&person.email, 1, DEADLINE).await;
        person.verify(&mail.token()).await;
        person.log_in(PASSWORD).await;
        person
    }

    /// Somebody who was invited by `by`, accepted and logged in.
    pub(crate) async fn invited(&self, by: &Person, role: &str) -> Person {
        let mut person = self.stranger();
        by.invite(&person.email, role).await;
        let mail = self.mail.wait_for(&person.email, 1, DEADLINE).await;
        let chosen = json!({"token": mail.token(), "password": PASSWORD});
        let accepted = person.post("/v1/auth/accept-invitation", &chosen).await;
        assert_eq!(accepted.status(), StatusCode::NO_CONTENT);
        person.log_in(PASSWORD).await;
        person
    }
}

impl Person {
    pub(crate) fn at(base_url: &str) -> Self {
        Self {
            http: http(),
            base_url: base_url.to_owned(),
            email: format!("{}@example.com", namespace()),
            cookie: None,
            mark: None,
        }
    }

    /// Somebody who registered and logged in where there is no mail server, and so no link to open.
    pub(crate) async fn founder(base_url: &str) -> Self {
        let mut person = Self::at(base_url);
        assert_eq!(person.register().await.status(), StatusCode::ACCEPTED);
        person.log_in(PASSWORD).await;
        person
    }

    /// Somebody whose organization was made by whoever runs the server, logged in.
    pub(crate) async fn made_by_command(
        deployment: &Deployment,
        base_url: &str,
        email: &str,
    ) -> Self {
        let arguments = ["admin", "create-org", "--name", "Acme", "--email", email];
        let mut command = deployment.command(&arguments);
        let line = command.wait_for_line(DEADLINE, |line| line.contains("user_password"));
        assert!(command.wait_until_ended(DEADLINE).success());
        let founded: Value = serde_json::from_str(&line).expect("JSON");
        let mut person = Self {
            email: email.to_owned(),
            ..Self::at(base_url)
        };
        let password = founded["user_password"].as_str().expect("a password");
        person.log_in(password).await;
        person
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self
            .http
            .request(method, format!("{}{path}", self.base_url));
        let cookies = [&self.cookie, &self.mark].into_iter().flatten();
        let cookies: Vec<&str> = cookies.map(String::as_str).collect();
        if cookies.is_empty() {
            return request;
        }
        request.header(header::COOKIE, cookies.join("; "))
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn get_json(&self, path: &str) -> Value {
        ok(self.get(path).await).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        send(self.request(Method::POST, path).json(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Response {
        send(self.request(Method::PATCH, path).json(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Response {
        send(self.request(Method::DELETE, path)).await
    }

    pub(crate) async fn register(&self) -> Response {
        let body = json!({"organisation": "Acme", "email": self.email, "password": PASSWORD});
        self.post("/v1/auth/register", &body).await
    }

    pub(crate) async fn verify(&self, token: &str) {
        let answer = self.try_verify(token, PASSWORD).await;
        assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    }

    pub(crate) async fn try_verify(&self, token: &str, password: &str) -> Response {
        let body = json!({"token": token, "password": password});
        self.post("/v1/auth/verify-email", &body).await
    }

    /// Tries to log in, without keeping the cookie.
    pub(crate) async fn try_log_in(&self, password: &str) -> Response {
        let body = json!({"email": self.email, "password": password});
        self.post("/v1/auth/login", &body).await
    }

    /// Logs in and keeps the cookies; returns who the server says it is.
    pub(crate) async fn log_in(&mut self, password: &str) -> Value {
        let answer = self.try_log_in(password).await;
        self.keep_cookies(&answer);
        ok(answer).await
    }

    /// Keeps the cookies of an answer that hands out a session, as a browser does.
    pub(crate) fn keep_cookies(&mut self, answer: &Response) {
        let cookie = set_cookie(answer);
        self.cookie = cookie.split(';').next().map(str::to_owned);
        self.mark = mark(answer);
    }

    /// Their id, and their organization's.
    pub(crate) async fn ids(&self) -> (String, String) {
        let me = self.get_json("/v1/me").await;
        let text = |value: &Value| value.as_str().expect("an id").to_owned();
        (text(&me["user"]["id"]), text(&me["organisation"]["id"]))
    }

    /// A key of their organization with these scopes.
    pub(crate) async fn key(&self, scopes: &[&str]) -> Customer {
        let wanted = json!({"name": "Test", "scopes": scopes});
        let made = ok(self.post("/v1/api-keys", &wanted).await).await;
        Customer {
            http: http(),
            base_url: self.base_url.clone(),
            api_key: made["api_key"].as_str().expect("a key").to_owned(),
        }
    }

    /// Invites an address; returns the invitation.
    pub(crate) async fn invite(&self, email: &str, role: &str) -> Value {
        let body = json!({"email": email, "role": role});
        ok(self.post("/v1/invitations", &body).await).await
    }

    pub(crate) async fn is_logged_in(&self) -> bool {
        match self.get("/v1/me").await.status() {
            StatusCode::OK => true,
            StatusCode::UNAUTHORIZED => false,
            other => panic!("{other}"),
        }
    }
}

pub(crate) fn set_cookie(answer: &Response) -> String {
    let value = &answer.headers()[header::SET_COOKIE];
    value.to_str().expect("plain").to_owned()
}

/// What an answer has the browser known by, as the browser sends it back.
pub(crate) fn mark(answer: &Response) -> Option<String> {
    let cookies = answer.headers().get_all(header::SET_COOKIE).iter();
    let mut pairs = cookies.filter_map(|value| value.to_str().ok()?.split(';').next());
    let mark = pairs.find(|pair| pair.contains("watchbell_known="));
    mark.map(str::to_owned)
}

/// Everything that a stranger could tell two answers apart by. What is new in every answer is left out:
/// its time, its id, and how many requests the asker has left.
pub(crate) async fn looks(answer: Response) -> (StatusCode, Vec<(String, String)>, String) {
    let status = answer.status();
    let request_id = answer.headers()["x-request-id"]
        .to_str()
        .expect("plain")
        .to_owned();
    let mut headers: Vec<(String, String)> = answer
        .headers()
        .iter()
        .filter(|(name, _)| !["date", "x-request-id", "ratelimit"].contains(&name.as_str()))
        .map(|(name, value)| {
            let value = value.to_str().expect("plain");
            (name.to_string(), value.to_owned())
        })
        .collect();
    headers.sort();
    let body = answer.text().await.expect("a body");
    (status, headers, body.replace(&request_id, "(request id)"))
}

async fn send(request: RequestBuilder) -> Response {
    request.send().await.expect("an answer")
}
