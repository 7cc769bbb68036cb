//! Renders a check for the terminal: one line per limit, then why some do not pass.

use preheat_model::check::{CheckReport, Line, Verdict};

use super::words::{headline, measured, not_passing, starts, title, used, why};
use crate::html::markup::command_line;
use crate::terminal::cells::{bar, middle};
use crate::terminal::{Screen, Style, Terminal, clean, fit, pad, width};

/// The maximum width of the bar that shows how much of a limit is used.
const BAR: usize = 12;
/// The minimum width of the bar; it is omitted if there is less space.
const LEAST_BAR: usize = 6;
/// The minimum width of the column of limit names.
const LEAST_NAME: usize = 12;

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
    let mut about = starts(report.starts);
    if let Some(budget) = &report.budget {
        about.push_str(&format!(" · budget {}", clean(budget)));
    }
    let command = clean(&command_line(&report.command));
    let beside = screen.terminal.width.saturating_sub(width(&about) + 3);
    if beside >= LEAST_NAME {
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
    let cells: Vec<[String; 4]> = (lines.iter())
        .map(|line| {
            [
                title(line),
                line.unit.write(line.most),
                measured(line),
                used(line),
            ]
        })
        .collect();
    let heads = ["limit", "at most", "measured", "used"];
    let longest = |at: usize| {
        let cells = cells.iter().map(|row| width(&row[at]));
        cells.chain([width(heads[at])]).max().unwrap_or(0)
    };
    let [mut name, most, found, share] = [0, 1, 2, 3].map(longest);
    let room = screen.terminal.width;
    // A narrow terminal drops the bars, then the percentages, then truncates the names.
    let without = |share: usize| 2 + 2 + most + 2 + found + share;
    let bars = match room.saturating_sub(name + without(share + 2) + 2) {
        little if little < LEAST_BAR => 0,
        some => some.min(BAR),
    };
    let shares = name.min(LEAST_NAME) + without(share + 2) <= room;
    let rest = without(if shares { share + 2 } else { 0 } + if bars > 0 { bars + 2 } else { 0 });
    name = name.min(room.saturating_sub(rest).max(LEAST_NAME));
    let row = |mark: &str, [of, limit, value, part]: [&str; 4], bar: &str| {
        let mut text = format!(
            "{mark} {}  {limit:>most$}  {value:<found$}",
            pad(&fit(of, name), name)
        );
        if bars > 0 {
            text.push_str(&format!("  {bar:<bars$}"));
        }
        if shares {
            text.push_str(&format!("  {part:>share$}"));
        }
        text
    };
    screen.blank();
    screen.line(vec![(Style::Dim, row(" ", heads, ""))]);
    for (line, cells) in lines.iter().zip(&cells) {
        let (style, mark) = appearance(line.verdict);
        let bar = bar(line.used.unwrap_or(0.0).min(1.0), 1.0, bars.max(1));
        let [of, limit, value, part] = cells;
        let text = row("", [of, limit, value, part], &bar);
        let style_of_text = match line.verdict {
            Verdict::Pass => Style::Plain,
            _ => style,
        };
        screen.line(vec![(style, mark.to_owned()), (style_of_text, text)]);
    }
}
