//! The ladder: from the coldest start down to the steady iteration.

use preheat_analyze::run::RunReport;

use super::cells::{bar, counted, durations, ends};
use crate::terminal::{Screen, Style, width};
use crate::units::duration;

/// The bar is this long, and this long where there is much room.
const BAR: usize = 20;
const LONG_BAR: usize = 32;
/// From this width on there is much room.
const WIDE: usize = 110;

/// A step of the ladder.
struct Row {
    name: &'static str,
    seconds: f64,
    about: String,
}

/// The ladder, if there is more than one temperature.
pub(super) fn show(screen: &mut Screen, report: &RunReport) {
    if report.ladder.len() < 2 {
        return;
    }
    let mut rows: Vec<Row> = report
        .ladder
        .iter()
        .map(|rung| {
            let mut words = Vec::new();
            words.extend(ends(&rung.time_to_first).map(|ends| format!("({ends})")));
            words.extend(rung.first.map(|first| format!("first {}", duration(first))));
            words.push(counted(rung.starts, "start"));
            Row {
                name: rung.temperature.as_str(),
                seconds: rung.time_to_first.median,
                about: words.join(" · "),
            }
        })
        .collect();
    for (name, seconds) in [("first", report.first), ("steady", report.steady)] {
        rows.extend(seconds.map(|seconds| Row {
            name,
            seconds,
            about: "one iteration".to_owned(),
        }));
    }
    screen.blank();
    screen.paragraph(
        &[(Style::Bold, "From cold to steady"), (Style::Plain, "  ")],
        2,
        Style::Dim,
        "time to first by temperature, the coldest first",
    );
    let room = screen.terminal.width;
    let name = rows.iter().map(|row| width(row.name)).max().unwrap_or(0);
    let times = durations(rows.iter().map(|row| row.seconds));
    let time = times.first().map_or(0, |text| width(text));
    let bars = match room {
        _ if 2 + name + 2 + BAR + 2 + time > room => 0,
        _ if room >= WIDE => LONG_BAR,
        _ => BAR,
    };
    let longest = rows.iter().map(|row| row.seconds).fold(0.0, f64::max);
    for (row, time) in rows.iter().zip(&times) {
        let mut line = vec![(Style::Plain, format!("  {:<name$}  ", row.name))];
        if bars > 0 {
            let bar = bar(row.seconds, longest, bars);
            line.push((Style::Plain, format!("{bar:<bars$}  ")));
        }
        line.push((Style::Plain, time.clone()));
        line.push((Style::Dim, format!("  {}", row.about)));
        screen.line(line);
    }
}
