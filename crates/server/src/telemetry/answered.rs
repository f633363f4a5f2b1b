//! Counts answers. Who looks a metric up by its labels copies them, so what was looked up is kept: as much as there are routes,
//! methods that we know, and statuses.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
    time::Duration,
};

use metrics::{Counter, Histogram, counter, histogram};

use super::metrics as names;

/// The metrics of answers, by what their labels say.
#[derive(Default)]
pub struct Answered {
    by_route: RwLock<HashMap<String, OfRoute>>,
}

type OfRoute = HashMap<(&'static str, u16), Kept>;

struct Kept {
    seconds: Histogram,
    answers: Counter,
}

impl Answered {
    pub fn count(&self, route: &str, method: &'static str, status: u16, took: Duration) {
        let by_route = self.by_route.read().unwrap_or_else(PoisonError::into_inner);
        let kept = by_route.get(route).and_then(|of| of.get(&(method, status)));
        if let Some(kept) = kept {
            return kept.count(took);
        }
        drop(by_route);
        let kept = Kept::look_up(route, method, status);
        kept.count(took);
        let mut by_route = self
            .by_route
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let of_route = by_route.entry(route.to_owned()).or_default();
        of_route.insert((method, status), kept);
    }
}

impl Kept {
    fn look_up(route: &str, method: &'static str, status: u16) -> Self {
        let labels = [("route", route.to_owned()), ("method", method.to_owned())];
        let seconds = histogram!(names::HTTP_REQUEST_SECONDS, &labels);
        let [route, method] = labels;
        let labels = [route, method, ("status", status.to_string())];
        let answers = counter!(names::HTTP_REQUESTS, &labels);
        Self { seconds, answers }
    }

    fn count(&self, took: Duration) {
        self.seconds.record(took);
        self.answers.increment(1);
    }
}
