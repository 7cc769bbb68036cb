//! Finds the steady state of a start.
//!
//! Changepoints (PELT on the logarithms, penalty 15 · ln n, as in Barrett et al. 2017) cut
//! the iterations after the first into segments. From the last one backwards, segments at
//! the same level (within 5 %, as in Traini et al. 2022) belong to the steady state.
//! Segments have at least two iterations, so shorter runs are examined individually: a
//! warm-up of one or two iterations is neither an outlier nor half of a segment.
//!
//! Iteration 0 is not judged here: it is estimated separately.

use scatter::{MIN_SPREAD, Scatter, same_level};

use super::{median, pelt, scatter};

/// The minimum share of a series that must be steady.
const MIN_SHARE: f64 = 0.25;
/// The minimum number of steady iterations, where a series has more than this.
const MIN_COUNT: usize = 3;
/// A slow or fast interval of at most this share, with the steady level on both sides,
/// interrupts the steady state without ending it.
const INTERRUPTION: f64 = 0.05;

/// The steady state of one start.
pub(super) struct Steady {
    /// The index of the first steady iteration, never 0.
    pub(super) start: usize,
    /// The median of the steady iterations.
    pub(super) level: f64,
    /// True if iteration 0 is slow compared with steady ones.
    pub(super) first_is_slow: bool,
    /// True if an earlier segment (ignoring iteration 0) was faster than steady.
    pub(super) was_faster: bool,
}

/// Finds the steady state of positive, finite times, if there is one.
pub(super) fn find(values: &[f64]) -> Option<Steady> {
    let n = values.len();
    let tick = scatter::tick(values.get(1..)?);
    let mut cuts = segment_starts(values, tick);
    let mut start = settle(values, &cuts, tick);
    while start + 1 < n && scatter::drifts(&values[start..], tick) {
        start += (n - start) / 2;
        cuts.retain(|cut| *cut < start);
        cuts.push(start);
    }
    start = one_by_one(values, start, &cuts, tick);

    let least = (MIN_SHARE * n as f64).ceil() as usize;
    let least = least.max(MIN_COUNT.min(n - 1)).max(2);
    let steady = values.get(start..)?;
    let few_and_apart = steady.len() <= MIN_COUNT && !close(steady);
    if steady.len() < least || few_and_apart {
        return None;
    }
    let scatter = Scatter::of(steady, tick)?;
    let level = scatter.level();
    cuts.retain(|cut| *cut < start);
    cuts.push(start);
    let faster = |pair: &[usize]| {
        let before = median(&values[pair[0]..pair[1]]).unwrap_or(level);
        before < level && !same_level(before, level, tick)
    };
    Some(Steady {
        start,
        level,
        first_is_slow: scatter.is_slow(values[0]),
        was_faster: cuts.windows(2).any(faster),
    })
}

/// The starts of the segments after the first iteration; the first is at 1.
fn segment_starts(values: &[f64], tick: f64) -> Vec<usize> {
    let logs: Vec<f64> = values[1..].iter().map(|v| v.ln()).collect();
    let level = median(&values[1..]).unwrap_or(1.0);
    let logs = scatter::replaced(&logs, MIN_SPREAD);
    let penalty = 15.0 * (logs.len() as f64).ln();
    // A clock with a tick adds the variance of rounding, tick²/12.
    let floor = (tick / level).powi(2) / 12.0 + MIN_SPREAD.powi(2);
    let mut cuts = pelt::segments(&logs, penalty, 2, floor);
    cuts.pop();
    let mut starts = vec![1];
    starts.extend(cuts.into_iter().map(|end| end + 1));
    starts
}

/// The earliest segment start after which all segments have the level of the last one.
fn settle(values: &[f64], cuts: &[usize], tick: f64) -> usize {
    let n = values.len();
    let short = INTERRUPTION * n as f64;
    let level = |from: usize, to: usize| median(&values[from..to]).unwrap_or(0.0);
    let mut start = cuts[cuts.len() - 1];
    let mut before = cuts.len() - 1;
    while before > 0 {
        let steady = level(start, n);
        let (from, to) = (cuts[before - 1], cuts[before]);
        if same_level(level(from, to), steady, tick) {
            start = from;
            before -= 1;
            continue;
        }
        let Some(earlier) = before.checked_sub(2).map(|i| cuts[i]) else {
            break;
        };
        let interrupts = (to - from) as f64 <= short && from - earlier > to - from;
        if !interrupts || !same_level(level(earlier, from), steady, tick) {
            break;
        }
        start = earlier;
        before -= 2;
    }
    start
}

/// Moves the start past slow (or fast) iterations that are too few for a segment, and back
/// over one that is in a segment of two only because no segment is shorter.
fn one_by_one(values: &[f64], start: usize, cuts: &[usize], tick: f64) -> usize {
    let n = values.len();
    // The later half is least affected by warm-up; of a few, all but one.
    let skipped = ((n - start) / 2).min((n - start).saturating_sub(2));
    let Some(core) = Scatter::of(&values[start + skipped..], tick) else {
        return start;
    };
    let mut start = start;
    let alone = cuts.iter().any(|cut| cut + 2 == start);
    if alone && same_level(values[start - 1], core.level(), tick) {
        start -= 1;
    }
    // Only following another one: alone it would be an outlier.
    let side = core.compare(values[start - 1]);
    if side.is_ne() {
        while start < n && core.compare(values[start]) == side {
            start += 1;
        }
    }
    start
}

/// Returns true if a few values are of similar size.
fn close(values: &[f64]) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    values.iter().all(|v| *v <= 1.5 * least)
}

#[cfg(test)]
mod tests {
    use super::super::Rng;
    use super::*;

    fn noisy(levels: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let mut rng = Rng::new(1);
        let noise = |level| level * (1.0 + 0.01 * rng.normal());
        levels.into_iter().map(noise).collect()
    }

    #[test]
    fn segments_at_one_level_are_steady_together() {
        // Only the spread changes at 50: two segments, one level.
        let mut values = noisy(vec![1.0; 100]);
        let mut rng = Rng::new(2);
        values[50..]
            .iter_mut()
            .for_each(|v| *v += 0.2 * rng.normal());
        assert_eq!(segment_starts(&values, 0.0).len(), 2);
        assert_eq!(find(&values).unwrap().start, 1);
    }

    #[test]
    fn the_first_iteration_does_not_move_the_start() {
        for first in [0.1, 1.0, 1000.0] {
            let mut values = noisy(vec![1.0; 30]);
            values[0] = first;
            let found = find(&values).unwrap();
            assert_eq!(found.start, 1);
            assert_eq!(found.first_is_slow, first > 1.5);
            assert!(!found.was_faster);
        }
    }

    #[test]
    fn a_segment_of_two_gives_back_the_settled_one() {
        // Too short for the outlier filter: the cut comes after a settled iteration.
        let values = [20.0, 1.0, 0.01, 0.01, 0.01];
        assert_eq!(segment_starts(&values, 0.0), [1, 3]);
        assert_eq!(find(&values).unwrap().start, 2);
    }

    #[test]
    fn short_interruptions_are_bridged_and_long_ones_are_not() {
        let interrupted = |length: usize| {
            let slow = |i| (50..50 + length).contains(&i);
            noisy((0..100).map(move |i| if slow(i) { 2.0 } else { 1.0 }))
        };
        assert_eq!(find(&interrupted(5)).unwrap().start, 1);
        assert_eq!(find(&interrupted(20)).unwrap().start, 70);
    }

    #[test]
    fn a_slope_without_changepoints_is_not_steady() {
        let falling = noisy((0..20).map(|i| (-0.1 * f64::from(i)).exp()));
        assert_eq!(segment_starts(&falling, 0.0), [1]);
        assert!(find(&falling).is_none());
    }
}
