//! Finds changepoints in the level or the spread of a series.
//!
//! PELT (Killick, Fearnhead & Eckley 2012, "Optimal detection of changepoints with a linear
//! computational cost") finds the exact segmentation that minimises the sum of the
//! segments' costs plus a penalty for each: F(e), the least cost of the first e values, is
//! the least F(t) + cost(t, e) + penalty over all starts t of the last segment, and starts
//! that can never win again are dropped. No maintained crate has it; the tests compare it with
//! `ruptures`.
//!
//! The cost is that of a Gaussian with its own mean and variance, len · ln(variance),
//! without constants that do not change the result (`ruptures` on PyPI calls it
//! `CostNormal`). A small term is *added* to the variance, so that constant segments have a
//! finite cost. Adding preserves "two parts never cost more than the whole", which dropping
//! relies on; a lower limit, max(variance, floor), would not.
//!
//! **Sleepers.** In a flat series no start is ever dropped, which would make the algorithm
//! quadratic in the most common case. But the sum of squares of a growing segment only
//! grows, so a start that is far behind now stays behind for a known time: its future cost
//! is at least len' · ln(squares now / len' + floor), which is concave in len', hence above
//! its chord. Starts that are far behind sleep for a block of ends; one comparison per end
//! with their common chord proves that none of them matters, and where the proof fails they
//! are woken and evaluated. The result is the same as evaluating all of them.

/// The ends of the segments: exclusive and ascending, the last of them `values.len()`, as
/// in `ruptures`. No segment is shorter than `min_size` (at least 2: one value has no
/// spread). A series that is too short to cut, constant or not finite is returned as one
/// segment; an empty one as none.
pub fn breakpoints(values: &[f64], penalty: f64, min_size: usize) -> Vec<usize> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let reach = values
        .iter()
        .fold(0.0, |r, v| f64::max(r, (v - mean).abs()));
    // Beyond seven digits of the data's range, the sums only contain rounding errors.
    segments(values, penalty, min_size, 1e-14 * reach * reach)
}

/// [`breakpoints`] with a given `floor`, the variance that is added to each segment's.
pub(super) fn segments(values: &[f64], penalty: f64, min_size: usize, floor: f64) -> Vec<usize> {
    let n = values.len();
    let min_size = min_size.max(2);
    let usable = values.iter().all(|v| v.is_finite()) && floor > 0.0 && floor.is_finite();
    if n < min_size.saturating_mul(2) || !usable || penalty.is_nan() {
        return if n == 0 { Vec::new() } else { vec![n] };
    }
    Search::new(values, penalty.max(0.0), min_size, floor).run()
}

/// A possible start of the last segment.
#[derive(Clone, Copy)]
struct Start {
    at: usize,
    /// F(at) + penalty: the total before the cost of the last segment.
    base: f64,
    /// The total and the segment's sum of squares when last evaluated.
    total: f64,
    squares: f64,
    /// The first end for which this start is known to be useless.
    useless_from: usize,
}

/// A lower bound for all sleepers together: between two ends, their totals are above the
/// line between the least totals at both ends.
struct Chord {
    from: usize,
    to: usize,
    low_from: f64,
    low_to: f64,
}

impl Chord {
    fn at(&self, end: usize) -> f64 {
        let part = (end - self.from) as f64 / (self.to - self.from) as f64;
        (1.0 - part) * self.low_from + part * self.low_to
    }
}

struct Search {
    sums: Sums,
    penalty: f64,
    min_size: usize,
    floor: f64,
    /// F, and the start of the last segment that attains it.
    best: Vec<(f64, usize)>,
    awake: Vec<Start>,
    asleep: Vec<Start>,
    chord: Option<Chord>,
    /// The number of ends that a start may sleep for.
    nap: usize,
}

impl Search {
    fn new(values: &[f64], penalty: f64, min_size: usize, floor: f64) -> Self {
        let mut best = vec![(f64::INFINITY, 0); values.len() + 1];
        best[0].0 = 0.0;
        Search {
            sums: Sums::new(values),
            penalty,
            min_size,
            floor,
            best,
            awake: Vec::new(),
            asleep: Vec::new(),
            chord: None,
            // A typical loser is one penalty behind, and a sleeper's bound falls by about
            // one per end: half the penalty leaves a margin for noise.
            nap: (penalty / 2.0).clamp(1.0, 64.0) as usize,
        }
    }

    fn run(mut self) -> Vec<usize> {
        let n = self.best.len() - 1;
        for end in self.min_size..=n {
            self.step(end);
        }
        let mut ends = vec![n];
        let mut end = self.best[n].1;
        while end > 0 {
            ends.push(end);
            end = self.best[end].1;
        }
        ends.reverse();
        ends
    }

    /// Computes F(end).
    fn step(&mut self, end: usize) {
        let newest = end - self.min_size;
        if self.best[newest].0.is_finite() {
            self.awake.push(Start {
                at: newest,
                base: self.best[newest].0 + self.penalty,
                total: 0.0,
                squares: 0.0,
                useless_from: usize::MAX,
            });
        }
        self.awake.retain(|s| s.useless_from > end);
        let mut best = self.evaluate(end, 0, (f64::INFINITY, 0));

        let slack = 1e-9 * (1.0 + best.0.abs());
        let proven = |c: &Chord| end < c.to && c.at(end) > best.0 + slack;
        let all_awake = !self.chord.as_ref().is_some_and(proven);
        if all_awake {
            let first = self.awake.len();
            self.awake.append(&mut self.asleep);
            best = self.evaluate(end, first, best);
        }
        self.best[end] = best;

        // A start that is behind F(end) even without the penalty for another segment loses
        // to a segment that begins at `end`, as soon as one may begin there.
        for start in &mut self.awake {
            if start.total - self.penalty > best.0 + slack {
                start.useless_from = start.useless_from.min(end + self.min_size);
            }
        }
        if all_awake {
            self.send_to_sleep(end);
        }
    }

    /// Updates the awake starts from index `first` to `end`; returns the least total among
    /// them and `best`, with its start. Ties go to the earliest start.
    fn evaluate(&mut self, end: usize, first: usize, mut best: (f64, usize)) -> (f64, usize) {
        for start in &mut self.awake[first..] {
            start.squares = self.sums.squares(start.at, end);
            start.total = start.base + cost(end - start.at, start.squares, self.floor);
            if start.total < best.0 || (start.total == best.0 && start.at < best.1) {
                best = (start.total, start.at);
            }
        }
        best
    }

    /// Puts starts to sleep that will not matter before `end + nap`, if the next values
    /// resemble those of the best last segment. All starts are awake before.
    fn send_to_sleep(&mut self, end: usize) {
        let (now, at) = self.best[end];
        let expected = cost(end - at, self.sums.squares(at, end), self.floor) / (end - at) as f64;
        let to = end + self.nap;
        let margin = 0.1 * self.penalty;
        let later = now + self.nap as f64 * expected;
        let (mut low_from, mut low_to) = (f64::INFINITY, f64::INFINITY);
        let asleep = &mut self.asleep;
        self.awake.retain(|start| {
            if start.total < now + margin {
                return true;
            }
            let bound = start.base + cost(to - start.at, start.squares, self.floor);
            if bound < later + margin {
                return true;
            }
            low_from = low_from.min(start.total);
            low_to = low_to.min(bound);
            asleep.push(*start);
            false
        });
        self.chord = Some(Chord {
            from: end,
            to,
            low_from,
            low_to,
        });
    }
}

fn cost(len: usize, squares: f64, floor: f64) -> f64 {
    let len = len as f64;
    len * (squares / len + floor).ln()
}

// Sums over any interval of a series, in constant time.
//
// Values are relative to their mean, and each running sum keeps its rounding error
// separately (Neumaier 1974), so that a quiet interval next to a noisy one keeps its
// digits: a first iteration of 20 s must not hide microseconds of noise.

/// Running sums of the values and of their squares.
pub(super) struct Sums {
    /// Cumulative values before each index: sum, sum of squares, and the errors of both.
    before: Vec<[f64; 4]>,
}

impl Sums {
    pub(super) fn new(values: &[f64]) -> Sums {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut before = Vec::with_capacity(values.len() + 1);
        let (mut plain, mut squared) = ((0.0, 0.0), (0.0, 0.0));
        before.push([0.0; 4]);
        for value in values {
            let value = value - mean;
            plain = add(plain, value);
            squared = add(squared, value * value);
            before.push([plain.0, squared.0, plain.1, squared.1]);
        }
        Sums { before }
    }

    /// The sum of squared deviations from their mean of the values `start..end`, of which
    /// there must be at least one.
    pub(super) fn squares(&self, start: usize, end: usize) -> f64 {
        let (a, b) = (&self.before[start], &self.before[end]);
        let plain = (b[0] - a[0]) + (b[2] - a[2]);
        let squared = (b[1] - a[1]) + (b[3] - a[3]);
        (squared - plain * plain / (end - start) as f64).max(0.0)
    }
}

/// Adds to a sum that tracks its rounding error.
fn add((sum, error): (f64, f64), value: f64) -> (f64, f64) {
    let total = sum + value;
    let lost = if sum.abs() >= value.abs() {
        (sum - total) + value
    } else {
        (value - total) + sum
    };
    (total, error + lost)
}

#[cfg(test)]
mod tests {
    use super::super::Rng;
    use super::*;

    /// The reference: all starts and ends, without dropping or sleeping.
    fn plain(values: &[f64], penalty: f64, min_size: usize, floor: f64) -> Vec<usize> {
        let sums = Sums::new(values);
        let mut best = vec![(f64::INFINITY, 0); values.len() + 1];
        best[0].0 = 0.0;
        for end in min_size..best.len() {
            for at in 0..=end - min_size {
                let total = best[at].0 + penalty + cost(end - at, sums.squares(at, end), floor);
                if total < best[end].0 {
                    best[end] = (total, at);
                }
            }
        }
        let mut ends = vec![values.len()];
        while best[ends[ends.len() - 1]].1 > 0 {
            ends.push(best[ends[ends.len() - 1]].1);
        }
        ends.reverse();
        ends
    }

    /// A series of a few levels and spreads, sometimes rounded, sometimes with spikes.
    fn generate(rng: &mut Rng) -> Vec<f64> {
        let n = 4 + rng.below(400);
        let (mut level, mut spread) = (0.0, 0.01);
        let change = rng.uniform() * 0.05;
        let spikes = if rng.below(3) == 0 { 0.02 } else { 0.0 };
        let grid = if rng.below(4) == 0 { 50.0 } else { 0.0 };
        (0..n)
            .map(|_| {
                if rng.uniform() < change {
                    level += rng.normal() * if rng.below(2) == 0 { 0.05 } else { 1.0 };
                    spread = 0.01 * (2.0 * rng.normal()).exp();
                }
                let spike = if rng.uniform() < spikes { 3.0 } else { 0.0 };
                let value = level + spread * rng.normal() + spike;
                if grid > 0.0 {
                    (value * grid).round() / grid
                } else {
                    value
                }
            })
            .collect()
    }

    #[test]
    fn results_agree_with_the_exhaustive_search() {
        let mut rng = Rng::new(11);
        let mut cuts = 0;
        for case in 0..600 {
            let values = generate(&mut rng);
            let penalty = [0.5, 3.0, 15.0, 15.0 * (values.len() as f64).ln()][case % 4];
            let min_size = 2 + rng.below(4);
            let floor = [1e-12, 1e-6, 1e-3][rng.below(3)];
            if values.len() < 2 * min_size {
                continue;
            }
            let found = segments(&values, penalty, min_size, floor);
            assert_eq!(found, plain(&values, penalty, min_size, floor), "{case}");
            cuts += found.len() - 1;
        }
        assert!(cuts > 1000, "the series are too easy: {cuts} changepoints");
    }

    #[test]
    fn starts_sleep_in_a_flat_series() {
        let mut rng = Rng::new(12);
        let values: Vec<f64> = (0..2000).map(|_| 0.01 * rng.normal()).collect();
        let mut search = Search::new(&values, 15.0 * 2000f64.ln(), 2, 1e-6);
        let mut evaluated = 0;
        for end in 2..=2000 {
            search.step(end);
            evaluated += search.awake.len();
        }
        assert!(evaluated < 2000 * 200, "{evaluated} of about 2000 · 1000");
        assert_eq!(search.best[2000].1, 0);
    }

    #[test]
    fn finds_changes_of_level_and_of_spread() {
        let mut rng = Rng::new(13);
        let series = |rng: &mut Rng, second: (f64, f64)| -> Vec<f64> {
            (0..100)
                .map(|i| if i < 40 { (1.0, 0.01) } else { second })
                .map(|(level, spread)| level + spread * rng.normal())
                .collect()
        };
        let penalty = 15.0 * 100f64.ln();
        for second in [(1.1, 0.01), (0.5, 0.01), (1.0, 0.2)] {
            let found = breakpoints(&series(&mut rng, second), penalty, 2);
            assert_eq!(found.len(), 2, "{second:?}: {found:?}");
            assert!(found[0].abs_diff(40) <= 2, "{second:?}: {found:?}");
        }
        let flat = series(&mut rng, (1.0, 0.01));
        assert_eq!(breakpoints(&flat, penalty, 2), [100]);
    }

    #[test]
    fn series_that_cannot_be_cut_stay_whole() {
        assert_eq!(breakpoints(&[], 1.0, 2), [0; 0]);
        assert_eq!(breakpoints(&[1.0, 2.0, 9.0], 1.0, 2), [3]);
        assert_eq!(breakpoints(&[5.0; 50], 0.0, 2), [50]);
        assert_eq!(breakpoints(&[1.0, f64::NAN, 1.0, 7.0, 7.0], 1.0, 2), [5]);
        assert_eq!(breakpoints(&[1.0, 1.0, 7.0, 7.0], f64::NAN, 2), [4]);
        assert_eq!(breakpoints(&[1.0, 1.0, 7.0, 7.0], f64::INFINITY, 2), [4]);
        assert_eq!(breakpoints(&[1.0, 1.0, 7.0, 7.0], 1.0, 0), [2, 4]);
        assert_eq!(breakpoints(&[1.0, 1.0, 7.0, 7.0], 1.0, usize::MAX), [4]);
    }

    #[test]
    fn a_quiet_interval_after_a_noisy_one_keeps_its_digits() {
        let mut values = vec![1e6; 500];
        values.extend((0..500).map(|i| if i % 2 == 0 { 1.0 } else { 1.001 }));
        let sums = Sums::new(&values);
        // The mean of 500 000 limits the precision of a square to about 1e-16 · 2.5e11.
        let variance = sums.squares(500, 1000) / 500.0;
        assert!((variance - 0.25e-6).abs() < 1e-4, "{variance}");

        let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
        let sums = Sums::new(&logs);
        let variance = sums.squares(500, 1000) / 500.0;
        assert!((variance / 0.249_75e-6 - 1.0).abs() < 1e-3, "{variance}");
    }

    #[test]
    fn constant_values_have_no_squares() {
        let sums = Sums::new(&[0.1; 9]);
        assert_eq!(sums.squares(3, 9), 0.0);
        assert_eq!(sums.squares(3, 4), 0.0);
    }
}
