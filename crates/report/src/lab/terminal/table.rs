//! The table of first and steady times, grouped by subject.

use preheat_model::lab::Series;
use preheat_model::stats::Consistency;

use super::columns::{Cells, Columns};
use crate::lab::overview::{Row, Subject};
use crate::terminal::text::{clean, width};
use crate::terminal::{Screen, Style};
use crate::units::{duration_parts, span_ends};

/// Shows the table of all subjects.
pub(super) fn show(screen: &mut Screen, subjects: &[Subject]) {
    let rows = |subject: &Subject| -> Vec<Vec<Cells>> {
        subject
            .groups
            .iter()
            .map(|group| group.rows.iter().map(cells).collect())
            .collect()
    };
    let table: Vec<Vec<Vec<Cells>>> = subjects.iter().map(rows).collect();
    let all: Vec<&Cells> = table.iter().flatten().flatten().collect();
    if all.is_empty() {
        return;
    }
    let families = subjects.iter().flat_map(|subject| &subject.groups);
    let family = families.map(|group| width(group.name)).max().unwrap_or(0);
    let columns = Columns::new(&all, family, screen.terminal.width);
    for (subject, groups) in subjects.iter().zip(&table) {
        screen.blank();
        columns.heading(screen, &clean(&subject.title));
        for (group, rows) in subject.groups.iter().zip(groups) {
            columns.group(screen, group, rows);
        }
    }
    if columns.shows_class() && all.iter().any(|cells| !cells.consistent) {
        screen.blank();
        screen.paragraph(&[], 2, Style::Dim, "* not every start is in this class");
    }
}

fn cells(row: &Row) -> Cells {
    let series = row.series;
    Cells {
        label: clean(&row.label),
        first: duration_parts(series.first),
        steady: series.steady.and_then(duration_parts),
        ratio: series
            .ratio
            .map(|interval| interval.estimate)
            .filter(|ratio| ratio.is_finite()),
        interval: series
            .ratio
            .and_then(|interval| span_ends(interval.low, interval.high)),
        class: class(series, row.once()),
        consistent: matches!(series.consistency, None | Some(Consistency::Consistent)),
        once: row.once(),
    }
}

fn class(series: &Series, once: bool) -> String {
    if once {
        return "once".to_owned();
    }
    series
        .class
        .map_or(String::new(), |class| class.as_str().to_owned())
}

#[cfg(test)]
mod tests {
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
}
