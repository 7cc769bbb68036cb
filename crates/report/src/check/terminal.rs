//! Renders a check for the terminal: one line per limit, then why some do not pass.

use preheat_model::check::{CheckReport, Line, Verdict};

use super::{headline, measured, not_passing, title, used, why};
use crate::html::command_line;
use crate::terminal::cells::{bar, middle};
use crate::terminal::table::{Table, left, right};
use crate::terminal::{Screen, Style, Terminal, clean, pad, width};
use crate::units::counted;

/// The maximum width of the bar that shows how much of a limit is used.
const BAR: usize = 12;
/// The minimum width of the bar; it is omitted if there is less space.
const MIN_BAR: usize = 6;
/// The minimum width of the column of limit names.
const MIN_NAME: usize = 12;

/// Renders the report; no line is wider than the terminal.
pub fn check_terminal(report: &CheckReport, terminal: &Terminal) -> String {
    let mut screen = Screen::new(terminal);
    head(&mut screen, report);
    table(&mut screen, &report.lines);
    for line in not_passing(report) {
        screen.blank();
        let (style, mark) = appearance(line.verdict);
        let lead = format!("{mark} {}: ", title(line));
        screen.paragraph(&[(style, &*lead)], 2, Style::Plain, &why(line));
    }
    if report.verdict != Verdict::Pass && report.recording != "-" {
        let text = format!(
            "`preheat report {}` shows where the time went and what would help.",
            command_line(std::slice::from_ref(&report.recording))
        );
        screen.blank();
        screen.paragraph(&[], 0, Style::Dim, &text);
    }
    screen.finish()
}

fn head(screen: &mut Screen, report: &CheckReport) {
    for note in &report.notes {
        screen.paragraph(&[(Style::Yellow, "! ")], 2, Style::Plain, note);
    }
    let mut about = counted(report.starts, "start");
    if let Some(budget) = &report.budget {
        about.push_str(&format!(" · budget {}", clean(budget)));
    }
    let command = clean(&command_line(&report.command));
    let beside = screen.terminal.width.saturating_sub(width(&about) + 3);
    if beside >= MIN_NAME {
        let text = format!("{} · {about}", middle(&command, beside));
        screen.line(vec![(Style::Plain, text)]);
    } else {
        screen.paragraph(&[], 0, Style::Plain, &format!("{command} · {about}"));
    }
    screen.blank();
    let (style, mark) = appearance(report.verdict);
    let lead = format!("{mark} ");
    let text = format!("{}.", headline(report));
    screen.paragraph(&[(style, &*lead)], 2, Style::Bold, &text);
}

/// The color and symbol of a verdict.
fn appearance(verdict: Verdict) -> (Style, &'static str) {
    match verdict {
        Verdict::Pass => (Style::Green, "✓"),
        Verdict::Fail => (Style::Red, "✗"),
        Verdict::Inconclusive => (Style::Yellow, "?"),
        Verdict::NotMeasured => (Style::Dim, "–"),
    }
}

fn table(screen: &mut Screen, lines: &[Line]) {
    let mut table = Table::new(&[
        left("limit"),
        right("at most"),
        left("measured"),
        right("used").drop_below(MIN_NAME),
    ]);
    table.min_first_width(MIN_NAME);
    let style_of_text = |line: &Line| match line.verdict {
        Verdict::Pass => Style::Plain,
        verdict => appearance(verdict).0,
    };
    for line in lines {
        let cells = [
            title(line),
            line.unit.write(line.most),
            measured(line),
            used(line),
        ];
        let cells = cells.map(|text| (style_of_text(line), text));
        table.marked(appearance(line.verdict), cells.to_vec());
    }
    let room = screen.terminal.width.saturating_sub(table.width() + 2);
    let bars = room.min(BAR);
    if bars >= MIN_BAR {
        let share = |line: &Line| line.used.unwrap_or(0.0).min(1.0);
        let cells = (lines.iter())
            .map(|line| (style_of_text(line), pad(&bar(share(line), 1.0, bars), bars)));
        table.insert(3, left(""), cells);
    }
    screen.blank();
    table.show(screen);
}
