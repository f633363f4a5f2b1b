//! How many connections there may be, in all and from one address.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use metrics::counter;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::timeout,
};

use crate::{
    edge::client_address::{ClientAddress, ProxyTrust},
    telemetry::metrics as names,
};

/// While there is no free seat, connections without a request are asked this often to give theirs.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// The seats of a listener.
pub(crate) struct Seats {
    free: Arc<Semaphore>,
    per_address_max: usize,
    /// Those who connect for many.
    proxies: ProxyTrust,
    taken: Mutex<HashMap<ClientAddress, usize>>,
    wanted: watch::Sender<()>,
}

/// A seat, until dropped.
pub(super) struct Seat {
    seats: Arc<Seats>,
    /// `None`: a proxy's, which is not counted.
    address: Option<ClientAddress>,
    _place: OwnedSemaphorePermit,
}

impl Seats {
    pub fn new(all: usize, per_address_max: usize, proxies: ProxyTrust) -> Self {
        Self {
            free: Arc::new(Semaphore::new(all)),
            per_address_max,
            proxies,
            taken: Mutex::default(),
            wanted: watch::Sender::new(()),
        }
    }

    /// Waits until one more may come.
    pub(super) async fn place(&self) -> OwnedSemaphorePermit {
        loop {
            let place = Arc::clone(&self.free).acquire_owned();
            if let Ok(place) = timeout(ASK_EVERY, place).await {
                return place.expect("nobody closes it");
            }
            self.wanted.send_replace(());
        }
    }

    /// The seat of who came, if this address may have one more.
    pub(super) fn take(
        self: &Arc<Self>,
        place: OwnedSemaphorePermit,
        peer: IpAddr,
    ) -> Option<Seat> {
        let address = self.proxies.client_that_connects(peer);
        if let Some(address) = address {
            let mut taken = self.lock();
            let count = taken.entry(address).or_insert(0);
            if *count == self.per_address_max {
                counter!(names::CONNECTIONS_REFUSED).increment(1);
                return None;
            }
            *count += 1;
        }
        Some(Seat {
            seats: Arc::clone(self),
            address,
            _place: place,
        })
    }

    /// Changes whenever somebody waits for a seat.
    pub(super) fn wanted(&self) -> watch::Receiver<()> {
        self.wanted.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientAddress, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let mut taken = self.seats.lock();
        if let Some(count) = taken.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_has_its_share_and_a_proxy_has_all() {
        let proxy = "10.0.0.7/32".parse().expect("a network");
        let seats = Arc::new(Seats::new(10, 2, ProxyTrust::new(&[proxy], None)));
        let take = async |address: &str| {
            let peer = address.parse().expect("an address");
            seats.take(seats.place().await, peer)
        };
        let (first, second) = (take("192.0.2.1").await, take("::ffff:192.0.2.1").await);
        assert!(first.is_some() && second.is_some());
        assert!(take("192.0.2.1").await.is_none(), "a third");
        assert!(take("192.0.2.2").await.is_some(), "another's");
        drop(first);
        assert!(take("192.0.2.1").await.is_some(), "one was given back");
        let all: Vec<_> = futures::future::join_all((0..5).map(|_| take("10.0.0.7"))).await;
        assert!(all.iter().all(Option::is_some));
        drop((second, all));
        assert!(seats.lock().is_empty(), "who left is forgotten");
        assert_eq!(seats.free.available_permits(), 10);
    }
}
