//! The temperatures against each other, slowest first. None includes another: a start whose
//! files are evicted may find filled compile caches.

use preheat_model::run::RunReport;

use super::super::text::{slowest_first, temperature, time_span};
use crate::terminal::cells::{bar, durations};
use crate::terminal::table::{Table, left};
use crate::terminal::{Screen, Style, pad};
use crate::units::{counted, duration};

/// The length of the bars, and on a wide terminal.
const BAR: usize = 20;
const LONG_BAR: usize = 32;
/// The minimum width of a wide terminal.
const WIDE: usize = 110;

/// One temperature.
struct Row {
    name: &'static str,
    seconds: f64,
    about: String,
}

/// Shows the temperatures, if there is more than one.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    if report.ladder.len() < 2 {
        return;
    }
    let levels = slowest_first(report);
    let rows: Vec<Row> = levels
        .iter()
        .map(|level| {
            let mut words = Vec::new();
            words.extend(time_span(&level.time_to_first).map(|span| format!("({span})")));
            words.extend(
                level
                    .first
                    .map(|first| format!("first {}", duration(first))),
            );
            words.push(counted(level.starts, "start"));
            Row {
                name: level.temperature.as_str(),
                seconds: level.time_to_first.value,
                about: words.join(" · "),
            }
        })
        .collect();
    screen.blank();
    screen.paragraph(
        &[(Style::Bold, "By temperature"), (Style::Plain, "  ")],
        2,
        Style::Dim,
        "time to first, slowest first",
    );
    let mut table = Table::new(&[left(""), left("")]);
    for (row, time) in rows
        .iter()
        .zip(durations(rows.iter().map(|row| row.seconds)))
    {
        let name = row.name.to_owned();
        table.row(vec![(Style::Plain, name), (Style::Plain, time)]);
    }
    let bars = match screen.terminal.width {
        room if table.width() + 2 + BAR > room => 0,
        WIDE.. => LONG_BAR,
        _ => BAR,
    };
    if bars > 0 {
        let longest = rows.iter().map(|row| row.seconds).fold(0.0, f64::max);
        let bar = |row: &Row| (Style::Plain, pad(&bar(row.seconds, longest, bars), bars));
        table.insert(1, left(""), rows.iter().map(bar));
    }
    let about = rows.iter().map(|row| (Style::Dim, row.about.clone()));
    table.append(left(""), about);
    table.show(screen);
    let what: Vec<String> = levels
        .iter()
        .map(|level| {
            let of = level.temperature;
            format!("{}: {}", of.as_str(), temperature(of))
        })
        .collect();
    screen.paragraph(&[(Style::Plain, "  ")], 2, Style::Dim, &what.join("; "));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;
    use crate::terminal::Terminal;

    #[test]
    fn the_slowest_comes_first_and_each_is_described() {
        let mut report = run::ladder();
        // Evicted files may cost more than empty caches.
        report.ladder[1].time_to_first.value = 40.0;
        report.ladder[1].time_to_first.low = None;
        report.ladder[1].starts = 1;
        let mut screen = Screen::new(&Terminal {
            width: 120,
            color: false,
            unicode: true,
        });
        show(&mut screen, &report);
        let text = screen.finish();
        let names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(names, ["By", "disk", "caches", "process", "disk:"]);
        assert!(text.contains("40.0 s  first 710 ms · 1 start\n"), "{text}");
        assert!(text.contains("disk: its files evicted from the page cache"));
    }
}
