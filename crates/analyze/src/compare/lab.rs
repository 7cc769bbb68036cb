//! Compares two lab results, series by series.

use preheat_model::Quantity;

use super::headline::plain;
use super::judge::Settings;
use super::measure::{By, Measured, Samples, measure};
use super::notes::{self, change};
use super::{
    COMPARE_SCHEMA, CompareKind, CompareReport, Compared, Headline, QuantityChange, SeriesKey,
    Side, Unit, Verdict,
};
use super::{adjusted, is_inconclusive, judged, verdict_with};
use crate::lab::{Experiment, LabReport, SampleKind, Series};
use crate::stats::{StartSummary, summarize_start};
use crate::units::signed_percent;

/// Compares two lab results; the sources are their file names, as the user gave them.
pub fn compare_labs(
    base: (&str, &LabReport),
    new: (&str, &LabReport),
    settings: &Settings,
) -> CompareReport {
    let matched = Matched::of(base.1, new.1);
    let measured: Vec<Measured> = (matched.samples.iter())
        .map(|samples| measure(&samples.base, &samples.new, samples.by, samples.unit))
        .collect();
    let adjusted = by_family(&matched.samples, &measured, settings);
    let quantities = judged(matched.samples, measured, &adjusted, settings);
    let (headline, verdict) = headline(&quantities);
    let unjudged = settings.unjudged(&quantities);
    let (base, new) = (side(base.0, base.1), side(new.0, new.1));
    let mut notes = notes::of_sides(&base, &new);
    notes.extend(matched.notes);
    notes.extend(notes::unjudged(&unjudged));
    CompareReport {
        schema: COMPARE_SCHEMA.to_owned(),
        preheat: settings.preheat.clone(),
        kind: CompareKind::Lab,
        base,
        new,
        max_regression: settings.max_regression,
        floors: settings.floors,
        headline,
        verdict: verdict_with(verdict, &unjudged),
        regressed: quantities.iter().any(|quantity| quantity.regressed),
        inconclusive: is_inconclusive(&quantities, &unjudged),
        quantities,
        causes: Vec::new(),
        notes,
    }
}

/// Holm's adjustment. A third of the lab's quantities are ratios, which follow from first
/// and steady: including them would make everything else less significant without adding
/// information. So they form a separate family, unless they can fail the comparison.
fn by_family(samples: &[Samples], measured: &[Measured], settings: &Settings) -> Vec<Option<f64>> {
    let separate = |samples: &Samples| samples.id == Quantity::Ratio && !settings.gates(samples.id);
    let of = |ratios: bool| {
        let each = samples.iter().zip(measured);
        let family =
            each.map(|(samples, measured)| measured.p.filter(|_| separate(samples) == ratios));
        adjusted(&family.collect::<Vec<_>>())
    };
    let both = of(false).into_iter().zip(of(true));
    both.map(|(most, ratio)| most.or(ratio)).collect()
}

fn side(source: &str, report: &LabReport) -> Side {
    let starts = (report.experiments.iter())
        .map(|experiment| experiment.starts)
        .max()
        .unwrap_or(0);
    Side {
        source: source.to_owned(),
        command: report.command.clone(),
        created: report.created.clone(),
        preheat: report.preheat.clone(),
        machine: report.machine.clone(),
        device: Some(report.device.name.clone()),
        temperature: None,
        iterations_by: None,
        iteration: String::new(),
        starts,
        counted_starts: starts.saturating_sub(1).max(starts.min(1)),
    }
}

/// The series that both sides have.
struct Matched {
    samples: Vec<Samples>,
    notes: Vec<String>,
}

impl Matched {
    fn of(base: &LabReport, new: &LabReport) -> Matched {
        let (of_base, of_new) = (all(base), all(new));
        let mut samples = Vec::new();
        for (key, series) in &of_base {
            let other = of_new.iter().find(|(other, _)| other == key);
            if let Some((_, other)) = other.filter(|(_, other)| other.kind == series.kind) {
                samples.extend(of_series(key, series, other));
            }
        }
        let lacking = |has: &[(SeriesKey, &Series)], lacks: &[(SeriesKey, &Series)]| {
            let known = |key: &SeriesKey| lacks.iter().any(|(other, _)| other == key);
            has.iter().filter(|(key, _)| !known(key)).count()
        };
        let mut notes = Vec::new();
        for (side, count) in [
            ("base", lacking(&of_base, &of_new)),
            ("new", lacking(&of_new, &of_base)),
        ] {
            if count > 0 {
                notes.push(format!("{count} series are only in {side}"));
            }
        }
        if base.settings.quick != new.settings.quick {
            notes.push("only one side was measured with --quick".to_owned());
        }
        Matched { samples, notes }
    }
}

fn all(report: &LabReport) -> Vec<(SeriesKey, &Series)> {
    let key = |experiment: &Experiment, series: &Series| SeriesKey {
        experiment: experiment.id,
        subject: experiment.subject(),
        variant: series.variant.clone(),
        series: series.name.clone(),
        size: series.size,
    };
    let experiments = report.experiments.iter();
    experiments
        .flat_map(|experiment| {
            let series = experiment.series.iter();
            series.map(move |series| (key(experiment, series), series))
        })
        .collect()
}

/// The starts that count: without the first, if there are others.
fn counted(series: &Series) -> Vec<&[f64]> {
    let later = series.iterations.iter().skip(1);
    let mut starts: Vec<&[f64]> = later
        .map(Vec::as_slice)
        .filter(|of| !of.is_empty())
        .collect();
    if starts.is_empty() {
        starts.extend(series.iterations.first().map(Vec::as_slice));
        starts.retain(|of| !of.is_empty());
    }
    starts
}

fn of_series(key: &SeriesKey, base: &Series, new: &Series) -> Vec<Samples> {
    let (of_base, of_new) = (counted(base), counted(new));
    let samples = |id, name: &'static str, unit, base: Vec<f64>, new: Vec<f64>| Samples {
        id,
        name: name.into(),
        unit,
        of: Some(key.clone()),
        base,
        new,
        by: By::Factor,
    };
    let once = |name, unit, of: fn(&[f64]) -> f64| {
        let each = |starts: &[&[f64]]| starts.iter().map(|start| of(start)).collect::<Vec<_>>();
        vec![samples(
            Compared::Value,
            name,
            unit,
            each(&of_base),
            each(&of_new),
        )]
    };
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    match base.kind {
        SampleKind::Stage => once("time", Unit::Seconds, |values| values[0]),
        SampleKind::Memory => once("peak", Unit::Bytes, largest),
        SampleKind::Count => once("count", Unit::Count, |values| values.iter().sum()),
        SampleKind::Iterations => {
            let summaries = |starts: &[&[f64]]| -> Vec<StartSummary> {
                starts.iter().filter_map(|of| summarize_start(of)).collect()
            };
            let (base, new) = (summaries(&of_base), summaries(&of_new));
            let each = |value: fn(&StartSummary) -> Option<f64>| {
                let of = |starts: &[StartSummary]| starts.iter().filter_map(value).collect();
                (of(&base), of(&new))
            };
            let first: (Vec<f64>, Vec<f64>) = each(|of| Some(of.first));
            let steady: (Vec<f64>, Vec<f64>) = each(|of| of.steady);
            let ratio: (Vec<f64>, Vec<f64>) = each(|of| Some(of.first / of.steady?));
            let mut all = vec![
                samples(
                    Quantity::First.into(),
                    "first",
                    Unit::Seconds,
                    first.0,
                    first.1,
                ),
                samples(
                    Quantity::Steady.into(),
                    "steady",
                    Unit::Seconds,
                    steady.0,
                    steady.1,
                ),
                samples(
                    Quantity::Ratio.into(),
                    "first ÷ steady",
                    Unit::Ratio,
                    ratio.0,
                    ratio.1,
                ),
            ];
            all.retain(|samples| !(samples.base.is_empty() && samples.new.is_empty()));
            all
        }
    }
}

/// The largest change, with regressions first, and the number of changes.
fn headline(quantities: &[QuantityChange]) -> (Headline, Verdict) {
    let size = |quantity: &QuantityChange| {
        let part = quantity.relative.map_or(0.0, |part| part.value);
        part.ln_1p().abs()
    };
    let changed: Vec<&QuantityChange> = (quantities.iter())
        .filter(|quantity| matches!(quantity.verdict, Verdict::Slower | Verdict::Faster))
        .collect();
    let largest = (changed.iter()).max_by(|a, b| {
        let gate = (a.regressed, a.gated).cmp(&(b.regressed, b.gated));
        gate.then_with(|| size(a).total_cmp(&size(b)))
    });
    let Some(largest) = largest else {
        let sure = |q: &QuantityChange| q.verdict == Verdict::Same;
        let same = quantities.iter().filter(|q| sure(q)).count();
        let gated = || quantities.iter().filter(|q| q.gated);
        let verdict = match gated().all(sure) && gated().count() > 0 {
            true => Verdict::Same,
            false => Verdict::Inconclusive,
        };
        let text = match quantities.len() {
            0 => "nothing to compare: the results have no series in common".to_owned(),
            all => format!(
                "no conclusive change: {same} of {all} quantities are conclusively the same"
            ),
        };
        return (plain(text), verdict);
    };
    let by = largest.difference.map_or(0.0, |by| by.value);
    // A percentage of zero is undefined.
    let part = (largest.relative).map_or(String::new(), |part| {
        format!(" ({})", signed_percent(part.value))
    });
    let series = largest.of.as_ref().map_or(String::new(), series_name);
    let mut text = format!(
        "{series} {}: {}{part}",
        largest.name,
        change(by, largest.unit)
    );
    if changed.len() > 1 {
        text.push_str(&format!(
            "; {} of {} quantities changed",
            changed.len(),
            quantities.len()
        ));
    }
    let headline = Headline {
        text,
        quantity: Some(largest.id),
        cause: None,
        items: Vec::new(),
    };
    (headline, largest.verdict)
}

/// The name of a series in a sentence: `launch, cache empty, first launch (cuda)`.
fn series_name(key: &SeriesKey) -> String {
    let mut words = vec![key.experiment.id().to_owned()];
    if !key.variant.is_empty() {
        words.push(key.variant.clone());
    }
    words.push(key.series.clone());
    if let Some(size) = key.size {
        words.push(crate::units::bytes(size));
    }
    format!("{} ({})", words.join(", "), key.subject)
}
