//! The causes of the change: both sides as bars, then a row per cause that expands to the
//! items behind it.

use maud::{Markup, html};
use preheat_model::compare::{CauseChange, Unit, Verdict};
use preheat_model::run::Cause;

use super::quantities::{badge, line_between};
use super::{ComparePage, class};
use crate::compare::{
    changed, correction, ends, interval, sentence, signed, starred_cause, value, verdict_on_cause,
};
use crate::html::bands::{Bands, Layout, NARROW, Stack, WIDE, in_order};
use crate::html::cause_style;
use crate::html::cut;
use crate::html::figure::{Figure, Table, folded, list};
use crate::html::page::note;
use crate::html::scale::{Axis, round_step};
use crate::html::svg::Svg;
use crate::units::{counted, duration, tie};

/// The minimum size of an inconclusive cause that is not folded away, as a share of the
/// largest difference.
const WORTH_SHOWING: f64 = 0.05;

/// Adds the section.
pub(super) fn add(page: &mut ComparePage) {
    let causes = &page.report.causes;
    if causes.is_empty() {
        return;
    }
    let sides = Reach::new(causes);
    let (shown, rest): (Vec<&CauseChange>, Vec<&CauseChange>) = causes.iter().partition(|change| {
        changed(change.verdict)
            || change.verdict == Verdict::Inconclusive
                && change.difference.value.abs() >= WORTH_SHOWING * sides.largest
    });
    let rows = |causes: &[&CauseChange]| {
        list(
            "causes changes",
            causes.iter().map(|change| row(change, &sides)),
        )
    };
    let starred = causes.iter().filter_map(starred_cause);
    let stars = correction(starred, page.report.tests());
    let open = rest
        .iter()
        .any(|change| change.verdict == Verdict::Inconclusive);
    let others = counted(rest.len(), "other cause");
    let others = match (open, rest.len()) {
        (false, 1) => format!("{others}: the same"),
        (false, _) => format!("{others}, all the same"),
        _ => format!("{others}, the same or with a small inconclusive change"),
    };
    let content = html! {
        (bars(page, causes))
        (rows(&shown))
        @if let Some(stars) = stars { (note(&sentence(&stars))) }
        (folded(&others, &rows(&rest)))
    };
    let lead = "Seconds on the path from exec to the end of the first iteration, averaged over the \
                starts. The differences of the causes add up to the difference in time to first. \
                Expand a row to see the items behind it, from one start of each side.";
    page.section("causes", "Causes", lead, content);
}

/// The extent of the bars on each side of zero.
struct Reach {
    less: f64,
    more: f64,
    largest: f64,
}

impl Reach {
    fn new(causes: &[CauseChange]) -> Reach {
        let all = causes
            .iter()
            .flat_map(|c| {
                [
                    Some(c.difference.value),
                    c.difference.low,
                    c.difference.high,
                ]
            })
            .flatten()
            .filter(|value| value.is_finite());
        let (less, more) = all.fold((0.0_f64, 0.0_f64), |(less, more), value| {
            (less.max(-value), more.max(value))
        });
        let sizes = causes.iter().map(|change| change.difference.value.abs());
        Reach {
            less,
            more,
            largest: sizes.filter(|size| size.is_finite()).fold(0.0, f64::max),
        }
    }

    /// The position of a difference in percent of the width, with a margin on both sides.
    fn at(&self, value: f64) -> f64 {
        let margin = (self.less + self.more) * 0.03;
        let share = (value + self.less + margin) / (self.less + self.more + 2.0 * margin);
        if share.is_finite() {
            share.clamp(0.0, 1.0) * 100.0
        } else {
            0.0
        }
    }

    fn draw(&self, change: &CauseChange) -> Markup {
        let zero = self.at(0.0);
        let by = &change.difference;
        html! {
            span class="zero" style=(format_args!("left:{zero:.1}%")) {}
            @if by.value.is_finite() {
                (line_between("bar-of", (zero, self.at(by.value))))
            }
            @if let Some((low, high)) = ends(by) {
                (line_between("whisker", (self.at(low), self.at(high))))
            }
        }
    }
}

fn bars(page: &mut ComparePage, causes: &[CauseChange]) -> Markup {
    let of = |side: fn(&CauseChange) -> f64| -> Vec<(Cause, f64)> {
        in_order(causes.iter().map(|change| (change.cause, side(change))))
    };
    let sides = [
        ("base", of(|change| change.base.mean.value)),
        ("new", of(|change| change.new.mean.value)),
    ];
    let sum = |parts: &[(Cause, f64)]| parts.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let longest = sides
        .iter()
        .map(|(_, parts)| sum(parts))
        .fold(0.0, f64::max);
    if !(longest > 0.0 && longest < 1e9) {
        return Markup::default();
    }
    let draw = |layout: Layout| -> Svg {
        let layout = Layout {
            left: if layout.roomy { 70.0 } else { layout.left },
            right: layout.right + if layout.roomy { 90.0 } else { 0.0 },
            row: layout.row + 14.0,
            middle: layout.middle + 7.0,
            label: layout.label + if layout.roomy { 7.0 } else { 0.0 },
            ..layout
        };
        let step = round_step(longest, layout.ticks.min(8));
        let axis = Axis::from_zero(longest, step, duration);
        let mut bands = Bands::new(layout, &[true, false], axis);
        for (row, (name, parts)) in sides.iter().enumerate() {
            bands.name(row, name);
            bands.end(row, &value(sum(parts), Unit::Seconds), "");
            let stack = Stack {
                axis: &bands.axis,
                top: bands.middle(row) - 15.0,
                height: 30.0,
                name,
            };
            stack.draw(&mut bands.svg, parts);
        }
        bands.svg
    };
    let title = "Time to first by cause, base and new";
    let description = sides
        .iter()
        .map(|(name, parts)| format!("{name}: {}.", duration(sum(parts))))
        .collect::<Vec<_>>()
        .join(" ");
    let drawings = [WIDE, NARROW]
        .map(|layout| draw(layout).finish(&page.id(), layout.class, title, &description));
    let all: Vec<Cause> = causes.iter().map(|change| change.cause).collect();
    Figure {
        key: cause_style::key(&all),
        drawings: drawings.to_vec(),
        ..Figure::default()
    }
    .html()
}

fn row(change: &CauseChange, sides: &Reach) -> Markup {
    let by = signed(change.difference.value, Unit::Seconds);
    let within = interval(&change.difference, Unit::Seconds);
    let within = within.map_or(String::new(), |within| format!("95 % interval {within}"));
    let [was, is] = [&change.base, &change.new].map(|level| value(level.mean.value, Unit::Seconds));
    let color = class(change.verdict);
    let line = html! {
        (cause_style::square(change.cause))
        span class="cause" { (change.cause.as_str()) }
        span class={ "time " (color) } { (tie(&by)) }
        span class={ "both " (color) } title=(within) aria-hidden="true" { (sides.draw(change)) }
        span class="levels" { (tie(&format!("{was} → {is}"))) }
        (badge(change.verdict, &verdict_on_cause(change)))
        span class="why" { (tie(&within)) }
    };
    html! {
        @if change.items.is_empty() {
            div class="line" { (line) }
        } @else {
            details open[changed(change.verdict)] {
                summary class="line" { (line) }
                (items(change))
            }
        }
    }
}

fn items(change: &CauseChange) -> Markup {
    let mut table = Table::new(&["item", "change", "base", "new", "", "details"]);
    table.words = vec![4, 5];
    let time = |seconds: f64| match seconds {
        0.0 => String::new(),
        seconds => value(seconds, Unit::Seconds),
    };
    for item in &change.items {
        table.rows.push(vec![
            cut(&item.name, 90),
            signed(item.difference, Unit::Seconds),
            time(item.base),
            time(item.new),
            item.change.words().to_owned(),
            cut(&item.detail, 200),
        ]);
    }
    let shown = change.items.len() as u64;
    let left = match change.items_in_all.saturating_sub(shown) {
        0 => String::new(),
        1 => "1 smaller change is not shown.".to_owned(),
        left => format!("{left} smaller changes are not shown."),
    };
    html! { div class="items" { (table.html()) (note(&left)) } }
}
