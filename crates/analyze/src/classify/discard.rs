//! How many iterations to discard.
//!
//! Benchmark tools accept one number for all starts of a benchmark. It should cover the
//! starts: after that many iterations they are steady. The largest `steady_start` would do,
//! but among a hundred starts, one with a late hiccup would determine the number for all.
//! So this is the smallest number that covers at least 95 % of the starts that settle: the
//! largest one for up to nineteen starts; beyond that, one in twenty may be later.

use super::Start;
use crate::stats::Class;

/// The fraction of settling starts to cover.
const COVERED: f64 = 0.95;

/// The number for the starts of a benchmark of this class; `None` without a steady state.
pub(super) fn discard(class: Class, starts: &[Start]) -> Option<usize> {
    if class == Class::NoSteadyState {
        return None;
    }
    let mut warmups: Vec<usize> = starts.iter().filter_map(|s| s.steady_start).collect();
    warmups.sort_unstable();
    let covering = (COVERED * warmups.len() as f64).ceil() as usize;
    let covered = *warmups.get(covering.checked_sub(1)?)?;
    // Only all starts together may show that the first iteration is slow.
    Some(match class {
        Class::Flat => covered,
        _ => covered.max(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(warmups: &[Option<usize>]) -> Vec<Start> {
        let start = |steady_start: &Option<usize>| Start {
            class: Class::Warmup,
            iterations: 100,
            steady_start: *steady_start,
            first: 1.0,
            steady: None,
            excess: None,
        };
        warmups.iter().map(start).collect()
    }

    #[test]
    fn few_starts_are_all_covered_but_one_in_twenty_of_many_is_not() {
        let few = starts(&[Some(3), Some(90), None, Some(4)]);
        assert_eq!(discard(Class::Warmup, &few), Some(90));
        let mut many = vec![Some(5); 19];
        many.push(Some(70));
        assert_eq!(discard(Class::Warmup, &starts(&many)), Some(5));
        many.pop();
        many[7] = Some(70);
        assert_eq!(discard(Class::Warmup, &starts(&many)), Some(70));
    }

    #[test]
    fn the_class_affects_the_result() {
        let flat = starts(&[Some(0), Some(0), Some(0)]);
        assert_eq!(discard(Class::Flat, &flat), Some(0));
        assert_eq!(discard(Class::ColdFirst, &flat), Some(1));
        assert_eq!(discard(Class::NoSteadyState, &flat), None);
        assert_eq!(discard(Class::Warmup, &starts(&[None])), None);
        assert_eq!(discard(Class::Flat, &[]), None);
    }
}
