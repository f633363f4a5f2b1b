//! How a crate names its metrics: once, with what each means.

use metrics::Unit;

/// A metric as it is described to who scrapes it, and on the page of all metrics.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    /// What it is told apart by: bounded, never an organization, a URL or an id.
    pub labels: &'static [&'static str],
    pub meaning: &'static str,
}

/// How a metric is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows; its rate is what matters.
    Counter,
    /// As it is now.
    Gauge,
    /// How often values were how large.
    Histogram,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Metric {
    /// Describes it to the recorder.
    pub fn describe(&self) {
        let Self { name, meaning, .. } = *self;
        let unit = if name.ends_with("_seconds") {
            Unit::Seconds
        } else {
            Unit::Count
        };
        match self.kind {
            Kind::Counter => metrics::describe_counter!(name, unit, meaning),
            Kind::Gauge => metrics::describe_gauge!(name, unit, meaning),
            Kind::Histogram => metrics::describe_histogram!(name, unit, meaning),
        }
    }
}

/// Declares metrics: a constant with the name of each, and the list of them all.
#[macro_export]
macro_rules! metrics {
    ($($id:ident, $kind:ident $name:literal [$($label:literal),*] $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $id: &str = $name;)*

        /// Every metric of this crate, with what it means.
        pub const ALL: &[$crate::metrics::Metric] = &[$($crate::metrics::Metric {
            name: $name,
            kind: $crate::metrics::Kind::$kind,
            labels: &[$($label),*],
            meaning: $meaning,
        },)*];
    };
}
