//! Judges iteration times that other tools measured.
//!
//! [`Times`] is the input: the iterations of every start of one benchmark. [`judge`] turns
//! it into a [`Benchmark`]: class, steady start, first, steady, ratio and excess with their
//! intervals, and how many iterations to discard. A
//! [`ClassifyReport`](preheat_model::classify::ClassifyReport) contains all of them and is the
//! document `preheat.classify/2`.
//!
//! Reading files is the job of `preheat-times`; the statistics come from [`crate::stats`].

use crate::stats::{self, Class, MUCH_SLOWER, SeriesSummary};
use crate::units::duration;

pub(crate) use preheat_model::classify::{Benchmark, Format, Measures, Start, Times};

/// The usual duration of an iteration in seconds.
const PLAUSIBLE_SECONDS: std::ops::RangeInclusive<f64> = 1e-9..=86_400.0;

/// Judges one benchmark of this file, on up to `threads` threads. Returns `None` without
/// starts, or if a start has no iterations or a time that is not finite and above zero.
pub fn judge(
    times: &Times,
    file: &str,
    format: Format,
    seed: u64,
    threads: usize,
) -> Option<Benchmark> {
    let found = stats::summarize_on(&times.starts, seed, threads)?;
    let starts: Vec<Start> = (times.starts.iter().zip(&found.starts))
        .map(|(values, start)| Start {
            class: start.class,
            iterations: values.len(),
            steady_start: start.steady_start,
            first: start.first,
            steady: start.steady,
            excess: start.excess,
        })
        .collect();
    let settled = starts.iter().filter(|start| start.steady.is_some()).count();
    let firsts = stats::firsts(&found.starts).into_iter();
    let firsts: Vec<Vec<f64>> = firsts.map(|first| vec![first]).collect();
    let steadies: Vec<Vec<f64>> = (times.starts.iter().zip(&starts))
        .filter_map(|(values, start)| Some(values[start.steady_start?.max(1)..].to_vec()))
        .collect();
    let excesses: Vec<f64> = starts.iter().filter_map(|start| start.excess).collect();
    Some(Benchmark {
        name: times.name.clone(),
        file: file.to_owned(),
        format,
        measures: times.measures,
        class: found.class,
        consistency: found.consistency,
        settled,
        first: stats::interval(&firsts, seed)?,
        steady: stats::interval(&steadies, seed),
        ratio: found.ratio,
        excess: stats::mean_interval(&excesses),
        discard: discard(found.class, &starts),
        notes: notes(times, format, &found, settled),
        starts,
    })
}

/// Notes for the reader besides the numbers.
fn notes(times: &Times, format: Format, found: &SeriesSummary, settled: usize) -> Vec<String> {
    let mut notes = times.notes.clone();
    let starts = times.starts.len();
    let longest = times.starts.iter().map(Vec::len).max().unwrap_or(0);
    let many = times.measures.plural();
    if longest < 3 {
        notes.push(format!(
            "a steady state needs at least three {many}, but there are only {longest}"
        ));
    } else if settled > 0 && settled < starts {
        let (others, are) = match starts - settled {
            1 => ("1 start has".to_owned(), "is"),
            n => (format!("{n} starts have"), "are"),
        };
        notes.push(format!(
            "{others} no steady state and {are} left out of first, steady, ratio and excess"
        ));
    }
    if times.measures == Measures::Iterations && settled > 0 && settled < stats::MIN_STARTS {
        notes.push(format!(
            "intervals need at least three starts that settle, but there {}",
            if settled == 1 {
                "is only 1"
            } else {
                "are only 2"
            }
        ));
    }
    if let (Class::Flat, Some(ratio)) = (found.class, found.ratio)
        && ratio.value >= MUCH_SLOWER
    {
        let one = times.measures.plural();
        notes.push(format!(
            "the first takes {:.1}× the steady time, but later {one} are as slow now and then: the \
             class is flat",
            ratio.value
        ));
    }
    let typical = found.steady.unwrap_or(found.first);
    if !format.has_unit() && !PLAUSIBLE_SECONDS.contains(&typical) {
        notes.push(format!(
            "an iteration of {} is unusual: if the file is not in seconds, set its unit with --unit",
            duration(typical)
        ));
    }
    notes
}

// How many iterations to discard.
//
// Benchmark tools accept one number for all starts of a benchmark. It should cover the
// starts: after that many iterations they are steady. The largest `steady_start` would do,
// but among a hundred starts, one with a late hiccup would determine the number for all.
// So this is the smallest number that covers at least 95 % of the starts that settle: the
// largest one for up to nineteen starts; beyond that, one in twenty may be later.

/// The fraction of settling starts to cover.
const COVERAGE: f64 = 0.95;

/// The number for the starts of a benchmark of this class; `None` without a steady state.
fn discard(class: Class, starts: &[Start]) -> Option<usize> {
    if class == Class::NoSteadyState {
        return None;
    }
    let mut warmups: Vec<usize> = starts.iter().filter_map(|s| s.steady_start).collect();
    warmups.sort_unstable();
    let covering = (COVERAGE * warmups.len() as f64).ceil() as usize;
    let covered = *warmups.get(covering.checked_sub(1)?)?;
    // Only all starts together may show that the first iteration is slow.
    Some(match class {
        Class::Flat => covered,
        Class::ColdFirst | Class::Warmup | Class::Slowdown | Class::NoSteadyState => covered.max(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Consistency, Rng};

    fn times(starts: Vec<Vec<f64>>) -> Times {
        Times {
            name: "b".to_owned(),
            measures: Measures::Iterations,
            starts,
            notes: vec!["a note of the file".to_owned()],
        }
    }

    /// A start whose first `slow` iterations are three times slower.
    fn start(rng: &mut Rng, n: usize, slow: usize) -> Vec<f64> {
        (0..n)
            .map(|i| if i < slow { 0.03 } else { 0.01 })
            .map(|level| level * (0.01 * rng.normal()).exp())
            .collect()
    }

    /// Every tenth iteration is as slow as the first.
    #[test]
    fn a_slow_first_among_slow_ones_is_explained() {
        let spiky: Vec<f64> = (0..60)
            .map(|at| if at % 10 == 0 { 0.319 } else { 0.01 })
            .collect();
        let found = judged(&times(vec![spiky; 2]));
        assert_eq!(found.class, Class::Flat);
        assert!((found.ratio.unwrap().value - 31.9).abs() < 0.01);
        let notes = found.notes.join(" ");
        assert!(notes.contains("takes 31.9× the steady time"), "{notes}");
        let mut rng = Rng::new(9);
        let even: Vec<Vec<f64>> = (0..2).map(|_| start(&mut rng, 50, 0)).collect();
        let notes = judged(&times(even)).notes.join(" ");
        assert!(!notes.contains("now and then"), "{notes}");
    }

    fn judged(times: &Times) -> Benchmark {
        judge(times, "f.csv", Format::WarmupStats, 1, 1).unwrap()
    }

    #[test]
    fn a_warm_up_has_all_its_numbers() {
        let mut rng = Rng::new(1);
        let warmups = [20, 21, 25, 20, 22];
        let found = judged(&times(
            warmups.iter().map(|n| start(&mut rng, 200, *n)).collect(),
        ));
        assert_eq!(found.class, Class::Warmup);
        assert_eq!(found.consistency, Consistency::Consistent);
        assert_eq!((found.settled, found.discard), (5, Some(25)));
        assert_eq!(found.iterations(), (200, 200));
        let begins: Vec<_> = found.starts.iter().map(|s| s.steady_start).collect();
        assert_eq!(begins, warmups.map(Some));
        // Each estimate is near the true value, and within its interval.
        let (first, steady) = (found.first, found.steady.unwrap());
        let (ratio, excess) = (found.ratio.unwrap(), found.excess.unwrap());
        for (found, truth) in [(first, 0.03), (steady, 0.01), (ratio, 3.0), (excess, 0.432)] {
            assert!((found.value / truth - 1.0).abs() < 0.05, "{found:?}");
            assert!(found.low.unwrap() <= found.value && found.value <= found.high.unwrap());
        }
        assert!((first.value / steady.value / ratio.value - 1.0).abs() < 1e-9);
        assert_eq!(found.notes, ["a note of the file"]);
    }

    #[test]
    fn starts_that_do_not_settle_are_left_out_with_a_note() {
        let mut rng = Rng::new(2);
        let mut starts: Vec<_> = (0..4).map(|_| start(&mut rng, 100, 1)).collect();
        starts.push((0..100).map(|i| 0.01 + 0.001 * f64::from(i)).collect());
        let found = judged(&times(starts));
        assert_eq!(found.class, Class::ColdFirst);
        assert_eq!(found.consistency, Consistency::BadInconsistent);
        assert_eq!((found.settled, found.discard), (4, Some(1)));
        assert!(found.notes[1].starts_with("1 start has no steady state and is left out"));
    }

    #[test]
    fn short_series_and_single_starts_get_notes() {
        let found = judged(&times(vec![vec![0.1, 0.1]; 4]));
        assert_eq!(found.class, Class::NoSteadyState);
        assert_eq!(
            (found.steady, found.ratio, found.excess),
            (None, None, None)
        );
        assert_eq!((found.settled, found.discard), (0, None));
        assert!(found.notes[1].contains("three iterations, but there are only 2"));
        let found = judged(&times(vec![start(&mut Rng::new(3), 50, 1)]));
        assert_eq!((found.first.low, found.discard), (None, Some(1)));
        assert!(
            found.notes[1].ends_with("but there is only 1"),
            "{:?}",
            found.notes
        );
    }

    #[test]
    fn implausible_durations_get_a_note() {
        let mut rng = Rng::new(4);
        let days: Vec<f64> = start(&mut rng, 50, 1).iter().map(|t| t * 1e8).collect();
        let list = times(vec![days]);
        let doubts = |found: Benchmark| found.notes.iter().any(|n| n.contains("--unit"));
        assert!(doubts(judged(&list)));
        let jmh = judge(&list, "f", Format::Jmh, 1, 1).unwrap();
        assert!(!doubts(jmh));
    }

    #[test]
    fn invalid_times_are_not_judged() {
        for bad in [vec![], vec![vec![]], vec![vec![1.0, f64::NAN]]] {
            assert_eq!(judge(&times(bad), "f", Format::Json, 1, 1), None);
        }
    }

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
