//! The order of the starts.

use preheat_model::run::Temperature;
use preheat_model::stats::Rng;

/// The temperatures of all starts, in order: shuffled rounds with one start of each, so
/// that drift on the machine affects all equally. The very first start is at the warmest
/// temperature: it may find cold disks and caches anyway, it is reported separately, and
/// the files that it reads are evicted before the others.
pub(crate) fn order(temperatures: &[Temperature], starts: usize, seed: u64) -> Vec<Temperature> {
    let mut each = temperatures.to_vec();
    each.sort_unstable();
    each.dedup();
    if each.is_empty() {
        each.push(Temperature::Process);
    }
    let warmest = each[0];
    // A disk-cold start evicts files that an earlier start has read, so at least two starts
    // are needed.
    let starts = match each[..] {
        [Temperature::Disk] => starts.max(2),
        _ => starts.max(1),
    };
    let mut rng = Rng::new(seed);
    let mut all = Vec::with_capacity(starts * each.len());
    for round in 0..starts {
        rng.shuffle(&mut each);
        if round == 0 {
            let at = each.iter().position(|&t| t == warmest).unwrap_or(0);
            each.swap(0, at);
        }
        all.extend_from_slice(&each);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::Temperature::{Caches, Disk, Process};
    use super::*;

    #[test]
    fn each_round_has_each_temperature_and_the_warmest_comes_first() {
        for seed in 0..20 {
            let all = order(&[Caches, Disk, Process, Disk], 4, seed);
            assert_eq!(all.len(), 12);
            assert_eq!(all[0], Process);
            for round in all.chunks(3) {
                let mut round = round.to_vec();
                round.sort_unstable();
                assert_eq!(round, [Process, Disk, Caches]);
            }
            assert_eq!(order(&[Caches, Disk], 2, seed)[0], Disk);
        }
    }

    #[test]
    fn the_seed_decides() {
        let by = |seed| order(&[Process, Disk, Caches], 8, seed);
        assert_eq!(by(1), by(1));
        assert!((2..20).any(|seed| by(seed) != by(1)));
    }

    #[test]
    fn the_default_is_one_plain_start_and_disk_needs_two() {
        assert_eq!(order(&[], 1, 0), [Process]);
        assert_eq!(order(&[], 0, 0), [Process]);
        assert_eq!(order(&[Disk], 1, 0), [Disk, Disk]);
    }
}
