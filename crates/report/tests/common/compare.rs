//! Made-up but realistic comparisons: a training that now imports sympy, the same without
//! changes, with too few starts, with more memory, and of the lab.

mod lab;
mod parts;

use preheat_model::compare::{
    COMPARE_SCHEMA, CauseChange, CompareKind, CompareReport, Floors, Headline, QuantityChange,
    Unit, Verdict,
};
use preheat_model::run::Cause;
use preheat_model::stats::Estimate;

#[allow(unused_imports, reason = "each test uses its own part")]
pub use lab::{hostile_lab, lab};
use parts::{cause, estimate, quantity, side};

const MIB: f64 = 1048576.0;

/// Base and new of each quantity of a run.
type Means = [(f64, f64); 8];

/// The values of the training before and after, and their variation.
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

/// A training that now imports sympy.
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
        text: "+1.9 s: Python imports, sympy is new".to_owned(),
        quantity: Some(preheat_model::Quantity::TimeToFirst.into()),
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
    report.headline.text = "no change: time to first is the same, −0.9 % to +1.3 %".to_owned();
    report
}

/// Two starts on each side: everything is inconclusive.
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
        "+148 ms, inconclusive with so few starts: Python imports, sympy is new".to_owned();
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
    report.headline.text = "peak device memory +256 MiB (+30 %)".into();
    report.headline.quantity = Some(preheat_model::Quantity::DeviceMemory.into());
    report.notes = vec![
        "the machines differ, and so may the times: processor Intel(R) Xeon(R) Platinum 8480+ \
         against AMD EPYC 9554"
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
    report.headline.text = "−1.9 s: Python imports, sympy is gone".to_owned();
    report.verdict = Verdict::Faster;
    judged(&mut report);
    report
}

/// A report whose names and sentences try to inject markup.
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

/// A report with invalid numbers, swapped interval ends and empty lists.
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
    report.headline.text = "nothing to compare: no start came to its first iteration".into();
    report.verdict = Verdict::Inconclusive;
    (report.regressed, report.inconclusive) = (false, true);
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

fn quantities(means: Means, starts: usize) -> Vec<QuantityChange> {
    let kinds = [
        ("time-to-first", "time to first", Unit::Seconds),
        ("first", "first iteration", Unit::Seconds),
        ("steady", "steady iteration", Unit::Seconds),
        ("ratio", "first ÷ steady", Unit::Ratio),
        ("warmup", "warm-up", Unit::Iterations),
        ("excess", "excess", Unit::Seconds),
        ("device-memory", "peak device memory", Unit::Bytes),
        ("host-memory", "peak host memory", Unit::Bytes),
    ];
    let mut all: Vec<QuantityChange> = kinds
        .into_iter()
        .zip(means)
        .zip(SPREAD)
        .map(|(((id, name, unit), means), spread)| quantity(id, name, unit, means, spread, starts))
        .collect();
    for quantity in &mut all {
        quantity.gated = !["ratio", "warmup", "excess"].contains(&quantity.id.id());
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
