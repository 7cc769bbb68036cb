//! The causes as bars, largest first.

use preheat_model::run::{Cause, EndOfTime, RunReport};

use super::super::text::function;
use crate::terminal::cells::{bar, durations, is_words, name as cut};
use crate::terminal::table::{Table, left, right};
use crate::terminal::{Screen, Style, clean, fit, pad, width};
use crate::units::{duration, percent};

/// Causes below this share are combined.
const COMBINED_BELOW: f64 = 0.005;
/// The length of the bars, and on a wide terminal.
const BAR: usize = 16;
const LONG_BAR: usize = 32;
/// The minimum length of the bars.
const MIN_BAR: usize = 10;
/// The minimum width of a wide terminal.
const WIDE: usize = 110;
/// The minimum width for the name of an item.
const MIN_ITEM: usize = 8;
/// The number of functions to show below the program's own CPU time.
const FUNCTIONS: usize = 3;

/// A row of the table.
struct Row {
    name: String,
    seconds: f64,
    share: f64,
    item: String,
    style: Style,
    /// Its largest functions.
    functions: Vec<(f64, String)>,
}

/// Shows the table.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    let rows = rows(report);
    if rows.is_empty() {
        return;
    }
    let until = match report.iterations_by.end_of_time() {
        EndOfTime::Program => "from exec to its end",
        EndOfTime::FirstIteration => "from exec to the end of the first iteration",
    };
    let title = format!("Where {} went", duration(report.time_to_first.value));
    screen.blank();
    screen.paragraph(
        &[(Style::Bold, &*title), (Style::Plain, "  ")],
        2,
        Style::Dim,
        until,
    );

    let room = screen.terminal.width;
    let mut table = Table::new(&[left(""), left(""), right("")]);
    for (row, time) in rows
        .iter()
        .zip(durations(rows.iter().map(|row| row.seconds)))
    {
        let cells = [row.name.clone(), time, percent(row.share)];
        table.row(cells.map(|text| (row.style, text)).to_vec());
        let times = durations(row.functions.iter().map(|(seconds, _)| *seconds));
        for ((_, function), time) in row.functions.iter().zip(&times) {
            let left = room.saturating_sub(6 + width(time));
            let text = format!("    {time}  {}", fit(function, left));
            table.line(vec![(Style::Dim, text)]);
        }
    }
    let fixed = table.width();
    // Prefer a complete phrase to a longer bar.
    let words = rows.iter().filter(|row| is_words(&row.item));
    let words = words.map(|row| width(&row.item)).max().unwrap_or(0);
    let bars = match room {
        _ if fixed + 2 + BAR > room => 0,
        _ if room >= WIDE => LONG_BAR,
        _ => BAR.min(room.saturating_sub(fixed + 2 + 2 + words).max(MIN_BAR)),
    };
    if bars > 0 {
        let longest = rows.iter().map(|row| row.seconds).fold(0.0, f64::max);
        let bar = |row: &Row| (row.style, pad(&bar(row.seconds, longest, bars), bars));
        table.insert(1, left(""), rows.iter().map(bar));
    }
    let item = room.saturating_sub(table.width() + 2);
    if item >= MIN_ITEM {
        let items = rows.iter().map(|row| (Style::Dim, cut(&row.item, item)));
        table.append(left(""), items);
    }
    table.show(screen);
}

fn rows(report: &RunReport) -> Vec<Row> {
    // Causes without a comparable share are shown separately rather than lost.
    let (small, large): (Vec<_>, Vec<_>) = report
        .causes
        .iter()
        .partition(|cause| cause.share < COMBINED_BELOW);
    let mut rows: Vec<Row> = large
        .iter()
        .map(|cause| Row {
            name: cause.cause.as_str().to_owned(),
            seconds: cause.seconds,
            share: cause.share,
            item: cause
                .items
                .first()
                .map_or(String::new(), |item| clean(&item.name)),
            style: match cause.cause {
                Cause::Unexplained => Style::Dim,
                _ => Style::Plain,
            },
            functions: (cause.functions.iter().take(FUNCTIONS))
                .filter(|function| function.share >= COMBINED_BELOW)
                .map(|one| (one.seconds, clean(&function(one))))
                .collect(),
        })
        .collect();
    match small.as_slice() {
        [] => {}
        small => rows.push(Row {
            name: match small {
                [one] => one.cause.as_str().to_owned(),
                _ => format!("{} others", small.len()),
            },
            seconds: small.iter().map(|cause| cause.seconds).sum(),
            share: small.iter().map(|cause| cause.share).sum(),
            item: String::new(),
            style: Style::Dim,
            functions: Vec::new(),
        }),
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;
    use crate::terminal::Terminal;

    #[test]
    fn small_causes_are_gathered_and_nothing_is_lost() {
        let report = run::report();
        let rows = rows(&report);
        assert_eq!(rows.last().unwrap().name, "4 others");
        let sum: f64 = rows.iter().map(|row| row.seconds).sum();
        assert!((sum - report.time_to_first.value).abs() < 1e-9);
        assert_eq!(rows[0].item, "torch");
    }

    #[test]
    fn phrases_are_not_cut_at_80_columns() {
        let mut report = run::report();
        let items = report.causes[0].items.clone();
        report.causes[9].items = items;
        report.causes[9].items[0].name = "kernel and dynamic loader".to_owned();
        let mut screen = Screen::new(&Terminal {
            width: 80,
            color: false,
            unicode: true,
        });
        show(&mut screen, &report);
        let text = screen.finish();
        assert!(
            text.contains("0.6 %  kernel and dynamic loader\n"),
            "{text}"
        );
    }

    #[test]
    fn functions_are_below_the_cause_that_they_are_part_of() {
        let report = run::report();
        let mut screen = Screen::new(&Terminal {
            width: 80,
            color: false,
            unicode: true,
        });
        show(&mut screen, &report);
        let text = screen.finish();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let own = (lines.iter()).position(|line| line.starts_with("program's own CPU time"));
        let own = own.expect("the cause");
        assert_eq!(
            lines[own + 1],
            "210 ms  load_weights (model.py:88), in libblas.so.3 dgemm_"
        );
        assert!(
            lines[own + 2].ends_with("ms  tokenize (data.py:12)"),
            "{text}"
        );
    }

    #[test]
    fn a_single_small_cause_keeps_its_name() {
        let mut report = run::report();
        report.causes.truncate(11);
        assert_eq!(rows(&report).last().unwrap().name, "device allocation");
    }
}
