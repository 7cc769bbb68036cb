//! Compares two measurements: what changed, how significant it is, and why.
//!
//! [`compare_runs`] compares two recorded runs, [`compare_labs`] two lab results; the
//! result is a [`CompareReport`], the document `preheat.compare/2`.
//!
//! The flow of a comparison: `counted_starts` (which of them count, and their values) →
//! `measure` (each quantity separately) → `judge` (all together: verdicts) → `items` and
//! `imports` (what explains the change) → `headline`, `notes`.

mod counted_starts;
mod first_line;
mod headline;
mod imports;
mod items;
mod judge;
mod lab;
mod measure;
mod notes;
mod regions;

use preheat_model::Quantity;

use crate::run::{AllItems, IterationUnit, RunReport, Temperature, warmest};
use crate::stats::holm;
use counted_starts::{Counted, always_fails, causes, compared_at, counted, quantities};
use first_line::FirstLine;
use headline::{Story, headline};
use judge::{OF_ITERATIONS, are_alike};
use measure::{Measured, Samples, judge_each, measure, measure_each};
use regions::{regions, unpaired};

pub use judge::{DEFAULT_GATE, Settings};
pub use lab::compare_labs;
pub(crate) use preheat_model::compare::{
    COMPARE_SCHEMA, CauseChange, Change, CompareKind, CompareReport, Compared, Floors, Headline,
    ItemChange, Level, QuantityChange, SIGNIFICANT, SeriesKey, Side, Unit, Verdict,
};

/// One side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct RunInput<'a> {
    /// The recording or file, as the user named it.
    pub source: &'a str,
    /// Its report.
    pub report: &'a RunReport,
    /// The complete items of its causes; `None` if only a document is available.
    pub all_items: Option<&'a AllItems>,
}

/// Compares two runs.
pub fn compare_runs(base: &RunInput, new: &RunInput, settings: &Settings) -> CompareReport {
    let requested = settings;
    let first_line = FirstLine::of(base.report, new.report);
    let alike = are_alike(base.report, new.report);
    let settings = &first_line.gated(settings);
    let (cold_base, cold_new) = compared_at(base.report, new.report);
    let with_failed = always_fails(base.report) && always_fails(new.report);
    let of_base = counted(base.report, cold_base, with_failed);
    let of_new = counted(new.report, cold_new, with_failed);
    let mut samples = quantities(&of_base, &of_new, settings);
    if !alike {
        // Only the regions that both sides time are comparable.
        samples.retain(|samples| !OF_ITERATIONS.iter().any(|of| samples.id == *of));
    }
    if base.report.unit == Some(IterationUnit::Models) {
        // Later iterations are calls of other models.
        samples.retain(|samples| {
            samples.id == Quantity::First || !OF_ITERATIONS.iter().any(|of| samples.id == *of)
        });
    }
    let regions = regions((base.report, &of_base), (new.report, &of_new), alike);
    samples.extend(regions);
    let measured: Vec<Measured> = (samples.iter())
        .map(|samples| measure(&samples.base, &samples.new, samples.by, samples.unit))
        .collect();
    let measured = first_line.judgeable(&samples, measured);
    let steady_work = [&of_base, &of_new].map(Counted::has_steady_work);
    let comparable = alike && steady_work[0] == steady_work[1];
    let of_causes = measure_each(causes(&of_base, &of_new, settings, comparable));
    let all: Vec<Option<f64>> = (measured.iter())
        .chain(of_causes.iter().map(|cause| &cause.measured))
        .map(|measured| measured.p)
        .collect();
    let adjusted = adjusted(&all);
    let (of_quantities, adjusted_causes) = adjusted.split_at(measured.len());
    let mut quantities = judged(samples, measured, of_quantities, settings);
    first_line.explain(&mut quantities);
    // The causes of a report describe its warmest starts.
    let are_shown = shows(base.report, cold_base) && shows(new.report, cold_new);
    let inputs = are_shown.then_some((base, new));
    let causes = judge_each(of_causes, adjusted_causes, inputs, settings);
    let unjudged = requested.unjudged(&quantities);
    let (headline, verdict) = headline(&Story {
        quantities: &quantities,
        causes: &causes,
        excess: are_shown.then_some((base.report, new.report)),
        alike,
        to_end: of_base.to_end || of_new.to_end,
    });
    let mut report = CompareReport {
        schema: COMPARE_SCHEMA.to_owned(),
        preheat: settings.preheat.clone(),
        kind: CompareKind::Runs,
        base: side(base, cold_base, &of_base),
        new: side(new, cold_new, &of_new),
        max_regression: settings.max_regression,
        floors: settings.floors,
        headline,
        verdict: verdict_with(verdict, &unjudged),
        regressed: quantities.iter().any(|quantity| quantity.regressed),
        inconclusive: is_inconclusive(&quantities, &unjudged),
        quantities,
        causes,
        notes: Vec::new(),
    };
    report.notes = notes::of_runs(&report, base, new, [&of_base, &of_new]);
    if !comparable && steady_work.contains(&true) {
        report.notes.push(notes::steady_work(alike));
    }
    report.notes.extend(first_line.notes());
    report.notes.extend(notes::unjudged(&unjudged));
    report
        .notes
        .extend(notes::regions(&unpaired(base.report, new.report)));
    report
}

/// Applies Holm's adjustment to those that have a p-value.
fn adjusted(all: &[Option<f64>]) -> Vec<Option<f64>> {
    let known: Vec<f64> = all.iter().flatten().copied().collect();
    let mut adjusted = holm(&known).into_iter();
    let mut next = || adjusted.next();
    all.iter().map(|p| p.and_then(|_| next())).collect()
}

/// The quantities with their verdicts.
fn judged(
    samples: Vec<Samples>,
    measured: Vec<Measured>,
    adjusted: &[Option<f64>],
    settings: &Settings,
) -> Vec<QuantityChange> {
    let each = samples.into_iter().zip(measured).zip(adjusted);
    each.map(|((samples, measured), adjusted_p)| {
        let judged = measured.judge(*adjusted_p, settings);
        let gated = settings.gates(samples.id);
        let floor = match (samples.unit, samples.id) {
            (Unit::Bytes, _) => settings.floors.bytes,
            (Unit::Seconds, id) if id == Quantity::Steady => settings.floors.steady,
            (Unit::Seconds, _) => settings.floors.seconds,
            (Unit::Ratio | Unit::Iterations | Unit::Count | Unit::ExitCode, _) => 0.0,
        };
        let change = measured.difference.map_or(0.0, |by| by.value);
        QuantityChange {
            id: samples.id,
            name: samples.name.into_owned(),
            unit: samples.unit,
            of: samples.of,
            base: measured.base,
            new: measured.new,
            difference: measured.difference,
            relative: measured.relative,
            p: measured.p,
            adjusted_p: *adjusted_p,
            verdict: judged.verdict,
            why: judged.why,
            gated,
            regressed: gated && judged.beyond && change >= floor,
        }
    })
    .collect()
}

/// Returns true if something that could fail the comparison cannot be judged: a gated
/// quantity, a requested one that was not measured, or everything.
fn is_inconclusive(quantities: &[QuantityChange], unjudged: &[Compared]) -> bool {
    let gated = || quantities.iter().filter(|quantity| quantity.gated);
    gated().any(|quantity| quantity.verdict == Verdict::Inconclusive)
        || gated().next().is_none()
        || !unjudged.is_empty()
}

/// The overall verdict: not `same` if a requested quantity was not judged.
fn verdict_with(verdict: Verdict, unjudged: &[Compared]) -> Verdict {
    match verdict {
        Verdict::Same if !unjudged.is_empty() => Verdict::Inconclusive,
        verdict => verdict,
    }
}

/// Returns true if the report's details describe this temperature: they describe the
/// warmest.
fn shows(report: &RunReport, temperature: Temperature) -> bool {
    warmest(&report.starts).is_none_or(|warmest| warmest == temperature)
}

fn side(input: &RunInput, temperature: Temperature, counted: &Counted) -> Side {
    let report = input.report;
    let same = report.starts.iter();
    Side {
        source: input.source.to_owned(),
        command: report.command.clone(),
        created: report.created.clone(),
        preheat: report.preheat.clone(),
        machine: report.machine.clone(),
        device: None,
        temperature: Some(temperature),
        iterations_by: Some(report.iterations_by),
        iteration: report.iteration.clone(),
        starts: same
            .filter(|start| start.temperature == temperature)
            .count(),
        counted_starts: counted.starts.len(),
    }
}
