//! `X-Request-ID` comes back as it was given, whatever is in it. Our own id of the request, which is in the log
//! and in problem bodies, is another if the client's is not plain.

use axum::{extract::Request, middleware::Next, response::Response};

use crate::edge::envelope::REQUEST_ID;

pub async fn echo(request: Request, next: Next) -> Response {
    let given = request.headers().get(REQUEST_ID).cloned();
    let mut response = next.run(request).await;
    if let Some(given) = given {
        response.headers_mut().insert(REQUEST_ID, given);
    }
    response
}
