//! Claims 10 to 13 and 16 to 20: training and inference.

use super::super::data::{ByStart, Data, Key, SeriesData};
use super::super::notable::PREALLOCATED;
use super::super::{ExperimentId, Subject, Verdict, names};
use super::{Finding, SAME_WITHIN, above, below, both};
use crate::stats::{self, Estimate};
use crate::units::{bytes, duration, ratio};

/// Removing a part must leave less than this fraction.
const MAX_REMAINDER: f64 = 0.9;
/// Less than this share of the excess may be arithmetic.
const MAX_ARITHMETIC_SHARE: f64 = 0.5;
/// The memory growth of the first inference, relative to a later one.
const MIN_MEMORY_RATIO: f64 = 2.0;
/// Growth of less than a page counts as none.
const PAGE: f64 = 4096.0;

fn infer<'a>(variant: &'a str, name: &'a str) -> Key<'a> {
    Key::new(ExperimentId::Infer, name).variant(variant)
}

pub(super) fn first_training(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let key = Key::new(ExperimentId::Train, names::ITERATION);
    slower_first(
        data.series(subject, key.variant(names::MODEL_ON_DEVICE)),
        data.series(subject, key.variant(names::MODEL_FROM_NOTHING)),
        "iteration",
    )
}

pub(super) fn without_optimizer(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let key = Key::new(ExperimentId::TrainNoOptimizer, names::ITERATION);
    slower_first(
        data.series(subject, key.variant(names::NO_OPTIMIZER_ON_DEVICE)),
        data.series(subject, key.variant(names::NO_OPTIMIZER)),
        "iteration",
    )
}

pub(super) fn first_inference(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let network = slower_first(
        data.series(subject, infer(names::MLP_ON_DEVICE, names::RESIDENT_INPUT)),
        data.series(subject, infer(names::MLP, names::FRESH_INPUT)),
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
        verdict: both(network.verdict, above(launch, SAME_WITHIN)),
        sentence: format!(
            "{}; a direct kernel launch {}",
            network.sentence,
            ratio(launch.value)
        ),
        also: [network.also, vec![(launch, SAME_WITHIN)]].concat(),
        ..network
    })
}

/// Judges whether the first is slower: with the model on the device, as the articles time
/// it, and from nothing.
fn slower_first(
    on_device: Option<SeriesData>,
    from_nothing: Option<SeriesData>,
    what: &str,
) -> Option<Finding> {
    let ratio_of = |series: SeriesData| series.first_to_steady().map(|value| (series, value));
    let numbers = |(series, value): &(SeriesData, Estimate)| {
        let first = duration(SeriesData::typical(&series.firsts()));
        let steady = duration(SeriesData::typical(&series.steadies()));
        let times = ratio(value.value);
        match series.settles() {
            true => (first, format!("a steady one {steady}"), times),
            // The table has no steady iteration.
            false => (
                first,
                format!("a later one {steady}"),
                format!("{times} the later half, which is not steady"),
            ),
        }
    };
    let (on_device, from_nothing) = (
        on_device.and_then(ratio_of),
        from_nothing.and_then(ratio_of),
    );
    let values = [&on_device, &from_nothing].into_iter().flatten();
    let decided = Decided::above(values.map(|(_, value)| (*value, SAME_WITHIN)).collect())?;
    let sentence = match (&on_device, &from_nothing) {
        (Some(resident), Some(nothing)) => {
            let (first, steady, times) = numbers(resident);
            let (first_of_nothing, _, times_of_nothing) = numbers(nothing);
            format!(
                "the first {what} takes {first} with the model on the device, {steady} ({times}); from nothing {first_of_nothing} ({times_of_nothing})"
            )
        }
        (one, other) => {
            let (first, steady, times) = numbers(one.as_ref().or(other.as_ref())?);
            format!("the first {what} takes {first}, {steady} ({times})")
        }
    };
    Some(Finding {
        verdict: decided.verdict,
        quantity: "first ÷ steady",
        value: decided.value,
        threshold: decided.threshold,
        also: decided.also,
        sentence,
    })
}

/// Several values that must all be above their thresholds.
struct Decided {
    verdict: Verdict,
    /// The first value with this verdict.
    value: Estimate,
    threshold: f64,
    also: Vec<(Estimate, f64)>,
}

impl Decided {
    /// Returns `None` without values.
    fn above(mut values: Vec<(Estimate, f64)>) -> Option<Decided> {
        let verdict_of = |(value, threshold): &(Estimate, f64)| above(*value, *threshold);
        let verdict = values.iter().map(verdict_of).reduce(both)?;
        let index = values.iter().position(|of| verdict_of(of) == verdict)?;
        let (value, threshold) = values.remove(index);
        Some(Decided {
            verdict,
            value,
            threshold,
            also: values,
        })
    }
}

/// The excess of the first iteration, with and without prior device initialization.
struct Initialized {
    cold: SeriesData,
    ready: SeriesData,
}

impl Initialized {
    fn new(data: &Data<'_>, subject: &Subject, variant: &str) -> Option<Initialized> {
        let of = |id| data.series(subject, Key::new(id, names::ITERATION).variant(variant));
        Some(Initialized {
            cold: of(ExperimentId::Train)?,
            ready: of(ExperimentId::TrainInitialized)?,
        })
    }

    fn describe(&self) -> String {
        format!(
            "goes from {} to {}",
            duration(SeriesData::typical(&self.cold.first_excess())),
            duration(SeriesData::typical(&self.ready.first_excess()))
        )
    }
}

pub(super) fn initialized_first(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let nothing = Initialized::new(data, subject, names::MODEL_FROM_NOTHING);
    let resident = Initialized::new(data, subject, names::MODEL_ON_DEVICE);
    let sentence = match (&resident, &nothing) {
        (Some(resident), _) => {
            let pause = Key::new(ExperimentId::TrainInitialized, names::ITERATION)
                .variant(names::MODEL_AFTER_PAUSE);
            let pause = data.series(subject, pause).map_or(String::new(), |series| {
                let excess = SeriesData::typical(&series.first_excess());
                format!(" (to {} with a pause of 0.2 s)", duration(excess))
            });
            let also = nothing.as_ref().map_or(String::new(), |nothing| {
                format!("; from nothing it {}", nothing.describe())
            });
            format!(
                "{}{pause} with the model on the device{also}",
                resident.describe()
            )
        }
        (None, nothing) => format!("{} from nothing", nothing.as_ref()?.describe()),
    };
    let sentence = format!("the excess of the first iteration {sentence}");
    // As the articles time it, if that was measured.
    let Initialized { cold, ready } = resident.or(nothing)?;
    let value = data.unpaired(&ready.first_excess(), &cold.first_excess())?;
    let left = ready.first_to_steady()?;
    Some(Finding {
        verdict: both(below(value, MAX_REMAINDER), above(left, SAME_WITHIN)),
        quantity: "excess of the first iteration, device initialized ÷ not",
        value,
        threshold: MAX_REMAINDER,
        also: vec![(left, SAME_WITHIN)],
        sentence,
    })
}

pub(super) fn recording(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    // The native tape is ours and records on request, so it proves nothing.
    subject.framework.as_ref()?;
    let forward =
        |name| Key::new(ExperimentId::TrainNoOptimizer, name).variant(names::FORWARD_ONLY);
    let series = [
        forward(names::RECORDINGS),
        Key::new(ExperimentId::Train, names::RECORDINGS).variant(names::MODEL_FROM_NOTHING),
        infer(names::MLP, names::RECORDINGS),
    ]
    .into_iter()
    .find_map(|key| data.series(subject, key))?;
    // Counted, not estimated, and therefore without an interval.
    let counts = series.starts.iter().flat_map(|(_, values)| &values[1..]);
    if counts.clone().count() == 0 {
        return None;
    }
    let share = counts.clone().sum::<f64>() / counts.count() as f64;
    let steady = |name| {
        Some(SeriesData::typical(
            &data.series(subject, forward(name))?.steadies(),
        ))
    };
    let cost = steady(names::FORWARD_RECORDING)
        .zip(steady(names::FORWARD_PLAIN))
        .map_or(String::new(), |(recording, plain)| {
            let whole = steady(names::FORWARD_BACKWARD).map_or(String::new(), |whole| {
                format!(
                    ", {} with its backward pass: autograd is {:.0} % of that",
                    duration(whole),
                    (whole - plain) / whole * 100.0
                )
            });
            format!(
                ": a steady forward pass takes {} without recording and {} with it{whole}",
                duration(plain),
                duration(recording)
            )
        });
    Some(Finding {
        verdict: if share == 0.0 {
            Verdict::Holds
        } else {
            Verdict::DoesNotHold
        },
        quantity: "recordings in a later iteration",
        value: Estimate {
            value: share,
            low: Some(share),
            high: Some(share),
        },
        threshold: 0.0,
        also: vec![],
        sentence: if share == 0.0 {
            "the graph was recorded in the first iteration and never again".to_owned()
        } else {
            format!(
                "the graph is recorded again in {:.0} % of the later iterations{cost}",
                share * 100.0
            )
        },
    })
}

/// The parts of a first inference, natively or in a framework, with their display names.
const PARTS: [(&str, &str); 8] = [
    (names::INITIALIZE, "driver and context"),
    (names::FIRST_INITIALIZE, "driver and context"),
    (names::FIRST_BUILD, "building the model"),
    (names::FIRST_KERNELS, "kernels"),
    (names::FIRST_ALLOCATE, "allocation"),
    (names::FIRST_COPY, "copies"),
    (names::FIRST_MOVE, "allocation and copies"),
    (names::FIRST_TRACE, "tracing, compiling and running"),
];

pub(super) fn not_arithmetic(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let whole = data.series(subject, infer(names::MLP, names::FRESH_INPUT))?;
    let excess = whole.first_excess();
    // Natively, the arithmetic is timed separately. In a framework, it is part of what
    // remains of a first inference with new weights where everything else is set up.
    let compute = data.series(subject, infer(names::MLP, names::COMPUTE));
    let (left, what) = match compute {
        Some(compute) => (compute.first_excess(), "launches and arithmetic"),
        None => {
            let again = data.series(subject, infer(names::MLP, names::NEW_WEIGHTS))?;
            (
                over_steady(&again, &whole),
                "the cost of new weights in a process that is set up, including arithmetic",
            )
        }
    };
    let value = whole.paired(&left, &excess)?;
    let typical = SeriesData::typical(&excess);
    let mut parts: Vec<String> = PARTS
        .iter()
        .filter_map(|(name, words)| {
            let part = data.series(subject, infer(names::MLP, name))?;
            Some(format!("{words} {}", mean_share(&part.firsts(), &excess)?))
        })
        .collect();
    parts.push(format!("{what} {}", mean_share(&left, &excess)?));
    Some(Finding {
        verdict: below(value, MAX_ARITHMETIC_SHARE),
        quantity: "excess that may be arithmetic ÷ whole excess of the first inference",
        value,
        threshold: MAX_ARITHMETIC_SHARE,
        also: vec![],
        sentence: format!(
            "of an excess of {}: {}",
            duration(typical),
            parts.join(", ")
        ),
    })
}

/// The median of each start minus the steady value of the same start in another series; at
/// least a thousandth of it, so that it has a logarithm.
fn over_steady(series: &SeriesData, other: &SeriesData) -> ByStart {
    let steadies = other.steadies();
    let starts = series.starts.iter();
    starts
        .filter_map(|(index, values)| {
            let (_, steady) = steadies.iter().find(|(same, _)| same == index)?;
            let (value, steady) = (stats::median(values)?, stats::median(steady)?);
            Some((*index, vec![(value - steady).max(value * 1e-3)]))
        })
        .collect()
}

/// The mean over the starts of a part's share of the whole: such shares add up.
fn mean_share(part: &ByStart, whole: &ByStart) -> Option<String> {
    let shares = part.iter().filter_map(|(index, values)| {
        let (_, whole) = whole.iter().find(|(same, _)| same == index)?;
        Some(stats::median(values)? / stats::median(whole)?)
    });
    let shares: Vec<f64> = shares.collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    mean.is_finite().then(|| percent(mean))
}

fn percent(share: f64) -> String {
    match share < 0.001 {
        true => "under 0.1 %".to_owned(),
        false => crate::units::percent(share),
    }
}

/// Memory growth: the first of each start, and the mean of the later ones.
struct Growth {
    first: ByStart,
    /// The mean, not the median: growth in only some iterations counts too.
    later: ByStart,
}

impl Growth {
    /// Returns `None` if no start has a first and a later inference.
    fn of(series: &SeriesData) -> Option<Growth> {
        let growth = |values: &[f64]| -> Vec<f64> {
            let steps = values.windows(2).map(|pair| pair[1] - pair[0]);
            steps.map(|step| step.max(PAGE)).collect()
        };
        let usable: Vec<_> = (series.starts.iter())
            .filter(|(_, values)| values.len() > 2)
            .collect();
        let each = |of: &dyn Fn(&[f64]) -> f64| -> ByStart {
            let starts = usable.iter();
            starts.map(|(i, values)| (*i, vec![of(values)])).collect()
        };
        let first = each(&|values| growth(values)[0]);
        let later = each(&|values| {
            let grown = growth(&values[1..]);
            grown.iter().sum::<f64>() / grown.len() as f64
        });
        (!first.is_empty()).then_some(Growth { first, later })
    }
}

/// Formats growth; a page or less is none.
fn grown(by_start: &ByStart) -> String {
    match SeriesData::typical(by_start) {
        none if none <= PAGE => "none".to_owned(),
        some => bytes(some as u64),
    }
}

pub(super) fn memory(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let found = |name| {
        let series = data.series(subject, infer(names::MLP, name))?;
        Some((name, Growth::of(&series)?, series))
    };
    let (name, growth, series) =
        found(names::DEVICE_MEMORY).or_else(|| found(names::HOST_MEMORY))?;
    // The cpu device uses host memory; for other devices, host memory decides nothing.
    let decides = name == names::DEVICE_MEMORY || subject.device == "cpu";
    let value = series.paired(&growth.first, &growth.later)?;
    let mut sentence = format!(
        "the first adds {} of {name}, a later one {}",
        grown(&growth.first),
        grown(&growth.later)
    );
    if !decides {
        sentence.push_str("; device memory could not be read");
    }
    let added = SeriesData::typical(&growth.first);
    let share = data
        .memory_of(&subject.device)
        .map(|all| added / all.max(1) as f64)
        .filter(|share| name == names::DEVICE_MEMORY && *share > PREALLOCATED);
    if let (Some(share), Some(framework)) = (share, &subject.framework) {
        let arrays = data
            .series(subject, infer(names::MLP, names::ARRAY_MEMORY))
            .and_then(|series| Growth::of(&series))
            .map_or(String::new(), |arrays| {
                format!("; the arrays of the first take {}", grown(&arrays.first))
            });
        sentence.push_str(&format!(
            ": {framework} preallocates {} of the device regardless of the model{arrays}",
            percent(share)
        ));
    }
    let resident = data
        .series(subject, infer(names::MLP_ON_DEVICE, name))
        .and_then(|series| Growth::of(&series));
    if let Some(resident) = resident {
        sentence.push_str(&format!(
            "; with the model on the device the first adds {}",
            grown(&resident.first)
        ));
    }
    Some(Finding {
        verdict: match decides {
            true => above(value, MIN_MEMORY_RATIO),
            false => Verdict::Inconclusive,
        },
        quantity: "memory added by the first inference ÷ by a later one (a page at least)",
        value,
        threshold: MIN_MEMORY_RATIO,
        also: vec![],
        sentence,
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
        also: vec![],
        sentence: format!(
            "{} with fresh input, {} with resident input",
            duration(SeriesData::typical(&fresh.steadies())),
            duration(SeriesData::typical(&resident.steadies()))
        ),
    })
}

/// The small model that larger ones are compared with: with the model on the device, where
/// device initialization hides no difference, and from nothing.
const SMALL: [(&str, &str); 2] = [
    (names::MLP_ON_DEVICE, names::RESIDENT_INPUT),
    (names::MLP, names::FRESH_INPUT),
];
const LARGER: [(&str, [&str; 2]); 2] = [
    (
        "the larger MLP",
        [names::MLP_LARGE_ON_DEVICE, names::MLP_LARGE],
    ),
    ("the U-Net", [names::UNET_ON_DEVICE, names::UNET]),
];

pub(super) fn excess_grows(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let mut compared: Vec<(Estimate, f64)> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for (what, variants) in LARGER {
        let found = variants
            .into_iter()
            .zip(SMALL)
            .find_map(|(large, (small, name))| {
                let large = data.series(subject, infer(large, name))?;
                let small = data.series(subject, infer(small, name))?;
                let value = data.unpaired(&large.first_excess(), &small.first_excess())?;
                Some((small, large, value, name))
            });
        let Some((small, large, value, name)) = found else {
            continue;
        };
        let of = |series: &SeriesData| duration(SeriesData::typical(&series.first_excess()));
        let from = match name {
            names::FRESH_INPUT => " from nothing",
            _ => " with the model on the device",
        };
        words.push(format!(
            "{} for {what} against {} for the small MLP{from} ({})",
            of(&large),
            of(&small),
            ratio(value.value)
        ));
        compared.push((value, SAME_WITHIN));
    }
    let decided = Decided::above(compared)?;
    Some(Finding {
        verdict: decided.verdict,
        quantity: "excess of the first inference, larger ÷ small model",
        value: decided.value,
        threshold: decided.threshold,
        also: decided.also,
        sentence: format!("the excess is {}", words.join(", ")),
    })
}
