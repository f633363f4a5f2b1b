//! A wire between Watchbell and a server, which the test may cut.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio::time::sleep;

const READ_BYTES_MAX: usize = 64 * 1024;

/// Passes bytes on, each way a little late. What is on the wire when it is cut is lost.
pub(crate) struct Wire {
    address: SocketAddr,
    cuts: broadcast::Sender<()>,
    _tasks: JoinSet<()>,
}

impl Wire {
    /// A wire to the server at `url`, `delay` long each way.
    pub(crate) async fn to(url: &str, delay: Duration) -> Self {
        let far_end = url.trim_start_matches("nats://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let cuts = broadcast::Sender::new(1);
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, far_end, delay, cuts.clone()));
        Self {
            address,
            cuts,
            _tasks: tasks,
        }
    }

    pub(crate) fn nats_url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Ends every connection at once; new ones may be made.
    pub(crate) fn cut(&self) {
        // Nobody hears it when nobody is connected.
        let _ = self.cuts.send(());
    }
}

async fn accept(
    listener: TcpListener,
    far_end: String,
    delay: Duration,
    cuts: broadcast::Sender<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        let (near, _) = listener.accept().await.expect("a connection");
        let Ok(far) = TcpStream::connect(&far_end).await else {
            continue;
        };
        let mut cut = cuts.subscribe();
        connections.spawn(async move {
            let ((near_out, near_in), (far_out, far_in)) = (near.into_split(), far.into_split());
            tokio::select! {
                () = pass_on(near_out, far_in, delay) => {}
                () = pass_on(far_out, near_in, delay) => {}
                _ = cut.recv() => {}
            }
        });
    }
}

async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let mut bytes = vec![0; READ_BYTES_MAX];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        // waits for: the bytes to travel
        sleep(delay).await;
        if to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}
