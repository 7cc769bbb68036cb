//! The headline of a lab report: the cost of a cold start on this machine.

use preheat_model::lab::{Experiment, ExperimentId, LabReport, SampleKind, Series, names};

use crate::lab;
use crate::lab::overview::USUAL_SIZE;
use crate::units::{TOO_WIDE, duration, ratio, ratio_span, too_wide};

/// The headline and the numbers behind it.
pub(crate) struct Headline {
    /// A sentence without a full stop.
    pub text: String,
    /// The measured values; empty if nothing was measured.
    pub detail: String,
}

/// The series that can be the headline, by interest, and the name of one iteration.
const BY_INTEREST: [(ExperimentId, &str, &str); 6] = [
    (ExperimentId::Train, names::ITERATION, "training iteration"),
    (ExperimentId::Infer, names::FRESH_INPUT, "inference"),
    (ExperimentId::Infer, names::RESIDENT_INPUT, "inference"),
    (
        ExperimentId::Alloc,
        names::FROM_NOTHING,
        "4 MiB allocation in a fresh process",
    ),
    (ExperimentId::Launch, names::LAUNCH, "kernel launch"),
    (
        ExperimentId::Alloc,
        names::CONTEXT_READY,
        "4 MiB allocation",
    ),
];

/// The headline of a report.
pub(crate) fn headline(report: &LabReport) -> Headline {
    let Some((experiment, series, what)) = choose(report) else {
        return once_only(report);
    };
    let value = series.ratio.map_or(f64::NAN, |interval| interval.value);
    let text = if value >= 1.1 {
        format!("The first {what} takes {} a steady one", ratio(value))
    } else {
        format!("The first {what} is no slower than a steady one")
    };
    let steady = series.steady.unwrap_or(f64::NAN);
    let mut detail = format!(
        "{} against {}, {}",
        duration(series.first),
        duration(steady),
        experiment.subject()
    );
    if !series.variant.is_empty() {
        detail.push_str(&format!(", {}", series.variant));
    }
    if let Some(interval) = series.ratio
        && let Some(span) = ratio_span(interval.low, interval.high)
    {
        detail.push_str(&format!("; 95 % interval {span}"));
        if too_wide(interval.low, interval.high) {
            detail.push_str(&format!(", {TOO_WIDE}"));
        }
    }
    Headline { text, detail }
}

/// The headline if nothing was repeated: the total of the stages.
fn once_only(report: &LabReport) -> Headline {
    let stages = |experiment: &Experiment| -> f64 {
        let once = experiment
            .series
            .iter()
            .filter(|s| s.kind == SampleKind::Stage);
        once.map(|series| series.first).sum()
    };
    let longest = report
        .experiments
        .iter()
        .max_by(|a, b| stages(a).total_cmp(&stages(b)))
        .filter(|experiment| stages(experiment) > 0.0);
    match longest {
        None => Headline {
            text: "Nothing was measured".to_owned(),
            detail: String::new(),
        },
        Some(experiment) => Headline {
            text: format!(
                "The steps of {} take {} on {}",
                experiment.id.id(),
                duration(stages(experiment)),
                experiment.subject()
            ),
            detail: "Each happens once per process".to_owned(),
        },
    }
}

fn choose(report: &LabReport) -> Option<(&Experiment, &Series, String)> {
    let all = || {
        report
            .experiments
            .iter()
            .flat_map(|experiment| {
                experiment
                    .series
                    .iter()
                    .map(move |series| (experiment, series))
            })
            .filter(|(_, series)| series.kind == SampleKind::Iterations)
            .filter(|(_, series)| ratio_of(series).is_some())
            // Of a sweep, only the usual size.
            .filter(|(_, series)| series.size.is_none_or(|size| size == USUAL_SIZE))
    };
    // The requested framework and device come first, and a framework before native: a user
    // who requested JAX is not interested in training on the cpu device.
    let requested = requested_framework(report);
    let rank = |experiment: &Experiment| {
        (
            requested.is_some() && experiment.framework.as_deref() != requested,
            experiment.device != report.device.kind,
            experiment.framework.is_none(),
        )
    };
    let mut ranks: Vec<_> = all().map(|(experiment, _)| rank(experiment)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    for of_rank in ranks {
        for (id, name, what) in BY_INTEREST {
            let found = all()
                .filter(|(experiment, _)| rank(experiment) == of_rank)
                .find(|(experiment, series)| experiment.id == id && series.name == name);
            if let Some((experiment, series)) = found {
                return Some((experiment, series, what.to_owned()));
            }
        }
    }
    all()
        .max_by(|(_, a), (_, b)| {
            ratio_of(a)
                .unwrap_or(0.0)
                .total_cmp(&ratio_of(b).unwrap_or(0.0))
        })
        .map(|(experiment, series)| {
            (
                experiment,
                series,
                format!("“{}”", lab::full(experiment, series)),
            )
        })
}

/// The framework named with `--framework`, if it was measured.
fn requested_framework(report: &LabReport) -> Option<&str> {
    let mut words = report.command.iter();
    let named = loop {
        let word = words.next()?;
        if word == "--framework" {
            break words.next()?.as_str();
        }
        if let Some(named) = word.strip_prefix("--framework=") {
            break named;
        }
    };
    let measured = |experiment: &Experiment| experiment.framework.as_deref() == Some(named);
    report.experiments.iter().any(measured).then_some(named)
}

fn ratio_of(series: &Series) -> Option<f64> {
    series
        .ratio
        .map(|interval| interval.value)
        .filter(|ratio| ratio.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn prefers_training_in_a_framework_on_the_chosen_device() {
        let headline = headline(&fixture::report());
        assert!(
            headline
                .text
                .starts_with("The first training iteration takes 2")
        );
        assert!(headline.text.ends_with("× a steady one"));
        assert!(headline.detail.contains("torch on cuda"));
        assert!(headline.detail.contains("95 % interval"));
    }

    #[test]
    fn prefers_the_requested_framework() {
        let mut report = fixture::report();
        // It has fewer experiments than native, and runs on another device.
        report.experiments.retain(|experiment| {
            experiment.framework.is_none()
                || experiment.device == "cpu" && experiment.id == ExperimentId::Infer
        });
        let native = headline(&report);
        assert!(native.text.starts_with("The first training iteration"));
        assert!(!native.detail.contains("torch"), "{}", native.detail);
        for words in [&["--framework", "torch"][..], &["--framework=torch"]] {
            report.command = words.iter().map(|&word| word.to_owned()).collect();
            let headline = headline(&report);
            assert!(headline.text.starts_with("The first inference takes"));
            assert!(
                headline.detail.contains("torch on cpu"),
                "{}",
                headline.detail
            );
        }
        // A framework that was not measured is ignored.
        report.command = vec!["--framework".to_owned(), "jax".to_owned()];
        assert_eq!(headline(&report).detail, native.detail);
    }

    #[test]
    fn a_ratio_near_one_is_not_called_slower() {
        let mut report = fixture::report();
        for series in report.experiments.iter_mut().flat_map(|e| &mut e.series) {
            if let Some(ratio) = &mut series.ratio {
                ratio.value = 1.02;
            }
        }
        let headline = headline(&report);
        assert_eq!(
            headline.text,
            "The first training iteration is no slower than a steady one"
        );
    }

    #[test]
    fn unusual_reports_have_a_headline() {
        let mut report = fixture::report();
        report
            .experiments
            .retain(|experiment| experiment.id == ExperimentId::Transfer);
        assert!(headline(&report).text.starts_with("The first “transfer · "));
        report.experiments.clear();
        assert_eq!(headline(&report).text, "Nothing was measured");
    }
}
