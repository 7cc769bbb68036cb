//! The causes of the change: both sides as bars, then a row per cause that expands to the
//! items behind it.

use preheat_model::compare::{CauseChange, Unit, Verdict};
use preheat_model::run::Cause;

use super::super::{ComparePage, class, sign};
use crate::compare::words::{
    changed, correction, ends, interval, sentence, signed, starred_cause, value, verdict_on_cause,
};
use crate::html::bands::{Bands, Layout, NARROW, WIDE};
use crate::html::escape::cut;
use crate::html::escape::escape;
use crate::html::figure::{Figure, Table, folded};
use crate::html::look;
use crate::html::scale::{Axis, round_step};
use crate::html::stack::{Stack, in_order};
use crate::html::svg::Svg;
use crate::run::words::counted;
use crate::units::{duration, tie};

/// The minimum size of an inconclusive cause that is not folded away, as a share of the
/// largest difference.
const WORTH_SHOWING: f64 = 0.05;

/// Adds the section.
pub(in crate::compare::html) fn add(page: &mut ComparePage) {
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
    let rows = |causes: &[&CauseChange]| -> String {
        let rows: String = causes.iter().map(|change| row(change, &sides)).collect();
        format!("<ul class=\"causes changes\">{rows}</ul>")
    };
    let mut html = bars(page, causes);
    if !shown.is_empty() {
        html.push_str(&rows(&shown));
    }
    let starred = causes.iter().filter_map(starred_cause);
    if let Some(stars) = correction(starred, page.report.tests()) {
        let text = escape(&sentence(&stars));
        html.push_str(&format!("<p class=\"note\">{text}</p>"));
    }
    if !rest.is_empty() {
        let open = rest
            .iter()
            .filter(|change| change.verdict == Verdict::Inconclusive)
            .count();
        let mut text = counted(rest.len(), "other cause");
        text.push_str(match (open, rest.len()) {
            (0, 1) => ": the same",
            (0, _) => ", all the same",
            _ => ", the same or with a small inconclusive change",
        });
        html.push_str(&folded(&text, &rows(&rest)));
    }
    let lead = "Seconds on the path from exec to the end of the first iteration, averaged over the \
                starts. The differences of the causes add up to the difference in time to first. \
                Expand a row to see the items behind it, from one start of each side.";
    page.section("causes", "Causes", lead, &html);
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

    fn draw(&self, change: &CauseChange) -> String {
        let zero = self.at(0.0);
        let mut html = format!("<span class=\"zero\" style=\"left:{zero:.1}%\"></span>");
        let by = &change.difference;
        if by.value.is_finite() {
            let to = self.at(by.value);
            html.push_str(&format!(
                "<span class=\"bar-of\" style=\"left:{:.1}%;width:{:.1}%\"></span>",
                zero.min(to),
                (zero - to).abs()
            ));
        }
        if let Some((low, high)) = ends(by) {
            let (from, to) = (self.at(low.min(high)), self.at(low.max(high)));
            html.push_str(&format!(
                "<span class=\"whisker\" style=\"left:{from:.1}%;width:{:.1}%\"></span>",
                to - from
            ));
        }
        html
    }
}

fn bars(page: &mut ComparePage, causes: &[CauseChange]) -> String {
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
        return String::new();
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
        key: look::key(&all),
        drawings: drawings.to_vec(),
        ..Figure::default()
    }
    .html()
}

fn row(change: &CauseChange, sides: &Reach) -> String {
    let by = signed(change.difference.value, Unit::Seconds);
    let within = interval(&change.difference, Unit::Seconds);
    let within = within.map_or(String::new(), |within| format!("95 % interval {within}"));
    let [was, is] = [&change.base, &change.new].map(|level| value(level.mean.value, Unit::Seconds));
    let line = format!(
        "{}<span class=\"cause\">{}</span><span class=\"time {look}\">{}</span>\
         <span class=\"both {look}\" title=\"{}\" aria-hidden=\"true\">{}</span>\
         <span class=\"levels\">{}</span><span class=\"badge {look}\"><span>{}</span> {}</span>\
         <span class=\"why\">{}</span>",
        look::square(change.cause),
        escape(change.cause.as_str()),
        escape(&tie(&by)),
        escape(&within),
        sides.draw(change),
        escape(&tie(&format!("{was} → {is}"))),
        sign(change.verdict),
        verdict_on_cause(change),
        escape(&tie(&within)),
        look = class(change.verdict),
    );
    if change.items.is_empty() {
        return format!("<li><div class=\"line\">{line}</div></li>\n");
    }
    let open = if changed(change.verdict) { " open" } else { "" };
    format!(
        "<li><details{open}><summary class=\"line\">{line}</summary>{}</details></li>\n",
        items(change)
    )
}

fn items(change: &CauseChange) -> String {
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
        1 => "<p class=\"note\">1 smaller change is not shown.</p>".to_owned(),
        left => format!("<p class=\"note\">{left} smaller changes are not shown.</p>"),
    };
    format!("<div class=\"items\">{}{left}</div>", table.html())
}
