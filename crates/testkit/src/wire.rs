//! A wire between two parts that is slow, holds what it is given, or is cut: a TCP proxy on a thread of its own.
//!
//! For what packets alone cannot do here: the kernels that we run on have no `netem`, which delays them. Bytes travel with
//! the time at which they left, so a delay costs time and no throughput.

use std::io;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// How much is read at once.
const PIECE_BYTES: usize = 64 * 1024;

/// How many pieces are on their way in one direction. When the wire is full, who sends has to wait, as on a real one: 16 MiB
/// are 128 MB/s at a delay of an eighth of a second.
const PIECES_MAX: usize = 256;

/// Who gives an order waits until it is carried out.
const ORDERS_MAX: usize = 1;

/// A wire that ends at `to`. Dropping it ends its connections.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    state: watch::Sender<State>,
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    there: Way,
    back: Way,
}

/// How bytes travel in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    delay: Duration,
    held: bool,
}

#[derive(Debug)]
struct Order {
    listen: bool,
    done: std::sync::mpsc::SyncSender<io::Result<()>>,
}

impl Wire {
    /// Listens on `listen`, whose port may be 0, and connects to `to` for who connects. It is on the machine of the calling
    /// thread.
    pub fn start(listen: SocketAddr, to: SocketAddr) -> anyhow::Result<Self> {
        let listener =
            std::net::TcpListener::bind(listen).with_context(|| format!("listen on {listen}"))?;
        listener.set_nonblocking(true).context("not to block")?;
        let address = listener.local_addr().context("the wire's own address")?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("start a runtime")?;
        let (state, states) = watch::channel(State::default());
        let (orders, given) = mpsc::channel(ORDERS_MAX);
        let thread = thread::Builder::new()
            .name("wire".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    let listener = TcpListener::from_std(listener);
                    let listener = listener.expect("a listener that does not block");
                    serve(listener, address, to, &states, given).await;
                });
            })
            .context("start a thread")?;
        Ok(Self {
            address,
            state,
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How long bytes take from who connects to the end of the wire, and back.
    pub fn delay(&self, there: Duration, back: Duration) {
        self.state.send_modify(|state| {
            state.there.delay = there;
            state.back.delay = back;
        });
    }

    /// Holds what is sent there, or back, until it is told otherwise. Connections stay, and new ones are accepted.
    pub fn hold(&self, there: bool, back: bool) {
        self.state.send_modify(|state| {
            state.there.held = there;
            state.back.held = back;
        });
    }

    /// Resets all connections, with what is on its way, and refuses new ones.
    pub fn cut(&self) {
        self.order(false).expect("to stop listening cannot fail");
    }

    /// As it was in the beginning: no delay, nothing held, and it listens.
    pub fn heal(&self) {
        self.state.send_replace(State::default());
        self.order(true)
            .expect("nobody else takes the port of a wire that was cut");
    }

    fn order(&self, listen: bool) -> io::Result<()> {
        let (done, answer) = std::sync::mpsc::sync_channel(1);
        let orders = self.orders.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        // Not `blocking_send`, which may not be called from a runtime's thread, where tests are.
        let mut order = Order { listen, done };
        while let Err(mpsc::error::TrySendError::Full(again)) = orders.try_send(order) {
            order = again;
            thread::yield_now();
        }
        answer.recv().map_err(io::Error::other)?
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.orders.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(
    listener: TcpListener,
    address: SocketAddr,
    to: SocketAddr,
    states: &watch::Receiver<State>,
    mut orders: mpsc::Receiver<Order>,
) {
    let mut listener = Some(listener);
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(Ok((client, _))) = accept(listener.as_ref()) => {
                connections.spawn(connect(client, to, states.clone()));
            }
            Some(_) = connections.join_next() => {}
            order = orders.recv() => {
                let Some(order) = order else { return };
                let mut carried_out = Ok(());
                if !order.listen {
                    listener = None;
                    connections.shutdown().await;
                } else if listener.is_none() {
                    match TcpListener::bind(address).await {
                        Ok(bound) => listener = Some(bound),
                        Err(error) => carried_out = Err(error),
                    }
                }
                let _ = order.done.send(carried_out);
            }
        }
    }
}

/// `None` at once where nobody listens, which `select!` takes for a branch that is not there.
async fn accept(listener: Option<&TcpListener>) -> Option<io::Result<(TcpStream, SocketAddr)>> {
    Some(listener?.accept().await)
}

async fn connect(client: TcpStream, to: SocketAddr, states: watch::Receiver<State>) {
    let mut client = End::of(client);
    let Ok(server) = TcpStream::connect(to).await else {
        return;
    };
    let mut server = End::of(server);
    let (from_client, to_client) = client.stream.split();
    let (from_server, to_server) = server.stream.split();
    let there = carry(from_client, to_server, states.clone(), |state| state.there);
    let back = carry(from_server, to_client, states, |state| state.back);
    if tokio::try_join!(there, back).is_ok() {
        client.ended_in_order = true;
        server.ended_in_order = true;
    }
}

/// Carries bytes one way until they end.
async fn carry(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    mut states: watch::Receiver<State>,
    way: fn(State) -> Way,
) -> io::Result<()> {
    let (sent, mut arriving) = mpsc::channel::<(Instant, Bytes)>(PIECES_MAX);
    let leave = async move {
        loop {
            let mut piece = BytesMut::with_capacity(PIECE_BYTES);
            let ends = from.read_buf(&mut piece).await? == 0;
            let piece = (Instant::now(), piece.freeze());
            if sent.send(piece).await.is_err() || ends {
                return Ok(());
            }
        }
    };
    let arrive = async move {
        while let Some((left, piece)) = arriving.recv().await {
            travel(left, &mut states, way).await;
            if piece.is_empty() {
                to.shutdown().await?;
            } else {
                to.write_all(&piece).await?;
            }
        }
        Ok(())
    };
    tokio::try_join!(leave, arrive).map(|((), ())| ())
}

/// Returns when what left then arrives.
async fn travel(left: Instant, states: &mut watch::Receiver<State>, way: fn(State) -> Way) {
    loop {
        let way = way(*states.borrow_and_update());
        let due = left + way.delay;
        if !way.held && due <= Instant::now() {
            return;
        }
        tokio::select! {
            () = sleep_until(due), if !way.held => {}
            changed = states.changed() => {
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}

/// One end of a connection. It is reset, unless it ended in order.
struct End {
    stream: TcpStream,
    ended_in_order: bool,
}

impl End {
    fn of(stream: TcpStream) -> Self {
        let _ = stream.set_nodelay(true);
        Self {
            stream,
            ended_in_order: false,
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if !self.ended_in_order {
            let _ = self.stream.set_zero_linger();
        }
    }
}
