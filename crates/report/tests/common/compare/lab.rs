//! Two made-up lab results.

use preheat_model::compare::{CompareKind, CompareReport, Headline, SeriesKey, Unit, Verdict};
use preheat_model::lab::{ExperimentId, names};

use super::parts::quantity;
use super::{BEFORE, judged, runs};

/// Experiment, subject, variant, name, size; base and new of first, steady and ratio.
type Measured = (
    ExperimentId,
    &'static str,
    &'static str,
    &'static str,
    Option<u64>,
    [(f64, f64); 3],
);

/// A comparison of two lab results.
pub fn lab() -> CompareReport {
    let mut report = runs(BEFORE.map(|value| (value, value)), 9);
    report.kind = CompareKind::Lab;
    report.causes = vec![];
    report.quantities = vec![];
    for side in [&mut report.base, &mut report.new] {
        side.command = ["preheat", "lab"].map(str::to_owned).to_vec();
        side.iterations_by = None;
        side.temperature = None;
        side.iteration = String::new();
        (side.starts, side.counted_starts) = (5, 4);
    }
    let series: [Measured; 6] = [
        (
            ExperimentId::Train,
            "torch on cuda",
            "mlp",
            names::ITERATION,
            None,
            [(0.31, 0.372), (0.00123, 0.00124), (252.0, 300.0)],
        ),
        (
            ExperimentId::Alloc,
            "cuda",
            "",
            names::ALLOCATE,
            Some(4 << 20),
            [(2.1e-4, 1.4e-4), (9.5e-5, 9.4e-5), (2.2, 1.5)],
        ),
        (
            ExperimentId::Transfer,
            "cuda",
            "",
            names::H2D_PINNED,
            Some(64 << 20),
            [(0.0013, 0.00131), (0.0012, 0.0012), (1.08, 1.09)],
        ),
        (
            ExperimentId::Transfer,
            "cuda",
            "",
            names::H2D_PAGEABLE,
            Some(64 << 20),
            [(0.0083, 0.0082), (0.0061, 0.0061), (1.36, 1.35)],
        ),
        (
            ExperimentId::Infer,
            "torch on cuda",
            "conv",
            names::FRESH_INPUT,
            None,
            [(1.27, 1.28), (0.0021, 0.00211), (605.0, 607.0)],
        ),
        (
            ExperimentId::Launch,
            "cpu",
            "",
            names::LAUNCH_FROM_SOURCE,
            None,
            [(0.0042, 0.0042), (0.0031, 0.0031), (1.35, 1.36)],
        ),
    ];
    for (experiment, subject, variant, name, size, means) in series {
        let of = SeriesKey {
            experiment,
            subject: subject.to_owned(),
            variant: variant.to_owned(),
            series: name.to_owned(),
            size,
        };
        let kinds = [
            ("first", "first", Unit::Seconds),
            ("steady", "steady", Unit::Seconds),
            ("ratio", "ratio", Unit::Ratio),
        ];
        let spread = if name == names::FRESH_INPUT {
            0.06
        } else {
            0.008
        };
        for ((id, title, unit), means) in kinds.into_iter().zip(means) {
            let mut quantity = quantity(id, title, unit, means, spread, 4);
            quantity.of = Some(of.clone());
            quantity.gated = id != "ratio";
            quantity.regressed &= quantity.gated;
            report.quantities.push(quantity);
        }
    }
    report.headline = Headline {
        text: "train of torch on cuda: first +62 ms (+20 %); alloc of cuda is faster".to_owned(),
        quantity: Some(preheat_model::Quantity::First.into()),
        cause: None,
        items: vec![],
    };
    report.verdict = Verdict::Slower;
    judged(&mut report);
    report.notes = vec![
        "3 series of base are not in new: overlap on torch on cuda (2), pool on cuda".to_owned(),
    ];
    report
}

/// A comparison of lab results with names that try to inject markup.
pub fn hostile_lab() -> CompareReport {
    let bad = "<script>alert(\"x\" & 'y')</script>\u{1b}[31m\n,;";
    let mut report = lab();
    for of in report.quantities.iter_mut().filter_map(|q| q.of.as_mut()) {
        of.subject = bad.to_owned();
        of.variant = bad.to_owned();
        of.series = bad.repeat(3);
    }
    report
}
