//! Whether the document has what the server answers, in debug builds: the integration tests fail on an answer that it does
//! not have.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
    sync::{LazyLock, Mutex, PoisonError},
};

use axum::{
    extract::{MatchedPath, Request},
    http::{Method, StatusCode},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use domain::error_code::ErrorCode;
use utoipa::OpenApi as _;

use super::{document::Document, errors};
use crate::config::standard_variable;

/// Names a folder. Each process writes a file there with the codes that it answered, one `operation code` per line;
/// `cargo xtask errors-seen` reads them.
const SEEN: &str = "WATCHBELL_TEST_ERRORS_SEEN";

struct Documented {
    id: String,
    codes: Vec<ErrorCode>,
    statuses: HashSet<String>,
}

static DOCUMENTED: LazyLock<HashMap<(Method, String), Documented>> = LazyLock::new(|| {
    let mut documented = HashMap::new();
    for (path, mut item) in Document::openapi().paths.paths {
        for (method, operation) in errors::operations(&mut item) {
            let of_operation = Documented {
                id: operation.operation_id.clone().unwrap_or_default(),
                codes: errors::codes(&method, &path, operation),
                statuses: operation.responses.responses.keys().cloned().collect(),
            };
            documented.insert((method, path.clone()), of_operation);
        }
    }
    documented
});

/// The outermost layer. What the document does not have becomes a 500 that says so. A path that there is not, and a method
/// that a path does not have, are no operation.
pub async fn check(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>();
    let method = match request.method() {
        &Method::HEAD => Method::GET,
        other => other.clone(),
    };
    let route = route.map(|route| (method, route.as_str().to_owned()));
    let response = next.run(request).await;
    let Some(documented) = route.and_then(|route| DOCUMENTED.get(&route)) else {
        return response;
    };
    let code = response.extensions().get::<ErrorCode>().copied();
    let (id, status) = (&documented.id, response.status());
    let (is_documented, answer) = match code {
        Some(code) => {
            note(id, code);
            (documented.codes.contains(&code), code.as_str().to_owned())
        }
        None => {
            let has_status = documented.statuses.contains(status.as_str());
            (has_status, status.to_string())
        }
    };
    if is_documented {
        return response;
    }
    let text = format!("{id} answered {answer}, which crates/server/src/openapi does not have");
    tracing::error!("{text}");
    (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
}

/// Writes down that an operation answered a code, once.
fn note(id: &str, code: ErrorCode) {
    static NOTES: LazyLock<Option<Mutex<Notes>>> = LazyLock::new(|| {
        let folder = PathBuf::from(standard_variable(SEEN)?);
        fs::create_dir_all(&folder).ok()?;
        let name = folder.join(std::process::id().to_string());
        // Ids of processes come again.
        let file = File::options().append(true).create(true).open(name).ok()?;
        let known = HashSet::new();
        Some(Mutex::new(Notes { file, known }))
    });
    let Some(notes) = &*NOTES else {
        return;
    };
    let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
    let line = format!("{id} {}\n", code.as_str());
    if notes.known.insert(line.clone()) {
        // Information for people; nothing depends on it.
        let _ = notes.file.write_all(line.as_bytes());
    }
}

struct Notes {
    file: File,
    known: HashSet<String>,
}
