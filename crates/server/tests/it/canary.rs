//! A listener that nothing may connect to, on every address of this machine at once.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::eventually;

use crate::deployment::DEADLINE;

/// Counts who connects. It hangs up on everybody.
pub(crate) struct Canary {
    pub(crate) port: u16,
    connections: Arc<AtomicUsize>,
}

impl Canary {
    pub(crate) fn start() -> Self {
        // Takes IPv4 as well, so that loopback is heard in whichever form it is reached.
        Self::on(TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).expect("a port"))
    }

    pub(crate) fn on(listener: TcpListener) -> Self {
        let port = listener.local_addr().expect("an address").port();
        let connections = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&connections);
        std::thread::spawn(move || {
            for _ in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { port, connections }
    }

    /// Says that a connection would have been heard: it makes two.
    pub(crate) async fn assert_hears(&self) {
        let before = self.connections();
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            TcpStream::connect((address, self.port)).expect("somebody listens");
        }
        eventually(DEADLINE, "both are heard", async || {
            (self.connections() == before + 2).then_some(())
        })
        .await;
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}
