//! The parts of the comparisons: sides, quantities, causes. Their statistics are only
//! approximate.

use preheat_model::Machine;
use preheat_model::compare::{
    CauseChange, Change, ItemChange, Level, QuantityChange, Side, Unit, Verdict,
};
use preheat_model::run::{Cause, IterationsBy, Temperature};
use preheat_model::stats::Estimate;

/// The offsets of the starts from their mean.
const UNREST: [f64; 9] = [-0.9, 0.4, 1.3, -0.2, -1.4, 0.7, 0.1, -0.6, 0.6];
const MARGIN: f64 = 0.05;
/// The time to first; the margin of a cause is a fraction of it.
const TO_FIRST: f64 = 7.042;

pub fn side(source: &str, created: &str, counted: usize) -> Side {
    Side {
        source: source.to_owned(),
        command: ["python", "train.py"].map(str::to_owned).to_vec(),
        created: created.to_owned(),
        preheat: "0.1.0".to_owned(),
        machine: Machine {
            os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
            kernel: "6.1.0-30-amd64".to_owned(),
            cpu: "Intel(R) Xeon(R) Platinum 8480+".to_owned(),
            cores: 16,
            memory: 128 << 30,
        },
        device: Some("NVIDIA H200".to_owned()),
        temperature: Some(Temperature::Process),
        iterations_by: Some(IterationsBy::Python),
        iteration: "steps of SGD".to_owned(),
        starts: counted + 1,
        counted_starts: counted,
    }
}

pub fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    Estimate {
        value,
        low: Some(low),
        high: Some(high),
    }
}

fn level(mean: f64, spread: f64, starts: usize, turn: usize) -> Level {
    let values: Vec<f64> = (0..starts)
        .map(|at| mean * (1.0 + spread * UNREST[(at + turn) % UNREST.len()]))
        .collect();
    let half = mean.abs() * spread * 0.75;
    let mean = match starts {
        0..3 => Estimate {
            value: mean,
            low: None,
            high: None,
        },
        _ => estimate(mean, mean - half, mean + half),
    };
    Level { mean, values }
}

fn difference(base: &Level, new: &Level) -> Estimate {
    let value = new.mean.value - base.mean.value;
    let half = |level: &Level| level.mean.high.map(|high| high - level.mean.value);
    match (half(base), half(new)) {
        (Some(a), Some(b)) => {
            let half = a.hypot(b);
            estimate(value, value - half, value + half)
        }
        _ => Estimate {
            value,
            low: None,
            high: None,
        },
    }
}

/// Approximates the verdict of the analysis.
fn verdict(difference: Estimate, base: f64) -> Verdict {
    let (Some(low), Some(high)) = (difference.low, difference.high) else {
        return Verdict::Inconclusive;
    };
    let small = difference.value.abs() < 0.01 * base;
    match (low, high) {
        (low, _) if low > 0.0 && !small => Verdict::Slower,
        (_, high) if high < 0.0 && !small => Verdict::Faster,
        (low, high) if low >= -MARGIN * base && high <= MARGIN * base => Verdict::Same,
        _ => Verdict::Inconclusive,
    }
}

pub fn quantity(
    id: &str,
    name: &str,
    unit: Unit,
    (was, is): (f64, f64),
    spread: f64,
    starts: usize,
) -> QuantityChange {
    let (base, new) = (level(was, spread, starts, 0), level(is, spread, starts, 4));
    let difference = difference(&base, &new);
    let part = |value: f64| value / was;
    let relative = Estimate {
        value: part(difference.value),
        low: difference.low.map(part),
        high: difference.high.map(part),
    };
    let verdict = verdict(difference, was);
    let beyond = relative.low.is_some_and(|low| low > MARGIN);
    let sure = difference.low.is_some();
    QuantityChange {
        id: serde_json::from_value(id.into()).unwrap(),
        name: name.to_owned(),
        unit,
        of: None,
        base: Some(base),
        new: Some(new),
        difference: Some(difference),
        relative: Some(relative),
        p: sure.then_some(if beyond { 1e-9 } else { 0.4 }),
        adjusted_p: sure.then_some(if beyond { 2e-8 } else { 1.0 }),
        verdict,
        why: match (verdict, starts) {
            (Verdict::Inconclusive, 0..3) => {
                format!("an interval needs 3 starts of each side, and {starts} of base count")
            }
            (Verdict::Inconclusive, _) => "the starts vary too much for ± 5 %".to_owned(),
            _ => String::new(),
        },
        gated: true,
        regressed: verdict == Verdict::Slower && beyond,
    }
}

pub fn cause(
    cause: Cause,
    (was, is): (f64, f64),
    items: &[(&str, &str, f64, f64)],
    in_all: u64,
) -> CauseChange {
    let (base, new) = (level(was, 0.02, 9, 2), level(is, 0.02, 9, 6));
    let difference = difference(&base, &new);
    let verdict = match verdict(difference, was) {
        // Its margin is a fraction of the time to first.
        Verdict::Inconclusive => Verdict::Same,
        other if difference.value.abs() < 0.002 * TO_FIRST => match other {
            Verdict::Same => Verdict::Same,
            _ => Verdict::Inconclusive,
        },
        other => other,
    };
    let item = |(name, detail, was, is): &(&str, &str, f64, f64)| ItemChange {
        name: (*name).to_owned(),
        detail: (*detail).to_owned(),
        base: *was,
        new: *is,
        difference: is - was,
        change: match (*was, *is) {
            (0.0, _) => Change::New,
            (_, 0.0) => Change::Gone,
            (was, is) if is > was => Change::Grown,
            _ => Change::Shrunk,
        },
    };
    CauseChange {
        cause,
        base,
        new,
        difference,
        p: Some(0.001),
        adjusted_p: Some(0.02),
        verdict,
        items: items.iter().map(item).collect(),
        items_in_all: in_all,
    }
}
