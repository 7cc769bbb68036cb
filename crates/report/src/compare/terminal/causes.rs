//! The causes that changed, as bars around zero, with the items that explain them.

use preheat_model::compare::{CauseChange, Change, CompareReport, ItemChange, Unit, Verdict};

use super::super::order::rest;
use super::super::{
    both, changed, correction, interval, signed, starred_cause, value, verdict_on_cause,
};
use super::style_of;
use crate::terminal::cells::{Sides, name as cut};
use crate::terminal::table::{Table, WHOLE, left, right};
use crate::terminal::{Screen, Style, clean, width};

/// The width of the bars.
const BARS: usize = 14;
/// The width of the bars on a wide terminal.
const LONG_BARS: usize = 32;
/// The minimum width of a wide terminal.
const WIDE: usize = 110;
/// The minimum width of a terminal for showing bars.
const MIN_WIDTH: usize = 64;
/// The minimum size of an inconclusive cause, as a share of the largest difference.
const WORTH_SHOWING: f64 = 0.05;
/// The maximum number of items per cause.
const ITEMS: usize = 4;
/// The minimum size of an item, as a share of the difference of its cause.
const WORTH_NAMING: f64 = 0.02;

/// Shows the causes, if any are known.
pub(super) fn show(screen: &mut Screen, report: &CompareReport) {
    if report.causes.is_empty() {
        return;
    }
    let size = |change: &CauseChange| change.difference.value.abs();
    let largest = report
        .causes
        .iter()
        .map(size)
        .filter(|size| size.is_finite());
    let largest = largest.fold(0.0, f64::max);
    let shown: Vec<&CauseChange> = report
        .causes
        .iter()
        .filter(|change| match change.verdict {
            verdict if changed(verdict) => true,
            Verdict::Inconclusive => largest > 0.0 && size(change) >= WORTH_SHOWING * largest,
            _ => false,
        })
        .collect();
    let hidden = |verdict: Verdict| {
        let of = |changes: &mut dyn Iterator<Item = &CauseChange>| {
            changes.filter(|change| change.verdict == verdict).count()
        };
        of(&mut report.causes.iter()) - of(&mut shown.iter().copied())
    };
    let (same, open) = (hidden(Verdict::Same), hidden(Verdict::Inconclusive));
    screen.blank();
    if shown.is_empty() {
        let text = match open {
            0 => format!("all {same} the same"),
            _ if same == 0 => format!("all {open} inconclusive"),
            _ => format!("{same} the same, {open} inconclusive"),
        };
        let lead = [(Style::Bold, "Causes"), (Style::Plain, "  ")];
        screen.paragraph(&lead, 2, Style::Dim, &text);
        return;
    }
    let lead = [(Style::Bold, "Causes"), (Style::Plain, "  ")];
    let about = "changes on the path from exec to the end of the first iteration";
    screen.paragraph(&lead, 2, Style::Dim, about);
    table(screen, &shown);
    let starred = shown.iter().filter_map(|change| starred_cause(change));
    // The table of quantities may have explained the star already.
    let explained = report
        .quantities
        .iter()
        .any(|of| of.uncorrected().is_some());
    if let Some(stars) = correction(starred, report.tests()).filter(|_| !explained) {
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &stars);
    }
    let rest = rest(same, open);
    if !rest.is_empty() {
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &rest);
    }
}

fn table(screen: &mut Screen, shown: &[&CauseChange]) {
    let room = screen.terminal.width;
    let bars = match room {
        _ if room >= WIDE => LONG_BARS,
        _ if room >= MIN_WIDTH => BARS,
        _ => 0,
    };
    let sides = Sides::new(shown.iter().map(|change| change.difference.value), bars);
    let mut table = Table::new(&[
        left(""),
        left(""),
        right(""),
        left(""),
        left("").drop_below(WHOLE),
        left(""),
    ]);
    table.min_first_width(WHOLE);
    for change in shown {
        let by = change.difference.value;
        let bar = match bars {
            0 => String::new(),
            _ => sides.bar(by),
        };
        // A wide terminal also shows both levels.
        let levels = match room {
            WIDE.. => {
                let [was, is] =
                    [&change.base, &change.new].map(|level| value(level.mean.value, Unit::Seconds));
                format!("{was} → {is}")
            }
            _ => String::new(),
        };
        let within = interval(&change.difference, Unit::Seconds).unwrap_or_default();
        let style = style_of(change.verdict);
        table.row(vec![
            (Style::Plain, change.cause.as_str().to_owned()),
            (style, bar),
            (style, signed(by, Unit::Seconds)),
            (Style::Plain, levels),
            (Style::Dim, within),
            (style, verdict_on_cause(change)),
        ]);
        add_items(&mut table, change, room);
    }
    table.show(screen);
}

/// Adds the largest items of a cause. If the starts vary more than the cause changed, so do
/// the items that both sides have; only those of one side are shown.
fn add_items(table: &mut Table, change: &CauseChange, room: usize) {
    let by = &change.difference;
    let ends = by.low.zip(by.high);
    let noise = ends.is_some_and(|(low, high)| low <= 0.0 && high >= 0.0);
    let worth = WORTH_NAMING * change.difference.value.abs();
    let shown: Vec<&ItemChange> = change
        .items
        .iter()
        .filter(|item| item.difference.abs() >= worth)
        .filter(|item| !noise || matches!(item.change, Change::New | Change::Gone))
        .take(ITEMS)
        .collect();
    let by: Vec<String> = shown
        .iter()
        .map(|item| signed(item.difference, Unit::Seconds))
        .collect();
    let column = by.iter().map(|text| width(text)).max().unwrap_or(0);
    for (item, by) in shown.iter().zip(&by) {
        let room = room.saturating_sub(4 + column + 2);
        let lead = format!("    {by:>column$}  ");
        let text = describe(item, room);
        table.line(vec![(Style::Dim, lead), (Style::Plain, text)]);
    }
    let left = change.items_in_all.saturating_sub(shown.len() as u64);
    if !noise && !shown.is_empty() && left > 0 {
        let text = format!("and {left} smaller");
        table.line(vec![(Style::Dim, format!("    {:>column$}  {text}", ""))]);
    }
}

/// Describes an item, `sympy is new · torch.utils._sympy.functions:12`, in `room` columns.
fn describe(item: &ItemChange, room: usize) -> String {
    let what = match item.change {
        Change::New | Change::Gone => item.change.words().to_owned(),
        Change::Grown | Change::Shrunk => {
            let [base, new] = both(item.base, item.new);
            format!("{}: {base} → {new}", item.change.words())
        }
    };
    let name = cut(&clean(&item.name), room.saturating_sub(width(&what) + 1));
    let text = format!("{name} {what}");
    let detail = clean(&item.detail);
    match detail.is_empty() || width(&text) + 3 + width(&detail) > room {
        true => text,
        false => format!("{text} · {detail}"),
    }
}
