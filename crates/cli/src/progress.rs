//! The progress bar: one line on standard error, shown only on a terminal. It is drawn when
//! something has finished, so it needs neither the threads nor the terminal library of
//! `indicatif`.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use crate::output::terminal_width;

/// The progress of a series of starts or files.
pub struct Progress {
    /// The number completed.
    pub done: usize,
    /// The number planned.
    pub total: usize,
    /// The unit: `starts` or `files`.
    pub of: &'static str,
    /// The next step.
    pub next: String,
    /// The time since the first start.
    pub elapsed: Duration,
    /// The used fraction of the budget, if there is one.
    pub budget_used: Option<f64>,
}

impl From<&preheat_lab::Progress> for Progress {
    fn from(lab: &preheat_lab::Progress) -> Progress {
        Progress {
            done: lab.done,
            total: lab.total,
            of: "starts",
            next: lab.next.clone(),
            elapsed: lab.elapsed,
            budget_used: lab.budget_used,
        }
    }
}

impl From<&preheat_launch::Progress> for Progress {
    fn from(launch: &preheat_launch::Progress) -> Progress {
        Progress {
            done: launch.done,
            total: launch.total,
            of: "starts",
            next: format!("temperature: {}", launch.temperature.as_str()),
            elapsed: launch.elapsed,
            budget_used: None,
        }
    }
}

/// A line that is redrawn in place and cleared on drop.
pub struct Bar {
    visible: bool,
}

impl Bar {
    /// Creates a bar that is visible only if standard error is a terminal.
    pub fn new() -> Bar {
        Bar {
            visible: std::io::stderr().is_terminal(),
        }
    }

    /// Draws the current progress.
    pub fn draw(&self, progress: &Progress) {
        if !self.visible {
            return;
        }
        let width = terminal_width(std::io::stderr()).unwrap_or(80);
        let text = line(progress, width);
        let _ = write!(std::io::stderr(), "\r\x1b[2K{text}");
        let _ = std::io::stderr().flush();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.visible {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// The text of the bar, at most `width` − 1 columns: a full last column would wrap.
fn line(progress: &Progress, width: usize) -> String {
    const BAR: usize = 24;
    let by_count = progress.done as f64 / progress.total.max(1) as f64;
    // The budget may end the run early: show whichever end is nearer.
    let share = progress
        .budget_used
        .map_or(by_count, |used| used.max(by_count))
        .clamp(0.0, 1.0);
    let full = (share * BAR as f64) as usize;
    let seconds = progress.elapsed.as_secs();
    let text = format!(
        "{}{} {}/{} {}  {}:{:02}  {}",
        "█".repeat(full),
        "░".repeat(BAR - full),
        progress.done,
        progress.total,
        progress.of,
        seconds / 60,
        seconds % 60,
        progress.next
    );
    // Names come from files: strip control characters, which could reconfigure the terminal.
    (text.chars().filter(|c| !c.is_control()))
        .take(width.saturating_sub(1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_never_wraps() {
        let progress = Progress {
            done: 3,
            total: 10,
            of: "starts",
            next: "infer (mlp, large) · torch on cuda".repeat(5),
            elapsed: Duration::from_secs(83),
            budget_used: Some(2.0),
        };
        for width in [10, 80, 120] {
            assert!(line(&progress, width).chars().count() < width);
        }
        assert!(line(&progress, 80).contains("3/10 starts  1:23"));
        let steering = Progress {
            next: "a\r\u{1b}[2Jb\nc".to_owned(),
            ..progress
        };
        assert!(line(&steering, 120).ends_with("  a[2Jbc"));
    }
}
