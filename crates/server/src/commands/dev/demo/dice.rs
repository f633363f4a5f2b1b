//! Chance that comes out the same every time: a demo is a story that can be told again.

/// SplitMix64 (Steele, Lea and Flood 2014). Good enough for a story, and for nothing else.
pub(super) struct Dice(u64);

impl Dice {
    /// Those of the thing with this number.
    pub(super) fn of(number: u64) -> Self {
        Self(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed)
    }

    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    /// True so many times in a thousand.
    pub(super) fn permille(&mut self, share: u64) -> bool {
        self.below(1_000) < share
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let index = self.below(from.len() as u64);
        from[usize::try_from(index).expect("an index of a slice")]
    }

    /// Mostly small, sometimes large: the smallest of three throws.
    pub(super) fn mostly_small(&mut self, end: u64) -> u64 {
        let throws = [self.below(end), self.below(end), self.below(end)];
        throws.into_iter().min().unwrap_or(0)
    }
}
