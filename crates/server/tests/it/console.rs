//! The console as a browser gets it: the page, its files, and what it is told to forbid.

use std::{fs, path::Path};

use domain::error_code::ErrorCode;
use reqwest::{Method, Response, StatusCode, header};
use testkit::Watchbell;

use crate::deployment::{DEADLINE, Deployment, http};
use crate::errors::problem;

/// What a browser says when somebody opens a page.
const A_PAGE: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const DIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../console/dist");

/// A server whose console was built.
struct Site {
    _server: Watchbell,
    base_url: String,
    _deployment: Deployment,
}

impl Site {
    fn start(deployment: Deployment) -> Self {
        let index = Path::new(DIST).join("index.html");
        assert!(
            index.exists(),
            "the console is not built; run scripts/build-console, then these tests again"
        );
        let mut server = deployment.serve("api");
        Self {
            base_url: server.url(DEADLINE),
            _server: server,
            _deployment: deployment,
        }
    }

    async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
        let mut request = http().request(method, format!("{}{path}", self.base_url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.expect("an answer")
    }

    async fn page(&self, path: &str) -> Response {
        self.ask(Method::GET, path, &[("accept", A_PAGE)]).await
    }
}

/// A file that the build named by its content.
fn script() -> String {
    let assets = fs::read_dir(Path::new(DIST).join("assets")).expect("assets");
    let names = assets.map(|file| file.expect("a file").file_name());
    let mut names = names.map(|name| name.into_string().expect("UTF-8"));
    let is_script = |name: &String| name.rsplit_once('.').is_some_and(|(_, kind)| kind == "js");
    let name = names.find(is_script).expect("a script");
    format!("/assets/{name}")
}

fn on_disk(path: &str, packed: &str) -> Vec<u8> {
    fs::read(format!("{DIST}{path}{packed}")).expect("a file")
}

fn said<'a>(response: &'a Response, name: &str) -> &'a str {
    let value = response.headers().get(name);
    let value = value.unwrap_or_else(|| panic!("no {name}: {:?}", response.headers()));
    value.to_str().expect("plain")
}

/// The nonce that the header allows.
fn nonce(response: &Response) -> String {
    let (_, rest) = said(response, "content-security-policy")
        .split_once("'nonce-")
        .expect("a nonce");
    rest.split('\'').next().expect("its end").to_owned()
}

#[tokio::test]
async fn a_browser_gets_the_page_for_every_place_in_the_console_and_may_load_nothing_else_with_it()
{
    let site = Site::start(Deployment::new());
    for path in [
        "/",
        "/events",
        "/events?from=-1h",
        "/reset-password",
        "/index.html",
        "/a/b.c",
    ] {
        let answer = site.page(path).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        assert_eq!(said(&answer, "content-type"), "text/html; charset=utf-8");
        assert_eq!(said(&answer, "cache-control"), "no-store");
        assert_eq!(said(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(said(&answer, "referrer-policy"), "no-referrer");
        assert_eq!(said(&answer, "cross-origin-opener-policy"), "same-origin");
        assert!(said(&answer, "permissions-policy").contains("camera=()"));
        assert!(!said(&answer, "x-request-id").is_empty());
        assert!(!answer.headers().contains_key("strict-transport-security"));
        let expected = format!(
            "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{}'; img-src 'self' data:; \
             font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            nonce(&answer)
        );
        assert_eq!(said(&answer, "content-security-policy"), expected);
        let html = answer.text().await.expect("text");
        assert!(html.contains("<div id=\"root\">"), "{html}");
    }
}

#[tokio::test]
async fn the_nonce_is_another_each_time_and_the_same_in_header_and_page() {
    let site = Site::start(Deployment::new());
    let mut seen = Vec::new();
    for _ in 0..3 {
        let answer = site.page("/").await;
        let nonce = nonce(&answer);
        assert_eq!(nonce.len(), 24, "128 bits in base64");
        let html = answer.text().await.expect("text");
        assert!(html.contains(&format!("nonce=\"{nonce}\"")), "{html}");
        assert!(!html.contains("__NONCE__"), "{html}");
        assert!(!seen.contains(&nonce));
        seen.push(nonce);
    }
}

#[tokio::test]
async fn files_come_packed_as_the_client_likes_them_and_are_kept_for_ever() {
    let site = Site::start(Deployment::new());
    let script = script();
    for (accepted, coding, packed) in [
        ("gzip, deflate, br, zstd", Some("br"), ".br"),
        ("gzip", Some("gzip"), ".gz"),
        ("br;q=0.1, gzip", Some("gzip"), ".gz"),
        ("br;q=0, gzip;q=0", None, ""),
        ("identity", None, ""),
    ] {
        let headers = [("accept-encoding", accepted)];
        let answer = site.ask(Method::GET, &script, &headers).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let given = answer.headers().get("content-encoding");
        let given = given.map(|value| value.to_str().expect("plain"));
        assert_eq!(given, coding, "{accepted}");
        assert_eq!(said(&answer, "vary"), "accept-encoding");
        assert_eq!(
            said(&answer, "content-type"),
            "text/javascript; charset=utf-8"
        );
        assert_eq!(said(&answer, "x-content-type-options"), "nosniff");
        assert_eq!(
            said(&answer, "cache-control"),
            "public, max-age=31536000, immutable"
        );
        let body = answer.bytes().await.expect("a body");
        assert!(body == on_disk(&script, packed), "{accepted}");
    }
}

#[tokio::test]
async fn a_file_that_a_browser_has_is_not_sent_again() {
    let site = Site::start(Deployment::new());
    let first = site.ask(Method::GET, "/favicon.svg", &[]).await;
    assert_eq!(said(&first, "content-type"), "image/svg+xml");
    assert_eq!(said(&first, "cache-control"), "no-cache");
    let tag = said(&first, "etag").to_owned();
    for known in [tag.clone(), format!("\"other\", W/{tag}"), "*".to_owned()] {
        let headers = [("if-none-match", known.as_str())];
        let again = site.ask(Method::GET, "/favicon.svg", &headers).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{known}");
        assert_eq!(said(&again, "etag"), tag);
        assert_eq!(said(&again, "vary"), "accept-encoding");
        assert!(again.bytes().await.expect("nothing").is_empty());
    }
    // Another form of it is another thing.
    let headers = [("accept-encoding", "br"), ("if-none-match", tag.as_str())];
    let packed = site.ask(Method::GET, "/favicon.svg", &headers).await;
    assert_eq!(packed.status(), StatusCode::OK);
    assert_ne!(said(&packed, "etag"), tag);
}

#[tokio::test]
async fn head_says_what_get_would_without_a_body() {
    let site = Site::start(Deployment::new());
    let script = script();
    let length = on_disk(&script, "").len().to_string();
    let head = site.ask(Method::HEAD, &script, &[]).await;
    assert_eq!(head.status(), StatusCode::OK);
    assert_eq!(said(&head, "content-length"), length);
    assert!(head.bytes().await.expect("nothing").is_empty());
    let head = site
        .ask(Method::HEAD, "/events", &[("accept", A_PAGE)])
        .await;
    assert_eq!(head.status(), StatusCode::OK);
    assert!(head.bytes().await.expect("nothing").is_empty());
}

#[tokio::test]
async fn what_is_not_the_consoles_is_a_page_to_a_person_and_a_problem_to_a_program() {
    let site = Site::start(Deployment::new());
    for path in [
        "/v1",
        "/v1/nothing",
        "/access/v1/nothing",
        "/healthz/nothing",
        "/.well-known/nothing",
        "/assets/nothing.js",
        "/assets/nothing",
    ] {
        let refused = problem(site.ask(Method::GET, path, &[]).await, 404).await;
        assert_eq!(refused["code"], "NOT_FOUND", "{path}");
        let page = error_page(site.page(path).await, 404).await;
        assert!(page.contains("<code>NOT_FOUND</code>"), "{page}");
        assert!(page.contains("<a href=\"/\">the console</a>"), "{page}");
    }
    let page = error_page(site.page("/v1/audit/events").await, 401).await;
    assert!(page.contains("Sign in to the console"), "{page}");
    // Files by the names that only the server uses, and what is beside the folder.
    let packed = format!("{}.br", script());
    for path in [
        packed.as_str(),
        "/assets/../../package.json",
        "/..%2fpackage.json",
    ] {
        problem(site.ask(Method::GET, path, &[]).await, 404).await;
    }
    // Who asks for anything, or sends something, does not mean a page.
    problem(site.ask(Method::GET, "/events", &[]).await, 404).await;
    let json = [(header::ACCEPT.as_str(), "application/json")];
    problem(site.ask(Method::GET, "/events", &json).await, 404).await;
    let page = [("accept", A_PAGE)];
    problem(site.ask(Method::POST, "/events", &page).await, 404).await;
    let java = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2";
    let with_key = [("accept", java), ("authorization", "Bearer wb_nobody")];
    let refused = site.ask(Method::GET, "/v1/audit/events", &with_key).await;
    let mut varies = refused.headers().get_all("vary").iter();
    assert!(varies.any(|one| one == "accept"), "a browser gets a page");
    problem(refused, 401).await;
}

/// The page that says so, which may load as little as any other.
async fn error_page(answer: Response, status: u16) -> String {
    assert_eq!(answer.status(), status);
    assert_eq!(said(&answer, "content-type"), "text/html; charset=utf-8");
    let varies = answer.headers().get_all("vary");
    assert!(varies.iter().any(|one| one == "accept"), "{varies:?}");
    let (nonce, request) = (nonce(&answer), said(&answer, "x-request-id").to_owned());
    let page = answer.text().await.expect("text");
    assert!(
        page.contains(&format!("<style nonce=\"{nonce}\">")),
        "{page}"
    );
    assert!(page.contains(&request), "{page}");
    page
}

#[tokio::test]
async fn every_error_code_has_a_page_that_says_what_to_do() {
    let site = Site::start(Deployment::new());
    for code in ErrorCode::ALL {
        let answer = site.page(&format!("/errors/{}", code.as_str())).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let page = answer.text().await.expect("a page");
        assert!(page.contains(code.title()), "{page}");
        assert!(page.contains("What to do"), "{page}");
        assert!(!page.contains("__"), "nothing is left to fill in: {page}");
    }
}

#[tokio::test]
async fn a_browser_without_a_session_is_told_so_with_the_page() {
    let site = Site::start(Deployment::new());
    // As long as a session's token: whether it is still good, the API says.
    let cookie = format!("watchbell_session=wbs_{}", "0".repeat(64));
    for (cookie, expected) in [
        ("", "none"),
        ("watchbell_session=", "none"),
        (&cookie, "some"),
    ] {
        let headers = [("accept", A_PAGE), ("cookie", cookie)];
        let page = site.ask(Method::GET, "/events", &headers).await;
        let page = page.text().await.expect("text");
        let hint = format!("<meta name=\"session\" content=\"{expected}\"");
        assert!(page.contains(&hint), "{cookie}: {page}");
    }
}

#[tokio::test]
async fn where_people_come_by_https_browsers_are_told_to_stay_with_it() {
    let site = Site::start(Deployment::new().with("HTTP__PUBLIC_URL", "https://wb.example.com"));
    let answer = site.page("/").await;
    assert_eq!(
        said(&answer, "strict-transport-security"),
        "max-age=31536000"
    );
}

#[tokio::test]
async fn the_console_can_be_switched_off_and_only_the_api_has_it() {
    let site = Site::start(Deployment::new().with("CONSOLE__ENABLED", "false"));
    error_page(site.page("/").await, 404).await;
    problem(site.ask(Method::GET, "/favicon.svg", &[]).await, 404).await;

    let deployment = Deployment::new();
    let mut server = deployment.serve("match");
    let url = server.url(DEADLINE);
    let page = http().get(url).header("accept", A_PAGE).send().await;
    error_page(page.expect("an answer"), 404).await;
}
