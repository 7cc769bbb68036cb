//! The order in which the starts run.
//!
//! A time budget may end the order anywhere, so what matters most comes first: one start of
//! everything, then as many starts of what the claims rest on as an interval needs, then as
//! many of the details, then the rest.

use preheat_analyze::stats::{FEWEST, Rng};

/// The starts of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// How many.
    pub starts: usize,
    /// Whether it can wait until all others have an interval.
    pub detail: bool,
}

/// Starts until there is an interval: the first one does not count.
const INTERVAL: usize = FEWEST + 1;

/// The units in the order of their starts. They run in rounds in which every unit that is not
/// done has one start, each round in another order: a drift of the machine affects all of them
/// alike. In a `quick` order even the first starts of details wait.
pub fn schedule(units: &[Wanted], seed: u64, quick: bool) -> Vec<usize> {
    let mut rng = Rng::new(seed);
    let most = units.iter().map(|unit| unit.starts).max().unwrap_or(0);
    let mut order = Vec::with_capacity(units.iter().map(|unit| unit.starts).sum());
    let mut rounds = |rounds: std::ops::Range<usize>, detail: &[bool]| {
        for round in rounds {
            let mut round: Vec<usize> = (0..units.len())
                .filter(|&unit| units[unit].starts > round)
                .filter(|&unit| detail.contains(&units[unit].detail))
                .collect();
            rng.shuffle(&mut round);
            order.extend(round);
        }
    };
    let begun = if quick {
        0
    } else {
        rounds(0..1, &[false, true]);
        1
    };
    rounds(begun..INTERVAL, &[false]);
    rounds(begun..INTERVAL, &[true]);
    rounds(INTERVAL..most, &[false, true]);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(starts: &[usize]) -> Vec<Wanted> {
        let wanted = |&starts| Wanted {
            starts,
            detail: false,
        };
        starts.iter().map(wanted).collect()
    }

    #[test]
    fn details_wait_until_the_others_have_an_interval() {
        let mut units = all(&[6, 6, 6]);
        units[1].detail = true;
        for quick in [false, true] {
            let order = schedule(&units, 7, quick);
            assert_eq!(order.len(), 18);
            let places: Vec<usize> = (0..order.len()).filter(|&at| order[at] == 1).collect();
            assert_eq!(places.len(), 6);
            if quick {
                // Even its first start waits for four of each of the others.
                assert_eq!(places[0], 8);
            } else {
                assert!(places[0] < 3);
                assert_eq!(places[1], 9);
            }
        }
    }

    #[test]
    fn every_unit_gets_its_starts_in_rounds() {
        let order = schedule(&all(&[3, 1, 2]), 7, false);
        assert_eq!(order.len(), 6);
        let mut first = order[..3].to_vec();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2]);
        assert_eq!(order.iter().filter(|&&unit| unit == 0).count(), 3);
    }

    #[test]
    fn the_seed_decides() {
        let units = all(&[5; 9]);
        assert_eq!(schedule(&units, 1, false), schedule(&units, 1, false));
        assert_ne!(schedule(&units, 1, false), schedule(&units, 2, false));
    }
}
