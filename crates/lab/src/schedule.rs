//! In which order the starts run.

use preheat_analyze::stats::Rng;

/// Rounds in which every unit that is not done has one start, each round in an order
/// of its own: what drifts on the machine meanwhile touches all units alike.
pub fn schedule(starts: &[usize], seed: u64) -> Vec<usize> {
    let mut rng = Rng::new(seed);
    let rounds = starts.iter().copied().max().unwrap_or(0);
    let mut order = Vec::with_capacity(starts.iter().sum());
    for round in 0..rounds {
        let mut units: Vec<usize> = (0..starts.len())
            .filter(|&unit| starts[unit] > round)
            .collect();
        rng.shuffle(&mut units);
        order.extend(units);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_gets_its_starts_in_rounds() {
        let order = schedule(&[3, 1, 2], 7);
        assert_eq!(order.len(), 6);
        let mut first = order[..3].to_vec();
        first.sort_unstable();
        assert_eq!(first, [0, 1, 2]);
        assert_eq!(order.iter().filter(|&&unit| unit == 0).count(), 3);
    }

    #[test]
    fn the_seed_decides() {
        let starts = [5; 9];
        assert_eq!(schedule(&starts, 1), schedule(&starts, 1));
        assert_ne!(schedule(&starts, 1), schedule(&starts, 2));
    }
}
