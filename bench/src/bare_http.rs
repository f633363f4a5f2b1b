//! The bare server: says what it was told, on connections that are kept, and nothing else.

use std::{convert::Infallible, net, thread};

use http_body_util::{BodyExt as _, Full};
use hyper::{Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, runtime, task::JoinSet};

/// Starts it in a thread of its own, which ends with the program; where it listens.
pub(crate) fn start() -> anyhow::Result<net::SocketAddr> {
    let listener = net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    thread::spawn(move || runtime.block_on(serve(listener)));
    Ok(address)
}

async fn serve(listener: net::TcpListener) -> anyhow::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let serving = http1::Builder::new();
        connections.spawn(serving.serve_connection(TokioIo::new(stream), service_fn(echo)));
    }
}

async fn echo(
    request: hyper::Request<Incoming>,
) -> Result<Response<Full<bytes::Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let told = body.map(http_body_util::Collected::to_bytes);
    Ok(Response::new(Full::new(told.unwrap_or_default())))
}
