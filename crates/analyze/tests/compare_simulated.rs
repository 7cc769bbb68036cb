//! Verdicts of comparisons on generated runs with a known truth.

mod simulated;

use preheat_analyze::compare::{RunInput, Settings, compare_runs};
use preheat_model::compare::{CompareKind, CompareReport, QuantityChange, Verdict};
use preheat_model::run::RunReport;
use preheat_model::stats::Estimate;
use preheat_model::stats::Rng;
use simulated::{Noise, Truth, heavy_tailed, run};

const COMPARISONS: usize = 1000;

fn compared(base: &RunReport, new: &RunReport) -> CompareReport {
    let input = |report| RunInput {
        source: "",
        report,
        all_items: None,
    };
    let settings = Settings::new(CompareKind::Runs, "0");
    compare_runs(&input(base), &input(new), &settings)
}

fn quantity<'a>(report: &'a CompareReport, id: &str) -> &'a QuantityChange {
    let mut all = report.quantities.iter();
    all.find(|quantity| quantity.id.id() == id)
        .expect("it exists")
}

fn is_alarm(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Slower | Verdict::Faster)
}

fn alarms(report: &CompareReport) -> bool {
    let quantities = report.quantities.iter().map(|quantity| quantity.verdict);
    let causes = report.causes.iter().map(|cause| cause.verdict);
    quantities.chain(causes).any(is_alarm)
}

/// Compares runs of both truths repeatedly; returns the share for which `holds` is true.
fn shares<const N: usize>(
    base: &Truth,
    new: &Truth,
    seed: u64,
    holds: [fn(&CompareReport) -> bool; N],
) -> [f64; N] {
    let mut rng = Rng::new(seed);
    let mut counts = [0usize; N];
    for _ in 0..COMPARISONS {
        let (base, new) = (run(base, &mut rng), run(new, &mut rng));
        let report = compared(&base, &new);
        for (count, holds) in counts.iter_mut().zip(holds) {
            *count += usize::from(holds(&report));
        }
    }
    counts.map(|count| count as f64 / COMPARISONS as f64)
}

fn truth(starts: usize, noise: f64, draw: Noise) -> Truth {
    Truth {
        starts,
        first: 0.5,
        noise,
        two_levels: false,
        draw,
    }
}

/// At most one in twenty comparisons of equal programs may report any difference.
fn false_alarms(label: &str, same: &Truth, seed: u64) {
    let [alarms, failures] = shares(same, same, seed, [alarms, |report| report.regressed]);
    println!(
        "{label}: {:.1} % of {COMPARISONS} comparisons have a false alarm, {:.1} % fail",
        100.0 * alarms,
        100.0 * failures
    );
    assert!(alarms <= 0.05, "{label}: {alarms}");
    assert!(failures <= 0.005, "{label}: {failures}");
}

#[test]
fn equal_programs_raise_no_alarm_with_ten_starts() {
    false_alarms("3 % noise, 10 starts", &truth(10, 0.03, Rng::normal), 1);
}

#[test]
fn equal_programs_raise_no_alarm_with_heavy_tails() {
    false_alarms("heavy tails, 10 starts", &truth(10, 0.03, heavy_tailed), 2);
}

#[test]
fn equal_programs_raise_no_alarm_with_five_starts() {
    false_alarms("3 % noise, 5 starts", &truth(5, 0.03, Rng::normal), 3);
}

#[test]
fn equal_programs_raise_no_alarm_with_much_noise_and_few_starts() {
    false_alarms("20 % noise, 4 starts", &truth(4, 0.2, Rng::normal), 4);
}

#[test]
fn unequal_noise_and_start_counts_raise_no_alarm() {
    let (base, new) = (truth(20, 0.02, Rng::normal), truth(5, 0.08, Rng::normal));
    let [share] = shares(
        &base,
        &new,
        5,
        [|report| {
            // More noise increases the arithmetic mean; only the geometric mean is the
            // same.
            is_alarm(quantity(report, "time-to-first").verdict)
                || is_alarm(quantity(report, "first").verdict)
        }],
    );
    println!("20 starts against 5 noisier ones: {:.1} %", 100.0 * share);
    assert!(share <= 0.05, "{share}");
}

#[test]
fn memory_with_two_random_levels_raises_no_alarm() {
    for (starts, seed) in [(4, 9), (5, 10), (10, 11)] {
        let same = Truth {
            two_levels: true,
            ..truth(starts, 0.03, Rng::normal)
        };
        false_alarms(&format!("two levels, {starts} starts"), &same, seed);
    }
}

#[test]
fn memory_that_always_grew_is_found() {
    let mut rng = Rng::new(12);
    let same = truth(10, 0.03, Rng::normal);
    let (mut base, mut new) = (run(&same, &mut rng), run(&same, &mut rng));
    for (report, bytes) in [(&mut base, 1 << 30), (&mut new, 5 << 28)] {
        for start in &mut report.starts {
            start.peak_device = Some(bytes);
        }
    }
    let report = compared(&base, &new);
    let found = quantity(&report, "device-memory");
    assert_eq!((found.verdict, found.regressed), (Verdict::Slower, true));
}

#[test]
fn a_first_iteration_that_is_ten_percent_slower_is_found() {
    let base = truth(10, 0.03, Rng::normal);
    let new = Truth {
        first: 0.55,
        ..base
    };
    let [found, fails, wrong] = shares(
        &base,
        &new,
        6,
        [
            |report| quantity(report, "first").verdict == Verdict::Slower,
            |report| report.regressed,
            |report| quantity(report, "first").verdict == Verdict::Faster,
        ],
    );
    println!(
        "10 % slower at 3 % noise, 10 starts: found in {:.1} %, fails the comparison in {:.1} %",
        100.0 * found,
        100.0 * fails
    );
    assert!(found >= 0.9, "{found}");
    assert!(fails >= 0.8, "{fails}");
    assert_eq!(wrong, 0.0);
}

#[test]
fn equal_programs_are_the_same_if_noise_allows() {
    let same = truth(10, 0.01, Rng::normal);
    let [share] = shares(
        &same,
        &same,
        7,
        [|report| report.verdict == Verdict::Same && !report.inconclusive],
    );
    println!("1 % noise: the same in {:.1} %", 100.0 * share);
    assert!(share >= 0.9, "{share}");
}

/// Returns whether the intervals of the first iteration's change contain the true value,
/// for the ratio and for the difference.
fn covers(report: &CompareReport, ratio: f64) -> [bool; 2] {
    let first = quantity(report, "first");
    let contains = |of: Option<Estimate>, truth: f64| {
        let of = of.expect("both have it");
        of.low < Some(truth) && Some(truth) < of.high
    };
    [
        contains(first.relative, ratio - 1.0),
        contains(first.difference, 0.5 * (ratio - 1.0)),
    ]
}

#[test]
fn intervals_of_the_change_have_their_nominal_coverage() {
    for (ratio, starts, noise) in [
        (0.2, 10, 0.03),
        (0.5, 10, 0.03),
        (1.0, 10, 0.03),
        (1.2, 10, 0.03),
        (2.0, 10, 0.03),
        (0.2, 5, 0.1),
        (2.0, 5, 0.1),
    ] {
        let base = truth(starts, noise, Rng::normal);
        let new = Truth {
            first: 0.5 * ratio,
            ..base
        };
        let mut rng = Rng::new(8);
        let mut covered = [0usize; 2];
        for _ in 0..COMPARISONS {
            let report = compared(&run(&base, &mut rng), &run(&new, &mut rng));
            for (count, covers) in covered.iter_mut().zip(covers(&report, ratio)) {
                *count += usize::from(covers);
            }
        }
        let [relative, difference] = covered.map(|count| count as f64 / COMPARISONS as f64);
        println!(
            "{ratio} times, {starts} starts: {:.1} % coverage of the ratio, {:.1} % of the difference",
            100.0 * relative,
            100.0 * difference
        );
        assert!((0.93..=0.98).contains(&relative), "{ratio}: {relative}");
        assert!((0.93..=0.98).contains(&difference), "{ratio}: {difference}");
    }
}
