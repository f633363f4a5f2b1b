//! Figures taken in turn, ours and the bare engine's, and what their ratio came to: a machine that is
//! busy for a while is busy for both.

/// One figure of each side for every round.
#[derive(Default)]
pub(crate) struct Rounds {
    bare: Vec<f64>,
    ours: Vec<f64>,
}

/// The median over all rounds, and how far rounds lay apart.
#[derive(Clone, Copy)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    low: f64,
    high: f64,
}

impl Rounds {
    pub(crate) fn add(&mut self, bare: f64, ours: f64) {
        self.bare.push(bare);
        self.ours.push(ours);
    }

    pub(crate) fn bare(&self) -> f64 {
        median(&self.bare)
    }

    pub(crate) fn ours(&self) -> f64 {
        median(&self.ours)
    }

    /// Ours divided by the bare engine's.
    pub(crate) fn ratio(&self) -> Ratio {
        let ratios: Vec<f64> = self
            .ours
            .iter()
            .zip(&self.bare)
            .map(|(ours, bare)| ours / bare)
            .collect();
        Ratio {
            median: median(&ratios),
            low: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            high: ratios.iter().copied().fold(0.0, f64::max),
        }
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:.2} ({:.2} to {:.2})",
            self.median, self.low, self.high
        )
    }
}

pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
