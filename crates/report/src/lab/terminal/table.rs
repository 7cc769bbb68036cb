//! The table of first and steady times, grouped by subject, and the list of claims.

use preheat_model::lab::{Claim, LabReport, Series, Verdict};
use preheat_model::stats::Consistency;

use crate::lab::overview::{Row, Subject};
use crate::lab::verdicts::{basis, count, lack_of_starts, sign};
use crate::terminal::cells::{bar, durations};
use crate::terminal::table::{Cell, Table, WHOLE, center, left, right};
use crate::terminal::{Screen, Style, clean, of_verdict, pad, width};
use crate::units::{ABSENT, ratio, span_ends};

/// The width of a bar.
const BAR: usize = 16;
/// The length to which labels are cut before the interval is dropped.
const USUAL_LABEL: usize = 15;
/// The length to which labels are cut before the class is dropped.
const SHORT_LABEL: usize = 14;
/// The minimum length of a label.
const MIN_LABEL: usize = 4;
/// The width to which classes and their stars are cut before labels are.
const SHORT_CLASS: usize = 11;
/// The smallest ratio that is shown in bold.
const STRIKING: f64 = 10.0;

/// The header of the classes, after the space for a star.
const CLASS: &str = " class";

/// Shows the table of all subjects.
pub(super) fn show(screen: &mut Screen, subjects: &[Subject]) {
    let groups = || subjects.iter().flat_map(|subject| &subject.groups);
    let rows: Vec<&Row> = groups().flat_map(|group| &group.rows).collect();
    if rows.is_empty() {
        return;
    }
    let families = groups().map(|group| width(group.name));
    let family = families.max().unwrap_or(0);
    let before_label = family + 1;
    let mut table = Table::new(&[
        left(""),
        right("first"),
        right("steady"),
        right("ratio"),
        center("95 %").gap(1).drop_below(before_label + USUAL_LABEL),
        left("ratio, log scale").drop_below(WHOLE),
        left(CLASS)
            .gap(1)
            .cut_below(WHOLE, SHORT_CLASS)
            .drop_below(before_label + SHORT_LABEL),
    ]);
    table.min_first_width(before_label + MIN_LABEL);
    let mut cells = cells(&rows).into_iter();
    for subject in subjects {
        table.heading(clean(&subject.title));
        for group in &subject.groups {
            let mut name = group.name;
            if !group.variant.is_empty() {
                table.line(vec![(Style::Plain, format!("  {}", clean(&group.title())))]);
                name = "";
            }
            for (row, cells) in group.rows.iter().zip(cells.by_ref()) {
                let label = format!("{} {}", pad(name, family), clean(&row.label));
                table.row([vec![(Style::Plain, label)], cells].concat());
                name = "";
            }
        }
    }
    table.show(screen);
    let starred = |row: &&Row| !is_consistent(row.series);
    if table.shows(CLASS, screen.terminal.width) && rows.iter().any(starred) {
        screen.blank();
        screen.paragraph(&[], 2, Style::Dim, "* not every start is in this class");
    }
}

/// The cells after the label of each row.
fn cells(rows: &[&Row]) -> Vec<Vec<Cell>> {
    let first = rows.iter().map(|row| row.series.first);
    let steady = rows.iter().map(|row| row.series.steady.unwrap_or(f64::NAN));
    let mut first = durations(first.chain(steady));
    let steady = first.split_off(rows.len());
    let ratios: Vec<Option<f64>> = (rows.iter())
        .map(|row| row.series.ratio.map(|ratio| ratio.value))
        .map(|value| value.filter(|value| value.is_finite()))
        .collect();
    let largest = ratios.iter().flatten().copied().fold(10.0, f64::max);
    let times = first.into_iter().zip(steady).zip(ratios);
    let cells = rows.iter().zip(times).zip(intervals(rows));
    let cells = cells.map(|((row, ((first, steady), value)), interval)| {
        let steady = if row.once() { String::new() } else { steady };
        let times = match value {
            Some(value) => ratio(value),
            None if row.once() => String::new(),
            None => ABSENT.to_owned(),
        };
        let of_times = match value {
            Some(STRIKING..) => Style::Bold,
            _ => Style::Plain,
        };
        let bar = value.map_or_else(String::new, |value| log_bar(value, largest));
        vec![
            (Style::Plain, first),
            (Style::Plain, steady),
            (of_times, times),
            (Style::Dim, interval),
            (Style::Dim, bar),
            class(row),
        ]
    });
    cells.collect()
}

/// A bar on a logarithmic scale from 1 to `largest`.
fn log_bar(ratio: f64, largest: f64) -> String {
    bar(ratio.max(1.0).ln(), largest.ln(), BAR)
}

/// The intervals of the ratios, aligned at their dashes.
fn intervals(rows: &[&Row]) -> Vec<String> {
    let ends: Vec<Option<(String, String)>> = (rows.iter())
        .map(|row| {
            let ratio = row.series.ratio?;
            span_ends(ratio.low, ratio.high)
        })
        .collect();
    let known = || ends.iter().flatten();
    let before = known().map(|(low, _)| width(low)).max().unwrap_or(0);
    let after = known().map(|(_, high)| width(high)).max().unwrap_or(0);
    let text = |ends: &Option<(String, String)>| match ends {
        // Of the ratios in the column before it, which has the unit.
        Some((low, high)) => format!("{low:>before$}–{high:<after$}"),
        None => String::new(),
    };
    ends.iter().map(text).collect()
}

/// The class, after a star if not all starts are in it.
fn class(row: &Row) -> Cell {
    if row.once() {
        return (Style::Dim, " once".to_owned());
    }
    let class = row.series.class.map_or("", |class| class.as_str());
    let star = if is_consistent(row.series) { ' ' } else { '*' };
    (Style::Plain, format!("{star}{class}"))
}

fn is_consistent(series: &Series) -> bool {
    matches!(series.consistency, None | Some(Consistency::Consistent))
}

// The claims: number, verdict, text, and the result on this machine.

/// Shows the claims in order.
pub(super) fn show_claims(screen: &mut Screen, report: &LabReport) {
    let claims = &report.claims[..];
    if claims.is_empty() {
        return;
    }
    screen.title("Claims");
    screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &count(claims));
    if let Some(text) = lack_of_starts(report) {
        screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Yellow, &text);
    }
    let (unmeasured, judged): (Vec<&Claim>, Vec<&Claim>) = claims
        .iter()
        .partition(|claim| claim.verdict == Verdict::NotMeasurable);
    for claim in judged {
        let style = of_verdict(claim.verdict);
        let number = format!("  {:>2} ", claim.id);
        let words = format!("{} {}", sign(claim.verdict), claim.verdict.as_str());
        let lead = [
            (Style::Plain, &*number),
            (style, &*words),
            (Style::Plain, "  "),
        ];
        screen.paragraph(&lead, 7, Style::Plain, &claim.text);
        if !claim.sentence.trim().is_empty() {
            screen.paragraph(&[(Style::Plain, "       ")], 7, Style::Dim, &claim.sentence);
        }
        let basis = basis(claim);
        if !basis.is_empty() {
            let text = format!("{basis}.");
            screen.paragraph(&[(Style::Plain, "       ")], 7, Style::Dim, &text);
        }
    }
    if !unmeasured.is_empty() {
        let ids = unmeasured.iter().map(|claim| claim.id.to_string());
        let numbers: Vec<String> = ids.collect();
        let lead = format!("     {} ", sign(Verdict::NotMeasurable));
        let text = format!(
            "{}: no experiment in this run measures {}",
            Verdict::NotMeasurable.as_str(),
            numbers.join(", ")
        );
        screen.paragraph(&[(Style::Dim, &*lead)], 7, Style::Dim, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::lab::lab_terminal;
    use crate::terminal::Terminal;

    fn at(width: usize) -> String {
        lab_terminal(
            &fixture::report(),
            &Terminal {
                width,
                color: false,
                unicode: true,
            },
        )
    }

    #[test]
    fn columns_are_dropped_in_order() {
        for (width, bar, interval, class) in [
            (120, true, true, true),
            (80, false, true, true),
            (60, false, false, false),
        ] {
            let text = at(width);
            assert_eq!(text.contains("log scale"), bar, "{width}");
            assert_eq!(text.contains("  95 %  "), interval, "{width}");
            assert_eq!(text.contains("  class"), class, "{width}");
            assert!(text.contains("first"), "{width}");
        }
    }

    #[test]
    fn bars_are_logarithmic() {
        assert_eq!(log_bar(1.0, 100.0), "");
        assert_eq!(log_bar(0.5, 100.0), "");
        assert_eq!(log_bar(10.0, 100.0), "████████");
        assert_eq!(log_bar(100.0, 100.0), "█".repeat(BAR));
    }

    #[test]
    fn units_are_aligned() {
        let text = at(80);
        let column = |name: &str| {
            let line = text.lines().find(|line| line.contains(name)).unwrap();
            let unit = [" ms", " µs"]
                .iter()
                .filter_map(|unit| line.find(unit))
                .min()
                .unwrap();
            line[..unit].chars().count()
        };
        assert_eq!(column("load driver library"), column("create stream"));
    }

    #[test]
    fn a_stage_is_shown_as_once_without_steady() {
        let text = at(80);
        let line = text
            .lines()
            .find(|line| line.contains("initialize driver"))
            .unwrap();
        assert!(line.ends_with("once") && line.contains("101 ms"));
        assert!(!line.contains('×'));
    }

    #[test]
    fn a_claim_has_symbol_verdict_text_and_result() {
        let terminal = Terminal {
            width: 200,
            color: false,
            unicode: true,
        };
        let text = lab_terminal(&fixture::report(), &terminal);
        assert!(text.contains("   3 ✓ holds  Timing without synchronizing misjudges GPU work.\n"));
        assert!(text.contains("\n       The first takes 252× a later one on cuda"));
        assert!(text.contains("\n       Based on train · model on device (cuda, torch on cpu).\n"));
        assert!(text.contains("   8 ✗ does not hold  "));
        assert!(text.contains("   7 ~ depends  "));
        assert!(text.contains("   2 ? inconclusive  "));
        assert!(text.contains("– not measurable here: no experiment in this run measures "));
    }
}
