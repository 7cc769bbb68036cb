//! Detects the properties of the terminal: width, color, Unicode.

use std::io::IsTerminal;

use preheat_report::Terminal;

/// The maximum width; longer lines are hard to read.
const WIDEST: usize = 140;
/// The width if none can be determined.
const USUAL: usize = 80;

/// The terminal of standard output.
pub fn of_stdout() -> Terminal {
    detect(libc::STDOUT_FILENO, std::io::stdout().is_terminal())
}

/// The terminal of standard error.
pub fn of_stderr() -> Terminal {
    detect(libc::STDERR_FILENO, std::io::stderr().is_terminal())
}

fn detect(fd: libc::c_int, is_terminal: bool) -> Terminal {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    Terminal {
        width: width(fd).unwrap_or(USUAL).min(WIDEST),
        color: is_terminal && !set("NO_COLOR") && !dumb,
        unicode: supports_unicode(),
    }
}

/// The width of the terminal `fd`, else the value of COLUMNS.
pub fn width(fd: libc::c_int) -> Option<usize> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: TIOCGWINSZ writes one winsize, and `size` is one; on a descriptor that is not a
    // terminal it fails and writes nothing.
    let succeeded = unsafe { libc::ioctl(fd, libc::TIOCGWINSZ, &mut size) } == 0;
    if succeeded && size.ws_col > 0 {
        return Some(usize::from(size.ws_col));
    }
    std::env::var("COLUMNS")
        .ok()?
        .parse()
        .ok()
        .filter(|&columns| columns > 0)
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
