//! Claims 10 to 13 and 16 to 20: training and inference.

use super::super::data::{ByStart, Data, Key, SeriesData};
use super::super::{ExperimentId, Subject, Verdict, names};
use super::{Finding, SAME, above, below, both};
use crate::stats::Interval;
use crate::units::{bytes, duration, ratio};

/// Less than this share of the excess may be arithmetic.
const HALF: f64 = 0.5;
/// Memory that the first inference takes, against what a later one takes.
const MORE: f64 = 2.0;
/// Growth of less than a page is none.
const PAGE: f64 = 4096.0;

fn infer<'a>(variant: &'a str, name: &'a str) -> Key<'a> {
    Key::new(ExperimentId::Infer, name).variant(variant)
}

pub(super) fn first_training(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    slower_first(
        data.series(subject, Key::new(ExperimentId::Train, names::ITERATION))?,
        "iteration",
    )
}

pub(super) fn without_optimizer(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let key =
        Key::new(ExperimentId::TrainNoOptimizer, names::ITERATION).variant(names::NO_OPTIMIZER);
    slower_first(data.series(subject, key)?, "iteration")
}

pub(super) fn first_inference(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let network = slower_first(
        data.series(subject, infer(names::MLP, names::FRESH_INPUT))?,
        "inference",
    )?;
    let key = Key::new(ExperimentId::Launch, names::LAUNCH_FROM_SOURCE).variant(names::CACHE_EMPTY);
    let Some(launch) = data
        .series(subject, key)
        .and_then(|series| series.first_to_steady())
    else {
        return Some(network);
    };
    Some(Finding {
        verdict: both(network.verdict, above(launch, SAME)),
        sentence: format!(
            "{}; a direct kernel launch {}",
            network.sentence,
            ratio(launch.median)
        ),
        ..network
    })
}

fn slower_first(series: SeriesData, what: &str) -> Option<Finding> {
    let value = series.first_to_steady()?;
    Some(Finding {
        verdict: above(value, SAME),
        quantity: "first ÷ steady",
        value,
        threshold: SAME,
        sentence: format!(
            "the first {what} takes {}, a steady one {} ({})",
            duration(SeriesData::typical(&series.firsts())),
            duration(SeriesData::typical(&series.steadies())),
            ratio(value.median)
        ),
    })
}

pub(super) fn initialized_first(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let cold = data.series(subject, Key::new(ExperimentId::Train, names::ITERATION))?;
    let ready = data.series(
        subject,
        Key::new(ExperimentId::TrainInitialized, names::ITERATION),
    )?;
    let value = data.unpaired(&ready.first_excess(), &cold.first_excess())?;
    let left = ready.first_to_steady()?;
    Some(Finding {
        verdict: both(below(value, 1.0 / SAME), above(left, SAME)),
        quantity: "excess of the first iteration, device initialized ÷ not",
        value,
        threshold: 1.0 / SAME,
        sentence: format!(
            "the excess of the first iteration goes from {} to {}",
            duration(SeriesData::typical(&cold.first_excess())),
            duration(SeriesData::typical(&ready.first_excess()))
        ),
    })
}

pub(super) fn recording(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    // Natively the tape is our own, and records because it was told to.
    subject.framework.as_ref()?;
    let forward =
        |name| Key::new(ExperimentId::TrainNoOptimizer, name).variant(names::FORWARD_ONLY);
    let series = [
        forward(names::RECORDINGS),
        Key::new(ExperimentId::Train, names::RECORDINGS),
        infer(names::MLP, names::RECORDINGS),
    ]
    .into_iter()
    .find_map(|key| data.series(subject, key))?;
    // Counted, not estimated: there is no interval to be clear of anything.
    let counts = series.starts.iter().flat_map(|(_, values)| &values[1..]);
    if counts.clone().count() == 0 {
        return None;
    }
    let share = counts.clone().sum::<f64>() / counts.count() as f64;
    let cost = data
        .series(subject, forward(names::FORWARD_RECORDING))
        .zip(data.series(subject, forward(names::FORWARD_PLAIN)))
        .map_or(String::new(), |(recording, plain)| {
            format!(
                ": a steady forward pass takes {} with recording and {} without",
                duration(SeriesData::typical(&recording.steadies())),
                duration(SeriesData::typical(&plain.steadies()))
            )
        });
    Some(Finding {
        verdict: if share == 0.0 {
            Verdict::Holds
        } else {
            Verdict::DoesNotHold
        },
        quantity: "recordings in a later iteration",
        value: Interval {
            median: share,
            low: Some(share),
            high: Some(share),
        },
        threshold: 0.0,
        sentence: if share == 0.0 {
            "the graph was recorded in the first iteration and never again".to_owned()
        } else {
            format!(
                "the graph is recorded anew in {:.0} % of the later iterations{cost}",
                share * 100.0
            )
        },
    })
}

pub(super) fn not_arithmetic(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let whole = data.series(subject, infer(names::MLP, names::FRESH_INPUT))?;
    let compute = data.series(subject, infer(names::MLP, names::COMPUTE))?;
    let value = whole.paired(&compute.first_excess(), &whole.first_excess())?;
    Some(Finding {
        verdict: below(value, HALF),
        quantity: "excess of launches and arithmetic ÷ whole excess of the first inference",
        value,
        threshold: HALF,
        sentence: format!(
            "of an excess of {}, {} are launches and arithmetic",
            duration(SeriesData::typical(&whole.first_excess())),
            duration(SeriesData::typical(&compute.first_excess()))
        ),
    })
}

pub(super) fn memory(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let (series, what) = [
        (names::DEVICE_MEMORY, "device"),
        (names::HOST_MEMORY, "host"),
    ]
    .into_iter()
    .find_map(|(name, what)| {
        let series = data.series(subject, infer(names::MLP, name))?;
        let usable = series.starts.iter().any(|(_, values)| values.len() > 2);
        usable.then_some((series, what))
    })?;
    let growth = |values: &[f64]| -> Vec<f64> {
        let steps = values.windows(2).map(|pair| pair[1] - pair[0]);
        steps.map(|step| step.max(PAGE)).collect()
    };
    let usable = || series.starts.iter().filter(|(_, values)| values.len() > 2);
    let first: ByStart = usable()
        .map(|(i, values)| (*i, vec![growth(values)[0]]))
        .collect();
    // The mean, not the median: memory that grows in some iterations only counts too.
    let later: ByStart = usable()
        .map(|(i, values)| {
            let grown = growth(&values[1..]);
            (*i, vec![grown.iter().sum::<f64>() / grown.len() as f64])
        })
        .collect();
    let value = series.paired(&first, &later)?;
    Some(Finding {
        verdict: above(value, MORE),
        quantity: "memory added by the first inference ÷ by a later one (a page at least)",
        value,
        threshold: MORE,
        sentence: format!(
            "the first adds {} of {what} memory, a later one {}",
            bytes(SeriesData::typical(&first) as u64),
            if SeriesData::typical(&later) <= PAGE {
                "none".to_owned()
            } else {
                bytes(SeriesData::typical(&later) as u64)
            }
        ),
    })
}

pub(super) fn resident_input(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let fresh = data.series(subject, infer(names::MLP_LARGE, names::FRESH_INPUT))?;
    let resident = data.series(subject, infer(names::MLP_LARGE, names::RESIDENT_INPUT))?;
    let value = fresh.paired(&fresh.steadies(), &resident.steadies())?;
    Some(Finding {
        verdict: above(value, 1.02),
        quantity: "steady inference, fresh ÷ resident input",
        value,
        threshold: 1.02,
        sentence: format!(
            "{} with fresh input, {} with resident input",
            duration(SeriesData::typical(&fresh.steadies())),
            duration(SeriesData::typical(&resident.steadies()))
        ),
    })
}

pub(super) fn excess_grows(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let small = data.series(subject, infer(names::MLP, names::FRESH_INPUT))?;
    let large = data.series(subject, infer(names::MLP_LARGE, names::FRESH_INPUT))?;
    let value = data.unpaired(&large.first_excess(), &small.first_excess())?;
    Some(Finding {
        verdict: above(value, SAME),
        quantity: "excess of the first inference, large ÷ small model",
        value,
        threshold: SAME,
        sentence: format!(
            "the excess is {} for the small and {} for the large model",
            duration(SeriesData::typical(&small.first_excess())),
            duration(SeriesData::typical(&large.first_excess()))
        ),
    })
}
