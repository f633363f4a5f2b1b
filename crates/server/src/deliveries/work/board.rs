//! Who is next: what waits in this worker, in fair order, and how many sends each endpoint may have.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use domain::{
    DeliveryId, EndpointId, Timestamp,
    delivery::{
        Answer, Trigger,
        pulse::Pulse,
        rota::{Kind, Rota},
    },
};
use tokio::sync::Notify;

use super::parcel::{Item, Parcel};

/// What one endpoint may have in a worker, waiting or in flight; the rest stands in its lane. Enough that
/// a quick receiver never waits for the next pull, few enough that many slow ones fit beside each other.
const JOBS_PER_ENDPOINT_MAX: usize = 256;
const PARCELS_PER_ENDPOINT_MAX: usize = 16;
/// Endpoints that are remembered although nothing of them is here.
const IDLE_DESKS_MAX: usize = 10_000;
/// Retries have at most one slot in so many: what is tried first is not held up by what failed.
const RETRIES_SHARE: usize = 4;

/// The slots of a worker and what waits for them.
pub(super) struct Board {
    inner: Mutex<Inner>,
    /// Something may be sent that could not be before.
    pub(super) changed: Notify,
    slots: usize,
    per_endpoint: u32,
}

#[derive(Default)]
struct Inner {
    rota: Rota<Item>,
    desks: HashMap<EndpointId, Desk>,
    in_flight: usize,
    retries_in_flight: usize,
    /// With the sequence of the message it is of.
    in_hand: HashMap<DeliveryId, u64>,
    parcels: Vec<Weak<Parcel>>,
}

/// What this worker knows of an endpoint.
struct Desk {
    pulse: Pulse,
    in_flight: u32,
    parcels: usize,
    has_open_breaker: bool,
    /// The lane had less than there was room for: what is due need not stand in line any more.
    is_drained: bool,
    /// Wakes whoever takes from its lane, if somebody does.
    lane: Option<Arc<Notify>>,
}

/// A slot that is taken.
pub(super) struct Slot {
    pub(super) item: Item,
    pub(super) kind: Kind,
}

impl Board {
    pub(super) fn new(slots: usize, per_endpoint: u32) -> Self {
        Self {
            inner: Mutex::default(),
            changed: Notify::new(),
            slots,
            per_endpoint,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of the message of which one of these is in our hands already, if one is: it came again,
    /// because the server heard nothing of it, or another message carries the same delivery.
    pub(super) fn in_hand(&self, mut deliveries: impl Iterator<Item = DeliveryId>) -> Option<u64> {
        let inner = self.lock();
        deliveries.find_map(|delivery| inner.in_hand.get(&delivery).copied())
    }

    /// Takes a message's deliveries in, unless the endpoint has enough here or stands in line already;
    /// hands them back then.
    pub(super) fn admit(&self, items: Vec<Item>, past_the_lane: bool) -> Result<(), Vec<Item>> {
        let mut inner = self.lock();
        let Some(first) = items.first() else {
            return Ok(());
        };
        let (parcel, org) = (Arc::clone(&first.parcel), first.job.matched.org);
        let (endpoint, sequence) = (parcel.endpoint, parcel.task.sequence());
        let jobs = inner.jobs(endpoint) + items.len();
        let desk = inner.desk(endpoint, self.per_endpoint);
        // Who takes from a lane has asked for room; a message may be a little more than that.
        let is_too_much = jobs > JOBS_PER_ENDPOINT_MAX && desk.parcels > 0 && !past_the_lane;
        let stands_in_line = desk.lane.is_some() && !desk.is_drained && !past_the_lane;
        if desk.parcels >= PARCELS_PER_ENDPOINT_MAX || is_too_much || stands_in_line {
            return Err(items);
        }
        desk.parcels += 1;
        parcel.admit();
        for item in items {
            let kind = match item.job.trigger {
                Trigger::Retry => Kind::Retry,
                _ => Kind::First,
            };
            inner.in_hand.insert(item.job.matched.delivery, sequence);
            inner.rota.push(org, endpoint, kind, item);
        }
        inner.parcels.push(Arc::downgrade(&parcel));
        drop(inner);
        self.changed.notify_one();
        Ok(())
    }

    /// How many more messages of an endpoint are welcome.
    pub(super) fn room(&self, endpoint: EndpointId) -> usize {
        let mut inner = self.lock();
        if inner.jobs(endpoint) >= JOBS_PER_ENDPOINT_MAX {
            return 0;
        }
        let desk = inner.desk(endpoint, self.per_endpoint);
        PARCELS_PER_ENDPOINT_MAX.saturating_sub(desk.parcels)
    }

    /// The next send, if there is a slot for one.
    pub(super) fn next(&self) -> Option<Slot> {
        let mut inner = self.lock();
        if inner.in_flight >= self.slots {
            return None;
        }
        let retries_too = inner.retries_in_flight < (self.slots / RETRIES_SHARE).max(1);
        let (endpoint, kind, item) = inner.rota.pop(retries_too)?;
        inner.in_flight += 1;
        inner.retries_in_flight += usize::from(kind == Kind::Retry);
        inner.desk(endpoint, self.per_endpoint).in_flight += 1;
        inner.block_if_full(endpoint);
        Some(Slot { item, kind })
    }

    /// A slot is free again; whether the answer, if there was one, opens the endpoint's breaker.
    pub(super) fn free(
        &self,
        endpoint: EndpointId,
        kind: Kind,
        answer: Option<(&Answer, Timestamp)>,
    ) -> bool {
        let mut inner = self.lock();
        inner.in_flight -= 1;
        inner.retries_in_flight -= usize::from(kind == Kind::Retry);
        let desk = inner.desk(endpoint, self.per_endpoint);
        desk.in_flight -= 1;
        let trips = answer.is_some_and(|(answer, now)| desk.pulse.learn(answer, now));
        inner.block_if_full(endpoint);
        drop(inner);
        self.changed.notify_one();
        trips
    }

    /// Everything that waits for an endpoint, to be put elsewhere.
    pub(super) fn take(&self, endpoint: EndpointId) -> Vec<Item> {
        self.lock().rota.take(endpoint)
    }

    /// Everything that waits.
    pub(super) fn take_all(&self) -> Vec<Item> {
        let mut inner = self.lock();
        let endpoints: Vec<EndpointId> = inner.desks.keys().copied().collect();
        let mut items = Vec::new();
        for endpoint in endpoints {
            items.extend(inner.rota.take(endpoint));
        }
        items
    }

    /// A delivery is out of our hands.
    pub(super) fn let_go(&self, deliveries: impl Iterator<Item = DeliveryId>) {
        let mut inner = self.lock();
        for delivery in deliveries {
            inner.in_hand.remove(&delivery);
        }
    }

    /// A message that was admitted is settled or handed back.
    pub(super) fn parcel_gone(&self, endpoint: EndpointId) {
        let mut inner = self.lock();
        let desk = inner.desk(endpoint, self.per_endpoint);
        desk.parcels = desk.parcels.saturating_sub(1);
        if let Some(lane) = &desk.lane {
            lane.notify_one();
        }
        if inner.desks.len() > IDLE_DESKS_MAX {
            inner.forget_idle();
        }
    }

    /// The messages in our hands.
    pub(super) fn parcels(&self) -> Vec<Arc<Parcel>> {
        let mut inner = self.lock();
        inner.parcels.retain(|parcel| parcel.strong_count() > 0);
        inner.parcels.iter().filter_map(Weak::upgrade).collect()
    }

    /// Begins to take from a lane, in which something stands, unless somebody here does already.
    pub(super) fn begin_lane(
        &self,
        endpoint: EndpointId,
        has_open_breaker: bool,
    ) -> Option<Arc<Notify>> {
        let mut inner = self.lock();
        let desk = inner.desk(endpoint, self.per_endpoint);
        desk.is_drained = false;
        desk.has_open_breaker |= has_open_breaker;
        if desk.lane.is_some() {
            return None;
        }
        let wake = Arc::new(Notify::new());
        desk.lane = Some(Arc::clone(&wake));
        Some(wake)
    }

    pub(super) fn lane_is_drained(&self, endpoint: EndpointId) {
        let mut inner = self.lock();
        inner.desk(endpoint, self.per_endpoint).is_drained = true;
    }

    pub(super) fn end_lane(&self, endpoint: EndpointId) {
        let mut inner = self.lock();
        inner.desk(endpoint, self.per_endpoint).lane = None;
    }

    /// Something about an endpoint changed. When its breaker closes, whoever closed it, it is sent to
    /// slowly at first.
    pub(super) fn heard(&self, endpoint: EndpointId, has_open_breaker: bool) {
        let mut inner = self.lock();
        let Some(desk) = inner.desks.get_mut(&endpoint) else {
            return;
        };
        let had = std::mem::replace(&mut desk.has_open_breaker, has_open_breaker);
        if had && !has_open_breaker {
            desk.pulse.ramp();
        }
        if let Some(lane) = &desk.lane {
            lane.notify_one();
        }
        inner.block_if_full(endpoint);
    }

    pub(super) fn wake_all_lanes(&self) {
        let inner = self.lock();
        for lane in inner.desks.values().filter_map(|desk| desk.lane.as_ref()) {
            lane.notify_one();
        }
    }
}

impl Inner {
    fn desk(&mut self, endpoint: EndpointId, per_endpoint: u32) -> &mut Desk {
        self.desks.entry(endpoint).or_insert_with(|| Desk {
            pulse: Pulse::new(per_endpoint),
            in_flight: 0,
            parcels: 0,
            has_open_breaker: false,
            is_drained: false,
            lane: None,
        })
    }

    /// An endpoint gets no more than its limit, which changes with every answer.
    fn block_if_full(&mut self, endpoint: EndpointId) {
        let is_full = self
            .desks
            .get(&endpoint)
            .is_some_and(|desk| desk.in_flight >= desk.pulse.limit());
        if is_full {
            self.rota.block(endpoint);
        } else {
            self.rota.unblock(endpoint);
        }
    }

    fn jobs(&self, endpoint: EndpointId) -> usize {
        let in_flight = self.desks.get(&endpoint).map_or(0, |desk| desk.in_flight);
        self.rota.waiting(endpoint) + usize::try_from(in_flight).unwrap_or(usize::MAX)
    }

    fn forget_idle(&mut self) {
        self.desks
            .retain(|_, desk| desk.in_flight > 0 || desk.parcels > 0 || desk.lane.is_some());
    }
}
