//! Who is next: what waits in this worker, in fair order, and how many sends each endpoint and host may have.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use domain::{
    EndpointId, OrgId, Timestamp,
    delivery::{
        Answer, Host, Hosts, Trigger,
        fair_queue::{FairQueue, Kind},
    },
};
use journal::queue::Lane;
use metrics::counter;
use runtime::semaphores::KeyedSemaphores;
use tokio::sync::{Notify, Semaphore};

use super::{
    Bounds,
    endpoint_slots::{EndpointSlots, JOBS_PER_ENDPOINT_MAX},
    in_flight::{Item, Share},
};
use crate::metrics as names;

/// Messages for all endpoints that an organization has at one host that a worker has at a time, for each send that it may have
/// there: one in flight, and the next. With the 64 sends of the default that is an eighth of what a worker takes of
/// a partition, and no less with fewer. The rest stands in lanes, however many URLs the host has.
const MESSAGES_PER_PLACE: usize = 2;
const MESSAGES_PER_HOST_MIN: usize = 128;
/// Endpoints that are remembered although nothing of them is here.
const IDLE_ENDPOINTS_MAX: usize = 10_000;
/// Retries have at most one slot in so many: what is tried first is not held up by what failed.
const RETRIES_SHARE: usize = 4;

/// The slots of a worker and what waits for them.
pub(super) struct Scheduler {
    inner: Mutex<Inner>,
    /// Something may be sent that could not be before.
    pub(super) changed: Notify,
    slots: usize,
    per_endpoint: u32,
    /// Room for messages at each host.
    rooms: KeyedSemaphores<(OrgId, Host)>,
}

struct Inner {
    queue: FairQueue<Item>,
    hosts: Hosts,
    endpoints: HashMap<EndpointId, EndpointSlots>,
    in_flight: usize,
    retries_in_flight: usize,
    /// Sent, but not on record.
    unrecorded: usize,
}

impl Scheduler {
    pub(super) fn new(bounds: Bounds) -> Self {
        let places = usize::try_from(bounds.per_host).unwrap_or(usize::MAX);
        let messages_per_host = places
            .saturating_mul(MESSAGES_PER_PLACE)
            .clamp(MESSAGES_PER_HOST_MIN, Semaphore::MAX_PERMITS);
        Self {
            inner: Mutex::new(Inner::new(bounds.per_host)),
            changed: Notify::new(),
            slots: bounds.slots,
            per_endpoint: bounds.per_endpoint,
            rooms: KeyedSemaphores::new(messages_per_host),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what of a message goes to one endpoint, unless that or its host has enough here or it stands in line
    /// already; hands it back then.
    pub(super) fn admit(&self, items: Vec<Item>, past_the_lane: bool) -> Result<(), Vec<Item>> {
        let Some(first) = items.first() else {
            return Ok(());
        };
        let (share, org) = (Arc::clone(&first.share), first.job.matched.org);
        let endpoint = share.endpoint;
        let has_room = self.has_room_at_host(org, &share);
        let mut inner = self.lock();
        let jobs = inner.jobs(endpoint) + items.len();
        let slots = inner.slots(endpoint, self.per_endpoint);
        slots.host = Some(share.host);
        // Who takes from a lane has asked for room; a message may be a little more than that.
        let is_too_much = jobs > JOBS_PER_ENDPOINT_MAX && slots.shares > 0 && !past_the_lane;
        let stands_in_line = slots.lane.is_some() && !slots.is_drained && !past_the_lane;
        let is_full = slots.shares >= slots.shares_max() || !has_room;
        if is_full || is_too_much || stands_in_line {
            return Err(items);
        }
        slots.shares += 1;
        share.admit();
        for item in items {
            let kind = match item.job.trigger {
                Trigger::Retry => Kind::Retry,
                _ => Kind::First,
            };
            inner.queue.push((org, share.host), endpoint, kind, item);
        }
        drop(inner);
        self.changed.notify_one();
        Ok(())
    }

    /// Whether there is room for a message at its host; one from a lane has waited for it.
    fn has_room_at_host(&self, org: OrgId, share: &Share) -> bool {
        if share.has_room_at_host() {
            return true;
        }
        let rooms = self.rooms.of((org, share.host));
        let Ok(room) = rooms.try_acquire_owned() else {
            return false;
        };
        share.keep_room_at_host(room);
        true
    }

    /// The host of a lane and room for messages there; `None` as long as nobody knows which that is.
    pub(super) fn room_at_host(&self, lane: Lane) -> Option<(Host, Arc<Semaphore>)> {
        let host = self.lock().endpoints.get(&lane.endpoint)?.host?;
        Some((host, self.rooms.of((lane.org, host))))
    }

    /// How many more messages of an endpoint are welcome.
    pub(super) fn room(&self, endpoint: EndpointId) -> usize {
        let mut inner = self.lock();
        if inner.jobs(endpoint) >= JOBS_PER_ENDPOINT_MAX {
            return 0;
        }
        let slots = inner.slots(endpoint, self.per_endpoint);
        slots.shares_max().saturating_sub(slots.shares)
    }

    /// The next send, if there is a slot for one. Where sends cannot be put on record nothing more is sent: all of it
    /// would have to be sent again.
    pub(super) fn next(&self) -> Option<Item> {
        let mut inner = self.lock();
        if inner.in_flight >= self.slots || inner.unrecorded >= self.slots {
            return None;
        }
        let retries_too = inner.retries_in_flight < (self.slots / RETRIES_SHARE).max(1);
        inner.take_place(retries_too)?;
        let (endpoint, kind, mut item) = inner.queue.pop(retries_too)?;
        inner.in_flight += 1;
        inner.retries_in_flight += usize::from(kind == Kind::Retry);
        inner.slots(endpoint, self.per_endpoint).send();
        inner.block_if_full(endpoint);
        item.take_slot(kind);
        Some(item)
    }

    /// A slot is free again without an answer.
    pub(super) fn free(&self, share: &Share, kind: Kind) {
        self.lock().free(share, kind);
        self.changed.notify_one();
    }

    /// A slot is free again, and its send is to be recorded; whether the answer opens the endpoint's breaker.
    pub(super) fn answered(
        &self,
        share: &Share,
        kind: Kind,
        answer: &Answer,
        (started, now): (Timestamp, Timestamp),
    ) -> bool {
        let mut inner = self.lock();
        let slots = inner.slots(share.endpoint, self.per_endpoint);
        let trips = slots.answered(answer, now.since(started), now);
        inner.free(share, kind);
        inner.leave(share);
        inner.unrecorded += 1;
        drop(inner);
        self.changed.notify_one();
        trips
    }

    /// A send is on record, or will be repeated.
    pub(super) fn recorded(&self) {
        let mut inner = self.lock();
        let was_full = inner.unrecorded >= self.slots;
        inner.unrecorded -= 1;
        drop(inner);
        if was_full {
            self.changed.notify_one();
        }
    }

    /// Everything that waits for an endpoint, to be put elsewhere.
    pub(super) fn take(&self, endpoint: EndpointId) -> Vec<Item> {
        let mut inner = self.lock();
        let taken = inner.queue.take(endpoint);
        if let Some(item) = taken.first() {
            // It may have been called to its host, and the place is for the next.
            inner.call(item.share.host);
        }
        taken
    }

    /// Everything that waits.
    pub(super) fn take_all(&self) -> Vec<Item> {
        let mut inner = self.lock();
        let endpoints: Vec<EndpointId> = inner.endpoints.keys().copied().collect();
        let mut items = Vec::new();
        for endpoint in endpoints {
            items.extend(inner.queue.take(endpoint));
        }
        items
    }

    /// A delivery goes elsewhere, or its message does.
    pub(super) fn left(&self, share: &Share) {
        self.lock().leave(share);
    }

    /// Begins to take from a lane, in which something stands, unless somebody here does already.
    pub(super) fn begin_lane(
        &self,
        endpoint: EndpointId,
        has_open_breaker: bool,
        has_strays: bool,
    ) -> Option<Arc<Notify>> {
        let mut inner = self.lock();
        let slots = inner.slots(endpoint, self.per_endpoint);
        slots.is_drained = false;
        slots.has_open_breaker |= has_open_breaker;
        if slots.lane.is_some() {
            return None;
        }
        slots.has_strays = has_strays;
        let wake = Arc::new(Notify::new());
        slots.lane = Some(Arc::clone(&wake));
        Some(wake)
    }

    pub(super) fn lane_is_drained(&self, endpoint: EndpointId) {
        let mut inner = self.lock();
        inner.slots(endpoint, self.per_endpoint).is_drained = true;
    }

    pub(super) fn end_lane(&self, endpoint: EndpointId) {
        let mut inner = self.lock();
        inner.slots(endpoint, self.per_endpoint).lane = None;
    }

    /// Something about an endpoint changed. When its breaker closes, whoever closed it, it is sent to
    /// slowly at first.
    pub(super) fn heard(&self, endpoint: EndpointId, has_open_breaker: bool) {
        let mut inner = self.lock();
        let Some(slots) = inner.endpoints.get_mut(&endpoint) else {
            return;
        };
        let had = std::mem::replace(&mut slots.has_open_breaker, has_open_breaker);
        if had && !has_open_breaker {
            slots.breaker_closed();
        }
        if let Some(lane) = &slots.lane {
            lane.notify_one();
        }
        inner.block_if_full(endpoint);
    }

    /// A rule does not go to this endpoint any more; to which ones, if that is not known (`None`), may be any.
    pub(super) fn rules_left(&self, endpoint: Option<EndpointId>) {
        let mut inner = self.lock();
        match endpoint {
            Some(endpoint) => inner
                .endpoints
                .get_mut(&endpoint)
                .into_iter()
                .for_each(EndpointSlots::rule_left),
            None => inner
                .endpoints
                .values_mut()
                .for_each(EndpointSlots::rule_left),
        }
    }

    /// Whether something may stand in the lane that belongs elsewhere now; asked again, no more.
    pub(super) fn take_strays(&self, endpoint: EndpointId) -> bool {
        let mut inner = self.lock();
        let slots = inner.slots(endpoint, self.per_endpoint);
        std::mem::take(&mut slots.has_strays)
    }

    pub(super) fn wake_all_lanes(&self) {
        let inner = self.lock();
        for lane in inner
            .endpoints
            .values()
            .filter_map(|slots| slots.lane.as_ref())
        {
            lane.notify_one();
        }
    }
}

impl Inner {
    fn new(per_host: u32) -> Self {
        Self {
            queue: FairQueue::new(),
            hosts: Hosts::new(per_host),
            endpoints: HashMap::new(),
            in_flight: 0,
            retries_in_flight: 0,
            unrecorded: 0,
        }
    }

    fn slots(&mut self, endpoint: EndpointId, per_endpoint: u32) -> &mut EndpointSlots {
        let slots = self.endpoints.entry(endpoint);
        slots.or_insert_with(|| EndpointSlots::new(per_endpoint))
    }

    fn free(&mut self, share: &Share, kind: Kind) {
        self.in_flight -= 1;
        self.retries_in_flight -= usize::from(kind == Kind::Retry);
        if let Some(slots) = self.endpoints.get_mut(&share.endpoint) {
            slots.in_flight -= 1;
        }
        self.block_if_full(share.endpoint);
        self.hosts.give_back(share.message.org, share.host);
        self.call(share.host);
    }

    /// A delivery does not wait for an answer of its endpoint any more; with the last of its share there is room for
    /// another.
    fn leave(&mut self, share: &Share) {
        if !share.leave() {
            return;
        }
        if let Some(slots) = self.endpoints.get_mut(&share.endpoint) {
            slots.shares = slots.shares.saturating_sub(1);
            if let Some(lane) = &slots.lane {
                lane.notify_one();
            }
        }
        if self.endpoints.len() > IDLE_ENDPOINTS_MAX {
            self.forget_idle();
        }
    }

    /// An endpoint gets no more than its limit, which changes with every answer.
    fn block_if_full(&mut self, endpoint: EndpointId) {
        let is_full = self
            .endpoints
            .get(&endpoint)
            .is_some_and(|slots| slots.in_flight >= slots.window.limit());
        if is_full {
            self.queue.block(endpoint);
        } else {
            self.queue.unblock(endpoint);
        }
    }

    /// Takes a place at its host for whoever is next; who finds none stands aside until called.
    fn take_place(&mut self, retries_too: bool) -> Option<()> {
        loop {
            let (org, host) = self.queue.next(retries_too)?;
            if self.hosts.take(org, host) {
                return Some(());
            }
            counter!(names::DELIVERY_HOST_WAITS).increment(1);
            self.queue.block_host(org, host);
        }
    }

    /// Calls as many to a host as there are places. Those who have nothing to send any more do not count.
    fn call(&mut self, host: Host) {
        let mut places = self.hosts.free(host);
        while places > 0 {
            let Some(org) = self.hosts.call(host) else {
                return;
            };
            places -= u32::from(self.queue.unblock_host(org, host));
        }
    }

    fn jobs(&self, endpoint: EndpointId) -> usize {
        let in_flight = self
            .endpoints
            .get(&endpoint)
            .map_or(0, |slots| slots.in_flight);
        self.queue.waiting(endpoint) + usize::try_from(in_flight).unwrap_or(usize::MAX)
    }

    fn forget_idle(&mut self) {
        self.endpoints
            .retain(|_, slots| slots.in_flight > 0 || slots.shares > 0 || slots.lane.is_some());
    }
}
