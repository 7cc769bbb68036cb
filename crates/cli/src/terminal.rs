//! What kind of terminal the output goes to.

use std::io::IsTerminal;

use preheat_report::Terminal;

/// Wider than this, lines are hard to follow.
const WIDEST: usize = 140;
/// Where nobody tells a width.
const USUAL: usize = 80;

/// The terminal behind standard output.
pub fn of_stdout() -> Terminal {
    behind(libc::STDOUT_FILENO, std::io::stdout().is_terminal())
}

/// The terminal behind standard error.
pub fn of_stderr() -> Terminal {
    behind(libc::STDERR_FILENO, std::io::stderr().is_terminal())
}

fn behind(fd: libc::c_int, is_terminal: bool) -> Terminal {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    Terminal {
        width: width(fd).unwrap_or(USUAL).min(WIDEST),
        color: is_terminal && !set("NO_COLOR") && !dumb,
        unicode: speaks_unicode(),
    }
}

/// The width of the terminal behind `fd`, else the one that COLUMNS names.
pub fn width(fd: libc::c_int) -> Option<usize> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: TIOCGWINSZ writes one winsize, which `size` is; a descriptor that is
    // no terminal makes it fail and write nothing.
    let answered = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) } == 0;
    if answered && size.ws_col > 0 {
        return Some(usize::from(size.ws_col));
    }
    std::env::var("COLUMNS")
        .ok()?
        .parse()
        .ok()
        .filter(|&columns| columns > 0)
}

/// Whether the locale's encoding has more than ASCII. The C locale is also what a
/// bare container has, and its terminals speak UTF-8 all the same.
fn speaks_unicode() -> bool {
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
