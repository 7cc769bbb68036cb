//! The order in which the starts run.
//!
//! A time budget may cut the order off anywhere, so the most informative starts come first:
//! one start of everything, then as many starts as an interval needs, priority by priority,
//! then the rest.

use preheat_model::stats::{FEWEST, Rng};

/// The priority of a unit when time is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Claims depend on it, and a start takes a fraction of a second.
    Quick,
    /// Claims depend on it, and a start takes seconds: a framework is imported.
    Slow,
    /// No claim depends on it alone.
    Detail,
}

/// The starts of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Their number.
    pub starts: usize,
    /// Their priority over those of other units.
    pub priority: Priority,
}

/// Starts needed for an interval: the first one does not count.
const INTERVAL: usize = FEWEST + 1;

/// Returns the unit of each start, in order. Starts run in rounds with one start of every
/// unfinished unit of a priority, each round in a different order, so that drift of the
/// machine affects all units alike. In a `quick` order, even the first starts of details
/// wait.
pub fn schedule(units: &[Wanted], seed: u64, quick: bool) -> Vec<usize> {
    use Priority::{Detail, Quick, Slow};
    let mut rng = Rng::new(seed);
    let most = units.iter().map(|unit| unit.starts).max().unwrap_or(0);
    let mut order = Vec::with_capacity(units.iter().map(|unit| unit.starts).sum());
    let mut rounds = |rounds: std::ops::Range<usize>, of: &[Priority]| {
        for round in rounds {
            let mut round: Vec<usize> = (0..units.len())
                .filter(|&unit| units[unit].starts > round)
                .filter(|&unit| of.contains(&units[unit].priority))
                .collect();
            rng.shuffle(&mut round);
            order.extend(round);
        }
    };
    rounds(0..1, &[Quick, Slow]);
    if !quick {
        rounds(0..1, &[Detail]);
    }
    rounds(1..INTERVAL, &[Quick]);
    rounds(1..INTERVAL, &[Slow]);
    rounds(usize::from(!quick)..INTERVAL, &[Detail]);
    rounds(INTERVAL..most, &[Quick, Slow, Detail]);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(starts: &[usize]) -> Vec<Wanted> {
        let wanted = |&starts| Wanted {
            starts,
            priority: Priority::Quick,
        };
        starts.iter().map(wanted).collect()
    }

    #[test]
    fn slow_units_wait_until_the_others_have_an_interval() {
        let mut units = all(&[6, 6, 6]);
        units[0].priority = Priority::Detail;
        units[1].priority = Priority::Slow;
        for quick in [false, true] {
            let order = schedule(&units, 7, quick);
            assert_eq!(order.len(), 18);
            let expected: [usize; 12] = match quick {
                // Even the first start of the detail waits.
                true => [1, 2, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0],
                false => [1, 2, 0, 2, 2, 2, 1, 1, 1, 0, 0, 0],
            };
            let mut begun = order[..12].to_vec();
            begun[..2].sort_unstable();
            assert_eq!(begun, expected);
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
    fn the_seed_determines_the_order() {
        let units = all(&[5; 9]);
        assert_eq!(schedule(&units, 1, false), schedule(&units, 1, false));
        assert_ne!(schedule(&units, 1, false), schedule(&units, 2, false));
    }
}
