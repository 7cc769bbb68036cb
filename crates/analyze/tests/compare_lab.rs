//! Comparisons of two lab results, on generated measurements.

use preheat_analyze::compare::Settings;
use preheat_analyze::lab;
use preheat_model::Machine;
use preheat_model::Quantity;
use preheat_model::compare::{CompareKind, CompareReport, QuantityChange, Verdict};
use preheat_model::lab::{
    ExperimentId, LabReport, Measured, MeasuredDevice, Outcome, Sample, SampleKind, Setup, Start,
    Subject,
};
use preheat_model::stats::Rng;

/// A result whose starts each have these series.
fn lab_of(starts: usize, mut series: impl FnMut(usize) -> Vec<Sample>) -> LabReport {
    let start = |at| Start {
        outcome: Outcome::Completed,
        samples: series(at),
        skipped: vec![],
    };
    let setup = Setup {
        experiment: ExperimentId::Launch,
        subject: Subject {
            device: "cuda".into(),
            framework: None,
        },
        variant: String::new(),
        starts: (0..starts).map(start).collect(),
    };
    let measured = Measured {
        command: vec!["preheat".into(), "lab".into()],
        created: "2026-01-01T00:00:00Z".into(),
        settings: preheat_model::lab::Settings {
            seed: 3,
            starts,
            quick: false,
            ended_early: None,
        },
        machine: Machine {
            os: "an OS".into(),
            kernel: "6.1".into(),
            cpu: "a CPU".into(),
            cores: 8,
            memory: 1 << 34,
        },
        devices: vec![MeasuredDevice {
            kind: "cuda".into(),
            name: "a GPU".into(),
            driver: "580".into(),
            memory: 1 << 36,
            facts: vec![],
        }],
        frameworks: vec![],
        setups: vec![setup],
    };
    lab::analyze(&measured, "0").expect("something was measured")
}

fn sample(name: &str, kind: SampleKind, values: Vec<f64>) -> Sample {
    Sample {
        name: name.into(),
        kind,
        size: None,
        values,
    }
}

fn counts(starts: usize, each: f64) -> LabReport {
    lab_of(starts, |_| {
        vec![sample("allocations", SampleKind::Count, vec![each])]
    })
}

fn compared(base: &LabReport, new: &LabReport) -> CompareReport {
    compared_with(base, new, &Settings::new(CompareKind::Lab, "0"))
}

fn compared_with(base: &LabReport, new: &LabReport, settings: &Settings) -> CompareReport {
    preheat_analyze::compare::compare_labs(("a", base), ("b", new), settings)
}

#[test]
fn a_few_counts_are_not_significant() {
    // The first start does not count: three against three, and four against four.
    let report = compared(&counts(4, 1.0), &counts(4, 2.0));
    assert_eq!((report.quantities.len(), report.regressed), (1, false));
    let report = compared(&counts(5, 1.0), &counts(5, 2.0));
    assert_eq!(report.quantities[0].p, Some(2.0 / 70.0));
    let report = compared(&counts(10, 1.0), &counts(10, 2.0));
    assert_eq!(report.quantities[0].verdict, Verdict::Slower);
    assert!(report.headline.text.ends_with(": +1 (+100 %)"));
}

#[test]
fn a_change_from_zero_has_no_percentage() {
    let report = compared(&counts(10, 0.0), &counts(10, 3.0));
    assert_eq!(report.quantities[0].relative, None);
    let text = &report.headline.text;
    assert!(text.ends_with("count: +3"), "{text}");
}

#[test]
fn ungated_ratios_do_not_reduce_the_significance_of_others() {
    let mut rng = Rng::new(1);
    let mut lab = |first: f64| {
        lab_of(10, |_| {
            let mut noisy = |value: f64| value * (0.02 * rng.normal()).exp();
            let series = (0..20).map(|at| {
                let mut values = vec![noisy(first)];
                values.extend((0..20).map(|_| noisy(1e-3)));
                sample(&format!("series {at}"), SampleKind::Iterations, values)
            });
            series.collect()
        })
    };
    let (base, new) = (lab(0.1), lab(0.104));
    let report = compared(&base, &new);
    assert_eq!(report.quantities.len(), 60);
    let least = |report: &CompareReport, of: fn(&QuantityChange) -> bool| {
        let all = report.quantities.iter().filter(|quantity| of(quantity));
        let least = all.min_by(|a, b| a.p.partial_cmp(&b.p).unwrap());
        let least = least.expect("there are some");
        (least.p.unwrap(), least.adjusted_p.unwrap())
    };
    // The smallest p-value is multiplied by the size of its family.
    let times = |(p, adjusted): (f64, f64)| (adjusted / p).round();
    assert_eq!(times(least(&report, |q| q.id.id() != "ratio")), 40.0);
    assert_eq!(times(least(&report, |q| q.id.id() == "ratio")), 20.0);
    let mut settings = Settings::new(CompareKind::Lab, "0");
    settings.gate.push(Quantity::Ratio.into());
    let gated = compared_with(&base, &new, &settings);
    assert_eq!(times(least(&gated, |_| true)), 60.0);
}

#[test]
fn a_gate_on_an_unmeasured_quantity_is_inconclusive() {
    let (base, new) = (counts(10, 1.0), counts(10, 1.0));
    let mut settings = Settings::new(CompareKind::Lab, "0");
    assert!(!compared_with(&base, &new, &settings).inconclusive);
    settings.gate = vec![Quantity::First.into()];
    assert!(!compared_with(&base, &new, &settings).inconclusive);
    settings.gate = vec![Quantity::DeviceMemory.into()];
    let report = compared_with(&base, &new, &settings);
    assert!(report.inconclusive && !report.regressed);
    assert!(report.notes[0].starts_with("device-memory is gated"));
}
