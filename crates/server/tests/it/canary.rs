//! A listener that nothing may connect to, on every address of this machine at once.

use std::net::{Ipv6Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}
