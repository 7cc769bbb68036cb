//! Seeded random numbers, for resampling and for generated test series.
//!
//! The generator is xoshiro256++ (Blackman & Vigna 2021), with its state initialized by
//! SplitMix64, so that neighboring seeds give unrelated streams. It is small, gives the
//! same numbers on every machine, and is not suitable for secrets. It is written here because a
//! new version of a crate could change the results of old seeds.

/// A seeded generator. The same seed always gives the same numbers.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> Rng {
        let mut x = seed;
        let state = std::array::from_fn(|_| {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = x;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Rng { state }
    }

    /// Sixty-four random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A whole number in `0..n`, uniformly distributed; 0 for `n == 0`.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        if n == 0 {
            return 0;
        }
        // Lemire's multiplication method; the few values that would introduce a bias are
        // drawn again.
        let threshold = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as usize;
            }
        }
    }

    /// A number in `[0, 1)`, uniformly distributed.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * 2f64.powi(-53)
    }

    /// A standard normal number (mean 0, variance 1), by Marsaglia's polar method.
    pub fn normal(&mut self) -> f64 {
        loop {
            let x = 2.0 * self.uniform() - 1.0;
            let y = 2.0 * self.uniform() - 1.0;
            let r = x * x + y * y;
            if r > 0.0 && r < 1.0 {
                return x * (-2.0 * r.ln() / r).sqrt();
            }
        }
    }

    /// Shuffles the items, all orders equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// A gamma variate with scale 1 and a shape of at least 1 (Marsaglia & Tsang 2000);
    /// ratios of two give the beta variates of order statistics.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.uniform()).ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
                return d * v;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let values: Vec<f64> = (0..100_000).map(|_| draw()).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e5;
        (mean, variance)
    }

    #[test]
    fn follows_the_published_algorithm() {
        // State 1, 2, 3, 4: the first outputs of the authors' C code.
        let mut rng = Rng {
            state: [1, 2, 3, 4],
        };
        assert_eq!(rng.next_u64(), 41_943_041);
        assert_eq!(rng.next_u64(), 58_720_359);
        assert_eq!(rng.next_u64(), 3_588_806_011_781_223);
    }

    #[test]
    fn distributions_have_the_expected_moments() {
        let mut rng = Rng::new(1);
        let (mean, variance) = moments(|| rng.uniform());
        assert!((mean - 0.5).abs() < 0.005 && (variance - 1.0 / 12.0).abs() < 0.002);
        let (mean, variance) = moments(|| rng.normal());
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02);
        for shape in [1.0, 2.5, 100.0] {
            let (mean, variance) = moments(|| rng.gamma(shape));
            assert!((mean / shape - 1.0).abs() < 0.02, "{shape}: mean {mean}");
            assert!((variance / shape - 1.0).abs() < 0.04, "{shape}: {variance}");
        }
    }

    #[test]
    fn whole_numbers_are_equally_likely_and_in_range() {
        let mut rng = Rng::new(2);
        let mut counts = [0; 7];
        for _ in 0..70_000 {
            counts[rng.below(7)] += 1;
        }
        assert!(
            counts.iter().all(|c| (9_600..10_400).contains(c)),
            "{counts:?}"
        );
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn shuffling_keeps_every_item_and_depends_on_the_seed() {
        let mut a: Vec<u32> = (0..50).collect();
        let mut b = a.clone();
        Rng::new(3).shuffle(&mut a);
        Rng::new(3).shuffle(&mut b);
        assert_eq!(a, b);
        assert_ne!(a, (0..50).collect::<Vec<_>>());
        a.sort_unstable();
        assert_eq!(a, (0..50).collect::<Vec<_>>());
    }
}
