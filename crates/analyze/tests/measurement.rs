//! Measured remedies on programs with a known truth.

mod simulated;

use preheat_analyze::measurement::{Configuration, decide};
use preheat_model::RemedyId;
use preheat_model::measurement::{Decision, MeasurementReport, RemedyResult, SkippedRemedy};
use preheat_model::run::{Cause, Remedy, RunReport, Temperature};
use preheat_model::stats::Rng;
use simulated::{Truth, run};

/// Any three remedies.
const A: RemedyId = RemedyId::OverlappedInit;
const B: RemedyId = RemedyId::LazyLoading;
const C: RemedyId = RemedyId::Allocator;

/// Starts with this time to their first iteration, with noise.
fn starts(seconds: f64, noise: f64, count: usize, seed: u64) -> RunReport {
    let mut rng = Rng::new(seed);
    let truth = Truth {
        starts: count + 1,
        first: 0.5,
        noise,
        two_levels: false,
        draw: Rng::normal,
    };
    let mut report = run(&truth, &mut rng);
    for start in &mut report.starts {
        let slow = if start.first_start { 2.0 } else { 1.0 };
        start.time_to_first = Some(slow * seconds * (noise * rng.normal()).exp());
    }
    report
}

/// The result for starts with these remedies and times; the seed affects all noise.
fn measurement(
    timings: &[(&[RemedyId], f64)],
    noise: f64,
    count: usize,
    seed: u64,
) -> MeasurementReport {
    let reports: Vec<RunReport> = (timings.iter().zip(1..))
        .map(|((_, seconds), at)| starts(*seconds, noise, count, seed * 1000 + at))
        .collect();
    let configurations: Vec<Configuration> = (timings.iter().zip(&reports))
        .map(|((remedies, _), report)| Configuration {
            remedies,
            against: Temperature::Process,
            recording: "recording",
            report,
        })
        .collect();
    decide(&configurations, Vec::new(), "0.1.0")
}

fn of(report: &MeasurementReport, id: RemedyId) -> &RemedyResult {
    let found = report.remedies.iter().find(|result| result.id == id);
    found.unwrap_or_else(|| panic!("{id} was not measured: {report:?}"))
}

#[test]
fn significant_savings_are_kept() {
    let report = measurement(
        &[
            (&[], 8.0),
            (&[RemedyId::WarmParent], 1.0),
            (&[RemedyId::OverlappedInit], 7.7),
            (&[RemedyId::WarmParent, RemedyId::OverlappedInit], 0.7),
        ],
        0.01,
        5,
        1,
    );
    assert_eq!(
        report.kept,
        [RemedyId::WarmParent, RemedyId::OverlappedInit]
    );
    assert_eq!(of(&report, RemedyId::WarmParent).kept, Decision::Alone);
    assert_eq!(
        of(&report, RemedyId::OverlappedInit).kept,
        Decision::WithOthers
    );
    let warm = &report.configurations[1];
    let saved = warm.saved.expect("it was compared");
    assert!((saved.value - 7.0).abs() < 0.3, "{saved:?}");
    assert!(saved.low < Some(saved.value) && Some(saved.value) < saved.high);
    let times = warm.times.expect("it was compared");
    assert!((times.value - 8.0).abs() < 0.3, "{times:?}");
    assert_eq!(report.configurations[0].saved, None);
    // The first start of each configuration does not count.
    assert_eq!(warm.values.len(), 5);
}

#[test]
fn kept_caches_are_predicted_from_starts_with_empty_ones() {
    let [mut filled, empty, kept] =
        [(1.0, 1), (3.0, 2), (1.1, 3)].map(|(s, at)| starts(s, 0.0, 5, at));
    let predicted = |filled: &RunReport| {
        let configurations = [
            (&[][..], Temperature::Process, filled),
            (&[][..], Temperature::Caches, &empty),
            (&[RemedyId::KeptCaches][..], Temperature::Caches, &kept),
        ];
        let configurations = configurations.map(|(remedies, against, report)| Configuration {
            remedies,
            against,
            recording: "recording",
            report,
        });
        let report = decide(&configurations, Vec::new(), "0.1.0");
        of(&report, RemedyId::KeptCaches)
            .predicted
            .expect("a prediction")
    };
    assert!((predicted(&filled) - 2.0).abs() < 1e-9);
    // Starts that compile everything, with caches that nothing fills.
    filled.remedies.push(advised(RemedyId::KeptCaches, 2.5));
    assert!((predicted(&filled) - 2.5).abs() < 1e-9);
}

/// A remedy that a report names, with its saving.
fn advised(id: RemedyId, saving: f64) -> Remedy {
    Remedy {
        id,
        title: String::new(),
        what: String::new(),
        saving,
        saving_bytes: None,
        assumption: String::new(),
        causes: vec![Cause::PythonImports],
        later: None,
        helps: true,
    }
}

#[test]
fn a_remedy_that_helps_only_alone_is_not_kept() {
    let report = measurement(
        &[
            (&[], 8.0),
            (&[RemedyId::WarmParent], 1.0),
            (&[RemedyId::OverlappedInit], 7.6),
            (&[RemedyId::WarmParent, RemedyId::OverlappedInit], 1.1),
        ],
        0.01,
        6,
        2,
    );
    assert_eq!(report.kept, [RemedyId::WarmParent]);
    assert_eq!(of(&report, RemedyId::OverlappedInit).kept, Decision::Costs);
    assert!(
        of(&report, RemedyId::OverlappedInit)
            .alone
            .is_some_and(|of| of.low > Some(0.0))
    );
}

#[test]
fn each_of_three_remedies_is_judged_with_the_other_two() {
    let report = measurement(
        &[
            (&[], 8.0),
            (&[A], 4.0),
            (&[B], 6.0),
            (&[C], 8.0),
            (&[A, B, C], 2.0),
            (&[B, C], 6.0),
            (&[A, C], 4.0),
            (&[A, B], 2.0),
        ],
        0.01,
        6,
        3,
    );
    assert_eq!(report.kept, [A, B]);
    assert_eq!(of(&report, C).kept, Decision::Unclear);
}

#[test]
fn noise_is_rarely_mistaken_for_a_saving() {
    let rounds = 400;
    let kept = (0..rounds).filter(|seed| {
        let timings: [(&[RemedyId], f64); 4] =
            [(&[], 2.0), (&[A], 2.0), (&[B], 2.0), (&[A, B], 2.0)];
        !measurement(&timings, 0.05, 5, *seed).kept.is_empty()
    });
    let share = kept.count() as f64 / rounds as f64;
    assert!(share <= 0.05, "{share}");
}

#[test]
fn predictions_are_reported_with_the_measurements() {
    let mut plain = starts(8.0, 0.01, 5, 1);
    plain.remedies.push(advised(RemedyId::WarmParent, 6.9));
    let warm = starts(1.0, 0.01, 5, 2);
    let configuration = |remedies, report| Configuration {
        remedies,
        against: Temperature::Process,
        recording: "",
        report,
    };
    let report = decide(
        &[
            configuration(&[], &plain),
            configuration(&[RemedyId::WarmParent], &warm),
        ],
        vec![SkippedRemedy {
            id: RemedyId::Prefetch,
            why: "all files are cached".into(),
        }],
        "0.1.0",
    );
    assert_eq!(of(&report, RemedyId::WarmParent).predicted, Some(6.9));
    assert_eq!(of(&report, RemedyId::WarmParent).with_others, None);
    assert_eq!(report.kept, [RemedyId::WarmParent]);
    assert_eq!(report.skipped.len(), 1);
}

#[test]
fn too_few_starts_decide_nothing() {
    let report = measurement(&[(&[], 8.0), (&[RemedyId::WarmParent], 1.0)], 0.01, 2, 1);
    assert!(report.kept.is_empty());
    assert_eq!(
        of(&report, RemedyId::WarmParent).kept,
        Decision::NotMeasured
    );
    assert!(!report.decides());
}

#[test]
fn starts_that_failed_do_not_count() {
    let plain = starts(8.0, 0.01, 5, 1);
    let mut warm = starts(1.0, 0.01, 5, 2);
    for start in &mut warm.starts {
        start.exit_code = 1;
    }
    let configuration = |remedies, report| Configuration {
        remedies,
        against: Temperature::Process,
        recording: "",
        report,
    };
    let report = decide(
        &[configuration(&[], &plain), configuration(&[A], &warm)],
        Vec::new(),
        "",
    );
    assert!(report.kept.is_empty());
    assert!(report.notes.iter().any(|note| note.contains("failed")));
}

#[test]
fn the_best_remedy_is_found_per_temperature() {
    // Two remedies save about the same; a third helps colder starts, and saves more.
    let timings: [(&[RemedyId], Temperature, f64); 6] = [
        (&[], Temperature::Process, 8.0),
        (&[A], Temperature::Process, 7.0),
        (&[B], Temperature::Process, 7.2),
        (&[A, B], Temperature::Process, 7.0),
        (&[], Temperature::Disk, 20.0),
        (&[C], Temperature::Disk, 12.0),
    ];
    let reports: Vec<RunReport> = (timings.iter().zip(1..))
        .map(|((_, against, seconds), at)| {
            let mut report = starts(*seconds, 0.005, 6, at);
            for start in &mut report.starts {
                start.temperature = *against;
            }
            report
        })
        .collect();
    let configurations: Vec<Configuration> = (timings.iter().zip(&reports))
        .map(|((remedies, against, _), report)| Configuration {
            remedies,
            against: *against,
            recording: "",
            report,
        })
        .collect();
    let report = decide(&configurations, Vec::new(), "");
    assert_eq!(of(&report, A).kept, Decision::Alone);
    assert_eq!(of(&report, C).kept, Decision::Alone);
    assert!(!of(&report, B).kept.is_kept());
}

#[test]
fn remedies_that_slow_later_iterations_are_not_kept() {
    let measured = |slower: f64| {
        let plain = starts(8.0, 0.01, 6, 1);
        let mut quick = starts(6.0, 0.01, 6, 2);
        for start in &mut quick.starts {
            let later = start.iterations.iter_mut().skip(1);
            later.for_each(|time| *time *= slower);
        }
        let configuration = |remedies, report| Configuration {
            remedies,
            against: Temperature::Process,
            recording: "recording",
            report,
        };
        decide(
            &[
                configuration(&[], &plain),
                configuration(&[RemedyId::Allocator], &quick),
            ],
            Vec::new(),
            "0.1.0",
        )
    };
    let report = measured(1.2);
    assert_eq!(of(&report, RemedyId::Allocator).kept, Decision::Slows);
    assert!(report.kept.is_empty());
    // A thousand slower iterations lose less than it saves.
    assert_eq!(measured(1.07).kept, [RemedyId::Allocator]);
    assert_eq!(measured(1.0).kept, [RemedyId::Allocator]);
    // A remedy that costs time at the start is reported as such.
    let slow = measurement(&[(&[], 6.0), (&[RemedyId::Allocator], 8.0)], 0.01, 6, 3);
    assert_eq!(of(&slow, RemedyId::Allocator).kept, Decision::Costs);
    assert_eq!(measured(0.8).kept, [RemedyId::Allocator]);
}

/// Plain, warm, parked and hot starts with these times.
fn with_standbys(warm: f64, parked: f64, hot: f64) -> MeasurementReport {
    let timings: [(&[RemedyId], f64); 4] = [
        (&[], 3.0),
        (&[RemedyId::WarmParent], warm),
        (&[RemedyId::StandbyParked], parked),
        (&[RemedyId::StandbyHot], hot),
    ];
    measurement(&timings, 0.01, 5, 1)
}

#[test]
fn one_form_of_standby_is_kept() {
    // The hot one holds device memory, so it has to be faster.
    let report = with_standbys(0.4, 0.3, 0.03);
    assert_eq!(report.kept, [RemedyId::WarmParent, RemedyId::StandbyHot]);
    assert_eq!(
        of(&report, RemedyId::StandbyParked).kept,
        Decision::OtherForm
    );
    let added = of(&report, RemedyId::StandbyHot)
        .with_others
        .expect("measured");
    assert!((added.value - 0.37).abs() < 0.02, "{added:?}");
    let report = with_standbys(0.4, 0.2, 0.2);
    assert_eq!(report.kept, [RemedyId::WarmParent, RemedyId::StandbyParked]);
    assert_eq!(of(&report, RemedyId::StandbyHot).kept, Decision::OtherForm);
    // Neither is worth more than a warm parent.
    let report = with_standbys(0.4, 0.4, 0.4);
    assert_eq!(report.kept, [RemedyId::WarmParent]);
    // Only one of them is.
    let report = with_standbys(0.4, 0.45, 0.1);
    assert_eq!(report.kept, [RemedyId::WarmParent, RemedyId::StandbyHot]);
    assert_eq!(of(&report, RemedyId::StandbyParked).kept, Decision::Costs);
}
