//! Claims 1, 2, 4 to 9: allocation, pinning, preallocation.

use super::super::data::{ByStart, Data, Key, SeriesData};
use super::super::{ExperimentId, Subject, names};
use super::{Finding, SAME, above, below, both};
use crate::stats;
use crate::units::{duration, ratio};

/// The tensor that the claims speak of, in bytes.
const TENSOR: u64 = 4 << 20;
/// "Far longer".
const FAR: f64 = 10.0;
/// "Cold again".
const COLD: f64 = 1.5;

fn alloc(data: &Data<'_>, subject: &Subject, name: &str) -> Option<SeriesData> {
    data.series(subject, Key::new(ExperimentId::Alloc, name))
}

pub(super) fn setup_not_allocation(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let ready = alloc(data, subject, names::CONTEXT_READY)?;
    let setup = alloc(data, subject, names::INITIALIZE)?;
    let nothing = alloc(data, subject, names::FROM_NOTHING)?;
    let value = ready.first_to_steady()?;
    let share = setup.paired(&setup.firsts(), &nothing.firsts())?;
    Some(Finding {
        verdict: both(below(value, FAR), above(share, 0.5)),
        quantity: "first ÷ later allocation once the context is there",
        value,
        threshold: FAR,
        sentence: format!(
            "set-up takes {} of the {} of the first allocation; once the context is there the first takes {} as long as a later one",
            percent(share.median),
            duration(SeriesData::typical(&nothing.firsts())),
            ratio(value.median)
        ),
    })
}

pub(super) fn first_with_context(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let ready = alloc(data, subject, names::CONTEXT_READY)?;
    let value = ready.first_to_steady()?;
    Some(Finding {
        verdict: above(value, SAME),
        quantity: "first ÷ later allocation once the context is there",
        value,
        threshold: SAME,
        sentence: format!(
            "the first takes {}, later ones {}",
            first(&ready),
            steady(&ready)
        ),
    })
}

pub(super) fn first_tensor(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let nothing = alloc(data, subject, names::FROM_NOTHING)?;
    let value = nothing.paired(&nothing.firsts(), &nothing.seconds())?;
    Some(Finding {
        verdict: above(value, FAR),
        quantity: "first ÷ second allocation in a fresh process",
        value,
        threshold: FAR,
        sentence: format!(
            "the first takes {}, the second {}",
            first(&nothing),
            duration(SeriesData::typical(&nothing.seconds()))
        ),
    })
}

pub(super) fn empty_cache(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    let pool = alloc(data, subject, names::FROM_POOL)?;
    let trimmed = alloc(data, subject, names::AFTER_TRIM)?;
    let value = pool.paired(&trimmed.steadies(), &pool.steadies())?;
    Some(Finding {
        verdict: above(value, COLD),
        quantity: "allocation after trimming the pool ÷ from the pool",
        value,
        threshold: COLD,
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
        verdict: above(value, SAME),
        quantity: "pageable ÷ pinned copy of 4 MiB to the device",
        value,
        threshold: SAME,
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
    // Pin and copy once, against just copying: no difference of noisy numbers, which
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
    let pays = if saving > 0.0 {
        format!("paid back after {} copies", (cost / saving).ceil())
    } else {
        "never paid back, as pinned copies are not faster".to_owned()
    };
    Some(Finding {
        verdict: above(value, 1.0),
        quantity: "allocating 4 MiB pinned and one copy from there ÷ one copy from pageable memory that is there",
        value,
        threshold: 1.0,
        sentence: format!("pinning 4 MiB takes {}, {pays}", duration(cost)),
    })
}

fn copy(data: &Data<'_>, subject: &Subject, name: &str) -> Option<SeriesData> {
    data.series(subject, Key::new(ExperimentId::Transfer, name).size(TENSOR))
}

pub(super) fn prealloc_held(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    prealloc(data, subject, names::AFTER_HELD)
}

pub(super) fn prealloc_released(data: &Data<'_>, subject: &Subject) -> Option<Finding> {
    prealloc(data, subject, names::AFTER_RELEASED)
}

fn prealloc(data: &Data<'_>, subject: &Subject, variant: &str) -> Option<Finding> {
    let key = Key::new(ExperimentId::Prealloc, names::ALLOCATE_4_MIB);
    let nothing = data.series(subject, key.variant(names::AFTER_NOTHING))?;
    let after = data.series(subject, key.variant(variant))?;
    // The mean of all but the first: a pool that grows in large steps makes most
    // allocations cheap and some dear, and setting the pool up is not what is claimed.
    let mean = |series: &SeriesData| -> ByStart {
        let later = |values: &[f64]| {
            let later = &values[1.min(values.len() - 1)..];
            vec![later.iter().sum::<f64>() / later.len() as f64]
        };
        let starts = series.starts.iter();
        starts
            .map(|(index, values)| (*index, later(values)))
            .collect()
    };
    let (after, nothing) = (mean(&after), mean(&nothing));
    let value = data.unpaired(&after, &nothing)?;
    let how = if variant == names::AFTER_HELD {
        "held"
    } else {
        "released to the pool"
    };
    Some(Finding {
        verdict: below(value, 1.0 / SAME),
        quantity: "mean later 4 MiB allocation, after the big one ÷ after nothing",
        value,
        threshold: 1.0 / SAME,
        sentence: format!(
            "a later 4 MiB allocation takes {} on average after 1 GiB was {how}, {} without it",
            duration(SeriesData::typical(&after)),
            duration(SeriesData::typical(&nothing))
        ),
    })
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
