//! Made-up comparisons that look like real ones: a training that came to import sympy,
//! the same with nothing changed, with too few starts, with more memory, and of the lab.

mod parts;

use preheat_analyze::compare::{
    COMPARE_SCHEMA, CauseChange, CompareKind, CompareReport, Estimate, Floors, Headline, Quantity,
    SeriesKey, Unit, Verdict,
};
use preheat_analyze::lab::{ExperimentId, names};
use preheat_analyze::run::Cause;

use parts::{cause, estimate, quantity, side};

const MIB: f64 = 1048576.0;

/// Base and new of each quantity of a run.
type Means = [(f64, f64); 8];

/// What the training took before and after, and how much that varies.
const BEFORE: [f64; 8] = [
    7.042,
    0.542,
    0.000758,
    715.0,
    1.0,
    0.541,
    861.0 * MIB,
    3010.0 * MIB,
];
const SPREAD: [f64; 8] = [0.011, 0.013, 0.011, 0.018, 0.0, 0.013, 0.0, 0.004];

/// A training that came to import sympy.
pub fn regression() -> CompareReport {
    let mut means = BEFORE.map(|value| (value, value * 1.003));
    means[0].1 = 8.945;
    means[4].1 = 1.0;
    means[6].1 = 861.0 * MIB;
    means[7].1 = 3210.0 * MIB;
    let mut report = runs(means, 9);
    report.causes = vec![
        cause(
            Cause::PythonImports,
            (5.11, 6.96),
            &[
                ("sympy", "torch.utils._sympy.functions:12", 0.0, 1.63),
                ("torch._dynamo.variables", "torch._dynamo:3", 1.28, 1.52),
                ("torch", "train.py:1", 3.41, 3.4),
            ],
            5,
        ),
        cause(
            Cause::LibraryLoading,
            (0.52, 0.61),
            &[
                ("libflint.so.19", "sympy", 0.0, 0.09),
                ("libtorch_cuda.so", "torch", 0.38, 0.381),
            ],
            2,
        ),
        cause(
            Cause::KernelLoading,
            (0.241, 0.214),
            &[("multi_tensor_apply_kernel", "", 0.025, 0.0)],
            1,
        ),
        cause(Cause::OwnCpu, (0.42, 0.408), &[], 0),
        cause(Cause::Unexplained, (0.186, 0.19), &[], 0),
        cause(Cause::LibrarySetUp, (0.142, 0.1424), &[], 0),
        cause(Cause::ContextCreation, (0.128, 0.1279), &[], 0),
        cause(Cause::Idle, (0.109, 0.11), &[], 0),
        cause(Cause::DriverInit, (0.101, 0.1007), &[], 0),
        cause(Cause::ProcessStart, (0.052, 0.0521), &[], 0),
        cause(Cause::DeviceAllocation, (0.0061, 0.006), &[], 0),
        cause(Cause::SteadyWork, (0.000758, 0.00076), &[], 0),
    ];
    report.headline = Headline {
        text: "+1.9 s to first (+27 %, 1.82 s to 1.99 s): Python imports, sympy is new".to_owned(),
        quantity: Some("time-to-first".to_owned()),
        cause: Some(Cause::PythonImports),
        items: vec!["sympy".to_owned()],
    };
    report
}

/// The same program twice.
pub fn unchanged() -> CompareReport {
    let mut means = BEFORE.map(|value| (value, value * 1.002));
    means[4].1 = means[4].0;
    means[6].1 = means[6].0;
    let mut report = runs(means, 9);
    report.causes = regression().causes;
    for change in &mut report.causes {
        let mean = change.base.mean.value;
        *change = cause(change.cause, (mean, mean * 1.001), &[], 0);
    }
    report.headline.text =
        "No change of time to first: one of 1.4 % would have been seen".to_owned();
    report
}

/// Two starts on each side: nothing can be said.
pub fn few() -> CompareReport {
    let mut means = BEFORE.map(|value| (value, value * 1.021));
    means[4].1 = means[4].0;
    let mut report = runs(means, 2);
    report.base.starts = 3;
    report.new.starts = 3;
    report.causes = regression().causes;
    for change in &mut report.causes {
        change.verdict = Verdict::Inconclusive;
        for value in [
            &mut change.base.mean,
            &mut change.new.mean,
            &mut change.difference,
        ] {
            *value = Estimate {
                low: None,
                high: None,
                ..*value
            };
        }
        change.base.values.truncate(2);
        change.new.values.truncate(2);
        (change.p, change.adjusted_p) = (None, None);
    }
    report.headline.text =
        "Too few starts to tell: 2 of base and 2 of new count, and 3 of each are needed".to_owned();
    report
}

/// More memory, and nothing else.
pub fn memory() -> CompareReport {
    let mut report = unchanged();
    let mut means = BEFORE.map(|value| (value, value * 1.002));
    means[4].1 = means[4].0;
    means[6].1 = 1117.0 * MIB;
    means[7].1 = means[7].0 * 1.031;
    let changed = runs(means, 9);
    report.quantities = changed.quantities;
    (report.verdict, report.regressed, report.inconclusive) =
        (Verdict::Slower, changed.regressed, changed.inconclusive);
    report.headline.text = "+256 MiB of device memory (+30 %); no change of time to first".into();
    report.headline.quantity = Some("device-memory".to_owned());
    report.notes = vec![
        "The machines differ: base was recorded on Intel(R) Xeon(R) Platinum 8480+, new on AMD \
         EPYC 9554."
            .to_owned(),
    ];
    report.new.machine.cpu = "AMD EPYC 9554".to_owned();
    report
}

/// Faster, with the imports gone, and one quantity that only one side has.
pub fn faster() -> CompareReport {
    let mut report = regression();
    std::mem::swap(&mut report.base, &mut report.new);
    let mut means = BEFORE.map(|value| (value * 1.003, value));
    means[0].0 = 8.945;
    means[4].0 = 12.0;
    means[4].1 = 3.0;
    report.quantities = quantities(means, 9);
    report.quantities[6].base = None;
    report.quantities[6].difference = None;
    report.quantities[6].relative = None;
    report.quantities[6].verdict = Verdict::Inconclusive;
    report.quantities[6].why = "base has no such number".to_owned();
    for change in &mut report.causes {
        let (base, new) = (change.new.mean.value, change.base.mean.value);
        let items: Vec<_> = change.items.clone();
        let items: Vec<(&str, &str, f64, f64)> = items
            .iter()
            .map(|item| (&*item.name, &*item.detail, item.new, item.base))
            .collect();
        *change = cause(change.cause, (base, new), &items, items.len() as u64);
    }
    report.headline.text =
        "−1.9 s to first (−21 %, 1.82 s to 1.99 s): Python imports, sympy is gone".to_owned();
    report.verdict = Verdict::Faster;
    judged(&mut report);
    report
}

/// Two results of the lab.
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
    let series: [(ExperimentId, &str, &str, &str, Option<u64>, Means3); 6] = [
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
        quantity: Some("first".to_owned()),
        cause: None,
        items: vec![],
    };
    report.verdict = Verdict::Slower;
    judged(&mut report);
    report.notes = vec![
        "3 series of base are not in new: overlap on torch on cuda (2), pool on cuda.".to_owned(),
    ];
    report
}

type Means3 = [(f64, f64); 3];

/// A report whose names and sentences try to break out of whatever shows them.
pub fn hostile() -> CompareReport {
    let bad = "<script>alert(\"x\" & 'y')</script>\u{1b}[31m\n,;";
    let mut report = regression();
    report.headline.text = bad.repeat(3);
    for side in [&mut report.base, &mut report.new] {
        side.source = bad.to_owned();
        side.command.push(bad.to_owned());
        side.machine.cpu = bad.to_owned();
        side.device = Some(bad.to_owned());
        side.iteration = bad.repeat(9);
    }
    for quantity in &mut report.quantities {
        quantity.name = bad.to_owned();
        quantity.why = bad.to_owned();
        quantity.verdict = Verdict::Inconclusive;
    }
    for item in report.causes.iter_mut().flat_map(|c| &mut c.items) {
        item.name = bad.repeat(5);
        item.detail = bad.repeat(5);
    }
    report.notes.push(bad.to_owned());
    report
}

/// A report of the lab with such names.
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

/// A report with values that are no numbers, ends the wrong way round and empty lists.
pub fn broken() -> CompareReport {
    let mut report = regression();
    let bad = |value: f64, at: usize| match at % 4 {
        0 => estimate(f64::NAN, f64::NAN, f64::INFINITY),
        1 => estimate(value, value * 3.0, -value),
        2 => Estimate {
            value: f64::INFINITY,
            low: None,
            high: Some(f64::NAN),
        },
        _ => estimate(-1e300, -1e308, 1e300),
    };
    for (at, quantity) in report.quantities.iter_mut().enumerate() {
        quantity.difference = Some(bad(1.0, at));
        quantity.relative = Some(bad(0.2, at + 1));
        for level in [&mut quantity.base, &mut quantity.new]
            .into_iter()
            .flatten()
        {
            level.mean = bad(2.0, at + 2);
            level.values = vec![f64::NAN, f64::INFINITY, -1.0];
        }
    }
    report.quantities[2].base = None;
    report.quantities[3].new = None;
    for (at, change) in report.causes.iter_mut().enumerate() {
        change.difference = bad(0.3, at);
        change.base.mean = bad(0.3, at + 1);
        change.new.values.clear();
        for item in &mut change.items {
            item.difference = f64::NAN;
            item.base = f64::INFINITY;
        }
    }
    report.max_regression = f64::NAN;
    report
}

/// Nothing in common.
pub fn nothing() -> CompareReport {
    let mut report = runs(BEFORE.map(|value| (value, value)), 0);
    report.quantities.clear();
    report.headline.text = "Nothing can be compared: base and new have no number in common".into();
    report.verdict = Verdict::Inconclusive;
    (report.regressed, report.inconclusive) = (false, false);
    report
}

fn runs(means: Means, starts: usize) -> CompareReport {
    let mut report = CompareReport {
        schema: COMPARE_SCHEMA.to_owned(),
        preheat: "0.1.0".to_owned(),
        kind: CompareKind::Runs,
        base: side("recordings/main", "2026-03-01T12:34:56Z", starts),
        new: side("recordings/sympy", "2026-03-02T09:10:11Z", starts),
        max_regression: 0.05,
        floors: Floors {
            seconds: 0.001,
            steady: 1e-5,
            bytes: MIB,
        },
        headline: Headline {
            text: String::new(),
            quantity: None,
            cause: None,
            items: vec![],
        },
        verdict: Verdict::Same,
        regressed: false,
        inconclusive: false,
        quantities: quantities(means, starts),
        causes: Vec::<CauseChange>::new(),
        notes: vec![],
    };
    if let Some(first) = report.quantities.first() {
        report.verdict = first.verdict;
    }
    judged(&mut report);
    report
}

fn quantities(means: Means, starts: usize) -> Vec<Quantity> {
    let kinds = [
        ("time-to-first", "time to first", Unit::Seconds),
        ("first", "first iteration", Unit::Seconds),
        ("steady", "steady iteration", Unit::Seconds),
        ("ratio", "first ÷ steady", Unit::Ratio),
        ("warmup", "warm-up", Unit::Iterations),
        ("excess", "excess", Unit::Seconds),
        ("device-memory", "device memory", Unit::Bytes),
        ("host-memory", "host memory", Unit::Bytes),
    ];
    let mut all: Vec<Quantity> = kinds
        .into_iter()
        .zip(means)
        .zip(SPREAD)
        .map(|(((id, name, unit), means), spread)| quantity(id, name, unit, means, spread, starts))
        .collect();
    for quantity in &mut all {
        quantity.gated = !["ratio", "warmup", "excess"].contains(&&*quantity.id);
        quantity.regressed &= quantity.gated;
    }
    all
}

fn judged(report: &mut CompareReport) {
    let gated = || report.quantities.iter().filter(|quantity| quantity.gated);
    (report.regressed, report.inconclusive) = (
        gated().any(|quantity| quantity.regressed),
        gated().any(|quantity| quantity.verdict == Verdict::Inconclusive),
    );
}
