//! An error as a person sees it who opened the address in a browser: what happened, and what to do next.

use axum::{
    http::{HeaderValue, header},
    response::Response,
};
use domain::error_code::ErrorCode;

use super::{Problem, html};

/// Around both.
const FRAME: &str = include_str!("error_frame.html");
const PAGE: &str = include_str!("error_page.html");
/// What an error code means, whoever met it.
const CODE_PAGE: &str = include_str!("error_code_page.html");

/// Writes the page into the answer.
pub fn write(problem: &Problem, request_id: &str, response: &mut Response) {
    html::write(&page(problem, request_id), response);
    // Programs get JSON from the same address.
    response
        .headers_mut()
        .append(header::VARY, HeaderValue::from_static("accept"));
}

/// The page about a code, as `docs/errors/` has it, for who looks up what a problem says.
pub fn about(code: ErrorCode) -> Response {
    let page = framed(code.as_str(), CODE_PAGE, code)
        .replace("__SUMMARY__", &html::escaped(code.summary()))
        .replace("__WHAT_TO_DO__", &html::escaped(code.what_to_do()));
    let mut response = Response::default();
    html::write(&page, &mut response);
    response
}

fn page(problem: &Problem, request_id: &str) -> String {
    let code = problem.code();
    framed(code.title(), PAGE, code)
        .replace("__REQUEST__", request_id)
        .replace("__NEXT__", next(code.status()))
        // Last, so that nothing in it is taken for a place of the page.
        .replace("__DETAIL__", &html::escaped(problem.detail()))
}

/// A page of this name, with what both say of a code.
fn framed(name: &str, main: &str, code: ErrorCode) -> String {
    FRAME
        .replace("__NAME__", name)
        .replace("__MAIN__", main)
        .replace("__TITLE__", code.title())
        .replace("__STATUS__", &code.status().to_string())
        .replace("__CODE__", code.as_str())
}

/// What to do about an answer with this status.
fn next(status: u16) -> &'static str {
    match status {
        401 => "<a href=\"/\">Sign in to the console</a>, or send an API key with the request.",
        403 => {
            "Ask an owner of your organization for access, or go to <a href=\"/\">the console</a>."
        }
        404 | 410 => {
            "Check the address, or go to <a href=\"/\">the console</a>. \
             <a href=\"/openapi.json\">This document</a> lists the API’s paths."
        }
        408 | 429 | 503 => "Wait a moment, then reload the page.",
        500.. => {
            "Reload the page. If it happens again, give the request’s ID to whoever runs this server: \
             it is in the server’s log."
        }
        _ => {
            "<a href=\"/openapi.json\">This document</a> describes the API. \
             For everything else there is <a href=\"/\">the console</a>."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_text_whatever_is_in_it() {
        let detail = "No `<script>` & no \"__NEXT__\".";
        let page = page(&Problem::new(ErrorCode::NotFound, detail), "r-1");
        let expected = "<p>No `&lt;script&gt;` &amp; no &quot;__NEXT__&quot;.</p>";
        assert!(page.contains(expected), "{page}");
    }
}
