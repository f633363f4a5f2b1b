//! Chance that is the same in every run, so that a test that failed fails again.

/// Rolls numbers from a seed; with another seed, a test tells another story. `SplitMix64`: small, and
/// good enough to pick with.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number from 0 up to `end`, which is not included.
    pub fn below<N: Into<u64> + TryFrom<u64>>(&mut self, end: N) -> N {
        let rolled = N::try_from(self.roll() % end.into());
        rolled.ok().expect("what is below an N is an N")
    }

    /// Whether it happens, when it does once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of the choices.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.place(choices.len())]
    }

    /// A place in a list of so many.
    pub fn place(&mut self, of: usize) -> usize {
        let place = self.below(of as u64);
        usize::try_from(place).expect("a place in memory")
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
