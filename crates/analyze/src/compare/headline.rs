//! The headline: what changed, by how much, and what explains it.

use preheat_model::Quantity;

use super::counted_starts::sum_of_differences;
use super::notes::{change, size};
use super::{CauseChange, Change, Compared, Headline, ItemChange, QuantityChange, Unit, Verdict};
use crate::run::{Cause, RunReport};
use crate::units::signed_percent;

/// A cause or item with at least this share of a change explains it.
const EXPLAINING_SHARE: f64 = 0.5;
/// One with at least this share is worth naming.
const WORTH_NAMING: f64 = 0.2;

/// The quantities in the order of their importance for a headline.
const BY_WEIGHT: [Compared; 9] = [
    Compared::Quantity(Quantity::TimeToFirst),
    Compared::Quantity(Quantity::First),
    Compared::Region,
    Compared::Quantity(Quantity::Steady),
    Compared::Quantity(Quantity::DeviceMemory),
    Compared::Quantity(Quantity::HostMemory),
    Compared::Quantity(Quantity::Excess),
    Compared::Quantity(Quantity::Warmup),
    Compared::Quantity(Quantity::Ratio),
];

/// The material for a headline.
pub(super) struct Story<'a> {
    pub quantities: &'a [QuantityChange],
    pub causes: &'a [CauseChange],
    /// Both reports, if their first iterations belong to the compared starts.
    pub excess: Option<(&'a RunReport, &'a RunReport)>,
    /// True if the iterations of both sides are comparable; otherwise a timed region stands
    /// for the first iteration.
    pub alike: bool,
    /// True if times to first are actually times to the end of the program.
    pub to_end: bool,
}

/// The headline, and the overall verdict.
pub(super) fn headline(story: &Story) -> (Headline, Verdict) {
    let by_weight = || {
        let of = |id: Compared| {
            let all = story.quantities.iter();
            all.filter(move |quantity| quantity.id == id)
        };
        BY_WEIGHT.into_iter().flat_map(of)
    };
    let changed = |quantity: &&QuantityChange| is_change(quantity.verdict);
    // A regression comes first: it has to be explained.
    let regressed = by_weight().find(|quantity| quantity.regressed);
    if let Some(quantity) = regressed.or_else(|| by_weight().find(changed)) {
        let mut headline = of_quantity(story, quantity);
        if quantity.verdict == Verdict::Slower {
            let faster: Vec<&QuantityChange> = (by_weight())
                .filter(|other| other.verdict == Verdict::Faster && other.unit == Unit::Seconds)
                .collect();
            headline.text.push_str(&faster_too(&faster));
        }
        return (headline, quantity.verdict);
    }
    if let Some(cause) = story.causes.iter().find(|cause| is_change(cause.verdict)) {
        let by = cause.difference.value;
        let text = format!(
            "{}: no conclusive change. {} {} by {}{}",
            time_to_first(story),
            subject(cause.cause),
            if by < 0.0 { "shrank" } else { "grew" },
            size(by.abs(), Unit::Seconds),
            item_words(cause),
        );
        return (with_cause(text, None, cause), over_all(story.quantities));
    }
    (unchanged(story), over_all(story.quantities))
}

/// `. Faster: train.py:17–23 (−76 %)`; empty if nothing is.
fn faster_too(faster: &[&QuantityChange]) -> String {
    /// The number of quantities to name.
    const MAX_NAMES: usize = 2;
    let mut names: Vec<String> = (faster.iter().take(MAX_NAMES))
        .map(|quantity| format!("{}{}", quantity.name, part(quantity)))
        .collect();
    match faster.len().saturating_sub(MAX_NAMES) {
        0 => {}
        more => names.push(format!("{more} more")),
    }
    match names.is_empty() {
        true => String::new(),
        false => format!(". Faster: {}", names.join(", ")),
    }
}

/// The cause as the subject of a sentence.
fn subject(cause: Cause) -> String {
    let name = match cause {
        Cause::OwnCpu => "the program's own CPU time",
        Cause::Idle => "idle time",
        Cause::Unexplained => "unexplained time",
        other => other.as_str(),
    };
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_uppercase());
    first.into_iter().flatten().chain(letters).collect()
}

fn is_change(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Slower | Verdict::Faster)
}

/// The overall verdict where no quantity changed.
fn over_all(quantities: &[QuantityChange]) -> Verdict {
    let mut gated = quantities.iter().filter(|quantity| quantity.gated);
    let mut some = false;
    let all = gated.all(|quantity| {
        some = true;
        quantity.verdict == Verdict::Same
    });
    if all && some {
        Verdict::Same
    } else {
        Verdict::Inconclusive
    }
}

fn of_quantity(story: &Story, quantity: &QuantityChange) -> Headline {
    let by = quantity.difference.map_or(0.0, |by| by.value);
    let size = change(by, quantity.unit);
    let (text, cause) = match quantity.id {
        Compared::Quantity(Quantity::TimeToFirst) => {
            let causes = explaining(story.causes, by);
            let text = format!("{size}{}", explanation(&causes, ": "));
            (text, causes.first().copied())
        }
        Compared::Quantity(Quantity::First) if story.alike => {
            let cause = of_first(story, by);
            let because = cause.map_or(String::new(), |cause| format!(": {}", cause.as_str()));
            let text = format!("first iteration {size}{}{because}", part(quantity));
            let cause = story.causes.iter().find(|known| Some(known.cause) == cause);
            (text, cause)
        }
        Compared::Quantity(Quantity::First) | Compared::Region => {
            let text = format!(
                "first execution of {} {size}{}",
                quantity.name,
                part(quantity)
            );
            (text, None)
        }
        Compared::Quantity(_) | Compared::Value => {
            (format!("{} {size}{}", quantity.name, part(quantity)), None)
        }
    };
    match cause {
        Some(cause) => with_cause(text, Some(quantity), cause),
        None => Headline {
            text,
            quantity: Some(quantity.id),
            cause: None,
            items: Vec::new(),
        },
    }
}

/// ` (+12 %)`, where that is known.
fn part(quantity: &QuantityChange) -> String {
    let relative = quantity.relative;
    relative.map_or(String::new(), |part| {
        format!(" ({})", signed_percent(part.value))
    })
}

fn with_cause(text: String, quantity: Option<&QuantityChange>, cause: &CauseChange) -> Headline {
    Headline {
        text,
        quantity: quantity.map(|quantity| quantity.id),
        cause: Some(cause.cause),
        items: items(cause).iter().map(|item| item.name.clone()).collect(),
    }
}

/// The causes that explain a change of this size: the largest, and the second if it is at
/// least half as large.
fn explaining(causes: &[CauseChange], by: f64) -> Vec<&CauseChange> {
    // The sum of the causes differs slightly from the change of the geometric mean.
    let sum = sum_of_differences(causes);
    let whole = if sum * by > 0.0 { sum } else { by };
    let part = |cause: &CauseChange| cause.difference.value / whole;
    let same_way: Vec<&CauseChange> = (causes.iter())
        .filter(|cause| part(cause) >= WORTH_NAMING)
        .take(2)
        .collect();
    match same_way[..] {
        [first, second] if part(second) < EXPLAINING_SHARE * part(first) => vec![first],
        _ => same_way,
    }
}

/// `: Python imports, sympy is new`, or `: A (+1 s) and B (+0.9 s)`; empty without an
/// explanation.
fn explanation(causes: &[&CauseChange], before: &str) -> String {
    match causes {
        [] => String::new(),
        [cause] => format!("{before}{}{}", cause.cause.as_str(), item_words(cause)),
        several => {
            let each: Vec<String> = (several.iter())
                .map(|cause| {
                    let size = change(cause.difference.value, Unit::Seconds);
                    format!("{} ({size})", cause.cause.as_str())
                })
                .collect();
            format!("{before}{}", each.join(" and "))
        }
    }
}

/// The items that make up the change of a cause: as few as explain most of it, at most two;
/// otherwise the largest, if it is worth naming.
fn items(cause: &CauseChange) -> Vec<&ItemChange> {
    // The items of these causes are threads and kinds of waiting, which are not worth
    // naming.
    if matches!(
        cause.cause,
        Cause::OwnCpu | Cause::Idle | Cause::SteadyWork | Cause::Unexplained
    ) {
        return Vec::new();
    }
    let whole = cause.difference.value;
    let part = |item: &ItemChange| item.difference / whole;
    let mut same_way: Vec<&ItemChange> = (cause.items.iter())
        .filter(|item| part(item) >= WORTH_NAMING)
        .collect();
    match same_way[..] {
        [first, ..] if part(first) >= EXPLAINING_SHARE => same_way.truncate(1),
        [first, second, ..] if part(first) + part(second) >= EXPLAINING_SHARE => {
            same_way.truncate(2)
        }
        _ => same_way.truncate(1),
    }
    same_way
}

fn item_words(cause: &CauseChange) -> String {
    match items(cause)[..] {
        [] => String::new(),
        [item] => format!(", {} {}", item.name, item.change.words()),
        [first, second, ..] if first.change == second.change => {
            let words = match first.change {
                Change::New => "are new",
                Change::Gone => "are gone",
                Change::Grown => "take longer",
                Change::Shrunk => "take less time",
            };
            format!(", {} and {} {words}", first.name, second.name)
        }
        [first, second, ..] => format!(
            ", {} {} and {} {}",
            first.name,
            first.change.words(),
            second.name,
            second.change.words()
        ),
    }
}

/// The cause of a change of the first iteration: among its excess over a steady one, and
/// the steady one itself.
fn of_first(story: &Story, by: f64) -> Option<Cause> {
    // With a steady state on one side only, the excesses are over different things.
    let (base, new) =
        (story.excess).filter(|(base, new)| base.steady.is_some() == new.steady.is_some())?;
    let seconds = |report: &RunReport, cause: Cause| -> f64 {
        let parts = (report.first_excess.iter()).filter(|part| part.cause == cause);
        let beyond: f64 = parts.map(|part| part.seconds).sum();
        match cause {
            Cause::SteadyWork => beyond + report.steady.unwrap_or(0.0),
            _ => beyond,
        }
    };
    let change = |cause: &Cause| seconds(new, *cause) - seconds(base, *cause);
    let largest = Cause::ALL
        .into_iter()
        .max_by(|a, b| (change(a) / by).total_cmp(&(change(b) / by)))?;
    (change(&largest) / by >= EXPLAINING_SHARE).then_some(largest)
}

fn time_to_first(story: &Story) -> &'static str {
    if story.to_end {
        "the time to the end"
    } else {
        "time to first"
    }
}

/// The headline where no quantity changed conclusively.
fn unchanged(story: &Story) -> Headline {
    let what = time_to_first(story);
    let time = story
        .quantities
        .iter()
        .find(|q| q.id == Quantity::TimeToFirst);
    let relative = time.and_then(|time| time.relative);
    let interval = relative.and_then(|by| Some((by.low?, by.high?)));
    let text = match (time, interval) {
        (Some(time), Some((low, high))) if time.verdict == Verdict::Same => format!(
            "no change: {what} is the same, {} to {}",
            signed_percent(low),
            signed_percent(high)
        ),
        (Some(_), Some((low, high))) => format!(
            "no conclusive change: {what} may have changed by {} to {}; run more starts",
            signed_percent(low),
            signed_percent(high)
        ),
        (Some(time), None) => match time.difference {
            Some(by) if by.value != 0.0 => {
                let causes = explaining(story.causes, by.value);
                let text = format!(
                    "{}, inconclusive with so few starts{}",
                    change(by.value, Unit::Seconds),
                    explanation(&causes, ": ")
                );
                return match causes.first() {
                    Some(cause) => with_cause(text, None, cause),
                    None => plain(text),
                };
            }
            Some(_) => "no difference, but too few starts to be sure".to_owned(),
            None => format!("nothing to compare: {}", time.why),
        },
        (None, _) => "nothing to compare: no start reached its first iteration".to_owned(),
    };
    plain(text)
}

pub(super) fn plain(text: String) -> Headline {
    Headline {
        text,
        quantity: None,
        cause: None,
        items: Vec::new(),
    }
}
