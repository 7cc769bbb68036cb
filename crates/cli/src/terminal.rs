//! Detects the properties of the terminal: width, color, Unicode.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use preheat_report::Terminal;
use terminal_size::{Height, Width};

/// The maximum width; longer lines are hard to read.
const MAX_WIDTH: usize = 140;
/// The width if none can be determined.
const DEFAULT_WIDTH: usize = 80;

/// The terminal of standard output.
pub fn of_stdout() -> Terminal {
    detect(std::io::stdout())
}

/// The terminal of standard error.
pub fn of_stderr() -> Terminal {
    detect(std::io::stderr())
}

fn detect(stream: impl AsFd + IsTerminal) -> Terminal {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    Terminal {
        width: width(&stream).unwrap_or(DEFAULT_WIDTH).min(MAX_WIDTH),
        color: stream.is_terminal() && !set("NO_COLOR") && !dumb,
        unicode: supports_unicode(),
    }
}

/// The width of the terminal `stream`, else the value of COLUMNS.
pub fn width(stream: impl AsFd) -> Option<usize> {
    of_size(terminal_size::terminal_size_of(stream))
}

/// The width of the terminal of any standard stream, else the value of COLUMNS.
pub fn width_of_any() -> Option<usize> {
    of_size(terminal_size::terminal_size())
}

fn of_size(size: Option<(Width, Height)>) -> Option<usize> {
    match size {
        Some((Width(columns), _)) if columns > 0 => Some(usize::from(columns)),
        _ => std::env::var("COLUMNS")
            .ok()?
            .parse()
            .ok()
            .filter(|&columns| columns > 0),
    }
}

/// Returns true if the locale uses UTF-8. The C locale counts too: it is the default in
/// minimal containers, whose terminals usually support UTF-8.
fn supports_unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    match locale {
        None => true,
        Some(locale) => {
            let locale = locale.to_lowercase();
            locale.contains("utf") || locale == "c" || locale == "posix"
        }
    }
}
