//! Claims 1, 2, 4 to 9: allocation, pinning, preallocation. Claims 3, 14 and 15: kernels.

use super::super::data::{ByStart, Data, Key, SeriesData};
use super::super::{ExperimentId, Subject, names};
use super::{Finding, SAME_WITHIN, above, below};
use crate::stats;
use crate::units::{duration, ratio};

/// The tensor that the claims refer to, in bytes.
const TENSOR: u64 = 4 << 20;
/// The threshold for "far longer".
const FAR_LONGER: f64 = 10.0;
/// The threshold for "most of it".
const MOST_OF_IT: f64 = 0.5;
/// The threshold for "cold again".
const COLD_AGAIN: f64 = 1.5;

fn alloc(data: &Data<'_>, subject: &Subject, name: &str) -> Option<SeriesData> {
    data.series(subject, Key::new(ExperimentId::Alloc, name))
}

pub(super) fn setup_not_allocation(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let ready = alloc(data, subject, names::CONTEXT_READY)?;
    let setup = alloc(data, subject, names::INITIALIZE)?;
    let nothing = alloc(data, subject, names::FROM_NOTHING)?;
    let share = setup.paired(&setup.firsts(), &nothing.firsts())?;
    let later = ready.first_to_steady()?;
    Some(Finding {
        verdict: above(share, MOST_OF_IT),
        quantity: "set-up ÷ the whole first allocation",
        value: share,
        threshold: MOST_OF_IT,
        also: vec![],
        sentence: format!(
            "set-up takes {} of the {} of the first allocation; the remaining {} are {} a later one",
            percent(share.value),
            first(&nothing),
            first(&ready),
            ratio(later.value)
        ),
    })
}

pub(super) fn first_with_context(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let ready = alloc(data, subject, names::CONTEXT_READY)?;
    let value = ready.first_to_steady()?;
    Some(Finding {
        verdict: above(value, SAME_WITHIN),
        quantity: "first ÷ later allocation once the context exists",
        value,
        threshold: SAME_WITHIN,
        also: vec![],
        sentence: format!(
            "the first takes {}, later ones {}",
            first(&ready),
            steady(&ready)
        ),
    })
}

pub(super) fn first_tensor(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let nothing = alloc(data, subject, names::FROM_NOTHING)?;
    let second = |series: &SeriesData| duration(SeriesData::typical(&series.seconds()));
    let plain = format!(
        "the first takes {}, the second {}",
        first(&nothing),
        second(&nothing)
    );
    // Like the scripts that people time: with a kernel that fills the memory.
    let key = Key::new(ExperimentId::Alloc, names::RANDN_FROM_NOTHING).variant(names::RANDN);
    let (series, sentence) = match data.series(subject, key) {
        None => (nothing, plain),
        Some(filled) => {
            let sentence = format!(
                "the first randn takes {}, the second {}; without filling the memory, {plain}",
                first(&filled),
                second(&filled)
            );
            (filled, sentence)
        }
    };
    let value = series.paired(&series.firsts(), &series.seconds())?;
    Some(Finding {
        verdict: above(value, FAR_LONGER),
        quantity: "first ÷ second allocation in a fresh process",
        value,
        threshold: FAR_LONGER,
        also: vec![],
        sentence,
    })
}

pub(super) fn empty_cache(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let pool = alloc(data, subject, names::FROM_POOL)?;
    let trimmed = alloc(data, subject, names::AFTER_TRIM)?;
    let value = pool.paired(&trimmed.steadies(), &pool.steadies())?;
    Some(Finding {
        verdict: above(value, COLD_AGAIN),
        quantity: "allocation after trimming the pool ÷ from the pool",
        value,
        threshold: COLD_AGAIN,
        also: vec![],
        sentence: format!(
            "{} after trimming, {} from the pool",
            steady(&trimmed),
            steady(&pool)
        ),
    })
}

pub(super) fn pinned_is_faster(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let (pageable, pinned) = (
        copy(data, subject, names::H2D_PAGEABLE)?,
        copy(data, subject, names::H2D_PINNED)?,
    );
    let value = pageable.paired(&pageable.steadies(), &pinned.steadies())?;
    Some(Finding {
        verdict: above(value, SAME_WITHIN),
        quantity: "pageable ÷ pinned copy of 4 MiB to the device",
        value,
        threshold: SAME_WITHIN,
        also: vec![],
        sentence: format!(
            "4 MiB take {} from pageable and {} from pinned memory",
            steady(&pageable),
            steady(&pinned)
        ),
    })
}

pub(super) fn pinning_costs(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let (pageable, pinned) = (
        copy(data, subject, names::H2D_PAGEABLE)?,
        copy(data, subject, names::H2D_PINNED)?,
    );
    let pin = copy(data, subject, names::PIN)?;
    // Pinning and copying once is compared with just copying; a difference of noisy numbers
    // could be negative.
    let with_pinning: ByStart = pin
        .steadies()
        .into_iter()
        .filter_map(|(index, pin)| {
            let copies = pinned
                .steadies()
                .into_iter()
                .find(|(other, _)| *other == index)?
                .1;
            let pin = stats::median(&pin)?;
            Some((index, copies.iter().map(|copy| copy + pin).collect()))
        })
        .collect();
    let value = pageable.paired(&with_pinning, &pageable.steadies())?;
    let saving =
        SeriesData::typical(&pageable.steadies()) - SeriesData::typical(&pinned.steadies());
    let cost = SeriesData::typical(&pin.steadies());
    let payback = if saving > 0.0 {
        format!("paid back after {} copies", (cost / saving).ceil())
    } else {
        "never paid back, as pinned copies are not faster".to_owned()
    };
    Some(Finding {
        verdict: above(value, 1.0),
        quantity: "allocating 4 MiB pinned and copying once ÷ copying once from existing pageable memory",
        value,
        threshold: 1.0,
        also: vec![],
        sentence: format!("pinning 4 MiB takes {}, {payback}", duration(cost)),
    })
}

fn copy(data: &Data<'_>, subject: &Subject, name: &str) -> Option<SeriesData> {
    data.series(subject, Key::new(ExperimentId::Transfer, name).size(TENSOR))
}

/// The articles time the first allocation after the block.
pub(super) fn prealloc_held(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let compared = Preallocated::new(data, subject, names::AFTER_HELD)?;
    let (after, nothing) = (compared.after.firsts(), compared.nothing.firsts());
    let value = data.unpaired(&after, &nothing)?;
    Some(Finding {
        verdict: below(value, 1.0 / SAME_WITHIN),
        quantity: "first 4 MiB allocation, after the big one ÷ after nothing",
        value,
        threshold: 1.0 / SAME_WITHIN,
        also: vec![],
        sentence: compared.sentence(
            "the first 4 MiB allocation takes",
            [&after, &nothing],
            "later ones take on average",
            [&compared.after.later(), &compared.nothing.later()],
        ),
    })
}

/// The block helps later allocations too, since it stays in the pool.
pub(super) fn prealloc_released(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let compared = Preallocated::new(data, subject, names::AFTER_RELEASED)?;
    let (after, nothing) = (compared.after.later(), compared.nothing.later());
    let value = data.unpaired(&after, &nothing)?;
    Some(Finding {
        verdict: below(value, 1.0 / SAME_WITHIN),
        quantity: "mean later 4 MiB allocation, after the big one ÷ after nothing",
        value,
        threshold: 1.0 / SAME_WITHIN,
        also: vec![],
        sentence: compared.sentence(
            "later 4 MiB allocations take on average",
            [&after, &nothing],
            "the first takes",
            [&compared.after.firsts(), &compared.nothing.firsts()],
        ),
    })
}

/// Allocations with and without a preceding large block.
struct Preallocated {
    nothing: SeriesData,
    after: SeriesData,
    /// The cost of the block itself.
    block: Option<f64>,
    how: &'static str,
}

impl Preallocated {
    fn new(data: &Data<'_>, subject: &Subject, variant: &str) -> Option<Preallocated> {
        let key = Key::new(ExperimentId::Prealloc, names::ALLOCATE_4_MIB);
        let block = Key::new(ExperimentId::Prealloc, names::BIG_BLOCK).variant(variant);
        Some(Preallocated {
            nothing: data.series(subject, key.variant(names::AFTER_NOTHING))?,
            after: data.series(subject, key.variant(variant))?,
            block: data
                .series(subject, block)
                .map(|series| SeriesData::typical(&series.firsts())),
            how: match variant {
                names::AFTER_HELD => "held",
                _ => "released to the pool",
            },
        })
    }

    /// The allocation that decides, then the other, each with and without the block.
    fn sentence(
        &self,
        what: &str,
        decides: [&ByStart; 2],
        other: &str,
        beside: [&ByStart; 2],
    ) -> String {
        let [after, nothing] = decides.map(|of| duration(SeriesData::typical(of)));
        let [beside_after, beside_nothing] = beside.map(|of| duration(SeriesData::typical(of)));
        let block = self.block.map_or(String::new(), |seconds| {
            format!(", which itself takes {}", duration(seconds))
        });
        format!(
            "{what} {after} after 1 GiB was {}{block}, and {nothing} without it; {other} {beside_after} and {beside_nothing}",
            self.how
        )
    }
}

fn first(series: &SeriesData) -> String {
    duration(SeriesData::typical(&series.firsts()))
}

fn steady(series: &SeriesData) -> String {
    duration(SeriesData::typical(&series.steadies()))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

// Claims 3, 14, 15: launching and compiling kernels.

/// A time that is off by a fifth is misjudged.
const MISJUDGED: f64 = 0.8;
/// Compilation that costs no more than a launch would not matter.
const SKIPPED: f64 = 2.0;
/// A cache that leaves half of the compilation has not removed it.
const REMOVED: f64 = 0.5;

pub(super) fn naive_timing(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let keys = [
        Key::new(ExperimentId::Launch, "").variant(names::CACHE_EMPTY),
        Key::new(ExperimentId::Infer, "").variant(names::MLP_LARGE),
    ];
    let (naive, whole) = keys.into_iter().find_map(|key| {
        Some((
            data.series(
                subject,
                Key {
                    name: names::LONG_LAUNCH_NAIVE,
                    ..key
                },
            )?,
            data.series(
                subject,
                Key {
                    name: names::LONG_LAUNCH,
                    ..key
                },
            )?,
        ))
    })?;
    let value = whole.paired(&naive.steadies(), &whole.steadies())?;
    Some(Finding {
        verdict: below(value, MISJUDGED),
        quantity: "time without waiting ÷ time to the end of the work",
        value,
        threshold: MISJUDGED,
        also: vec![],
        sentence: format!(
            "work of {} appears to take {} without synchronization",
            duration(SeriesData::typical(&whole.steadies())),
            duration(SeriesData::typical(&naive.steadies()))
        ),
    })
}

pub(super) fn compiled_once(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let key = Key::new(ExperimentId::Launch, names::LAUNCH_FROM_SOURCE).variant(names::CACHE_EMPTY);
    let launch = data.series(subject, key)?;
    let value = launch.first_to_steady()?;
    Some(Finding {
        verdict: above(value, SKIPPED),
        quantity: "first launch with compilation ÷ later launch",
        value,
        threshold: SKIPPED,
        also: vec![],
        sentence: format!(
            "compiling, loading and the first launch take {}, a later launch {}",
            duration(SeriesData::typical(&launch.firsts())),
            duration(SeriesData::typical(&launch.steadies()))
        ),
    })
}

pub(super) fn filled_cache(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let key = Key::new(ExperimentId::Launch, names::LAUNCH_FROM_SOURCE);
    let empty = data.series(subject, key.variant(names::CACHE_EMPTY))?;
    let filled = data.series(subject, key.variant(names::CACHE_FILLED))?;
    let value = data.unpaired(&filled.first_excess(), &empty.first_excess())?;
    Some(Finding {
        verdict: below(value, REMOVED),
        quantity: "excess of the first launch, cache filled ÷ cache empty",
        value,
        threshold: REMOVED,
        also: vec![],
        sentence: format!(
            "from source to first launch takes {} with an empty cache and {} with a filled one",
            duration(SeriesData::typical(&empty.firsts())),
            duration(SeriesData::typical(&filled.firsts()))
        ),
    })
}
