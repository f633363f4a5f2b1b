//! The bare server: says what it was told, on connections that are kept, and nothing else.

use std::{convert::Infallible, net::SocketAddr, sync::mpsc, thread};

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Full};
use hyper::{Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, runtime};

/// Starts it in a thread of its own, which ends with the program; where it listens.
pub(crate) fn start() -> anyhow::Result<SocketAddr> {
    let (told, address) = mpsc::channel();
    thread::spawn(move || -> anyhow::Result<()> {
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            told.send(listener.local_addr()?)?;
            loop {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                tokio::spawn(
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(echo)),
                );
            }
        })
    });
    address.recv().context("the bare server starts")
}

async fn echo(
    request: hyper::Request<Incoming>,
) -> Result<Response<Full<bytes::Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let told = body.map(http_body_util::Collected::to_bytes);
    Ok(Response::new(Full::new(told.unwrap_or_default())))
}
