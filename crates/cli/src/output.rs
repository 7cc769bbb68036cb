//! Output destinations: directories of recordings, files that are checked to be writable before
//! anything is measured, standard output, which the reader may close, and the terminal with its
//! width, color and Unicode. Opens a page in the browser.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use preheat_report::Terminal;
use terminal_size::{Height, Width};

use crate::exit::Usage;
use crate::shell_words;

/// The destination of a result.
#[derive(Debug)]
pub enum Target {
    /// Standard output.
    Stdout,
    /// This file.
    File(PathBuf),
}

impl Target {
    /// Parses the value of `flag`; `-` is standard output. Fails now, rather than after a
    /// minute of measuring, if the file is not writable.
    pub fn open(flag: &str, path: &Path) -> Result<Target> {
        if path == Path::new("-") {
            return Ok(Target::Stdout);
        }
        // A dangling symbolic link counts as existing: it belongs to the user.
        let existed = fs::symlink_metadata(path).is_ok();
        // Do not open pipes and devices: their reader would notice.
        if path.exists() && !path.is_file() && !path.is_dir() {
            return Ok(Target::File(path.to_path_buf()));
        }
        // Do not truncate: the old result stays until there is a new one.
        let opened = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        match opened {
            Ok(_) => {
                if !existed {
                    let _ = fs::remove_file(path);
                }
                Ok(Target::File(path.to_path_buf()))
            }
            Err(why) => Err(Usage(format!(
                "{flag}: cannot write {}: {why}; choose a file in an existing, writable directory",
                path.display()
            ))
            .into()),
        }
    }

    /// Writes the result.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        match self {
            Target::Stdout => print(bytes),
            Target::File(path) => fs::write(path, bytes)
                .with_context(|| format!("could not write {}", path.display())),
        }
    }

    /// Returns true for standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Target::Stdout)
    }
}

/// Prints to standard output. A closed pipe (`| head`) is not an error.
pub fn print(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => {
            Err(why).context("could not write to standard output")
        }
        _ => Ok(()),
    }
}

/// The directory given with --output, else the first free name in the current directory:
/// `stem`, `stem-2`, …
pub fn directory(output: Option<&Path>, stem: &str) -> Result<PathBuf> {
    if let Some(output) = output {
        let has_entries = fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some());
        if has_entries || output.is_file() {
            return Err(Usage(format!(
                "--output {} already exists; choose another directory or remove it",
                output.display()
            ))
            .into());
        }
        return Ok(output.to_path_buf());
    }
    let numbered =
        std::iter::once(stem.to_owned()).chain((2..).map(|number| format!("{stem}-{number}")));
    // If the directory cannot be created, the recorder reports it.
    Ok(numbered
        .map(PathBuf::from)
        .find(|path| fs::symlink_metadata(path).is_err())
        .unwrap_or_default())
}

// Opens a page in the user's browser.

/// Programs that open a page in the browser of the desktop.
const OPENERS: [&str; 2] = ["xdg-open", "wslview"];

/// The time that a program has to report that it cannot open the page.
const FAILS_WITHIN: Duration = Duration::from_secs(1);

/// Opens the page with the command in BROWSER, or with that of the desktop. Does not wait until
/// it is closed.
pub fn open(page: &Path) -> Result<()> {
    let page = page.canonicalize().unwrap_or_else(|_| page.to_path_buf());
    let shown = page.display();
    let chosen = std::env::var("BROWSER").unwrap_or_default();
    if !chosen.trim().is_empty() {
        let failed =
            |why: &dyn Display| anyhow!("--open: BROWSER={chosen}: {why}; the page is {shown}");
        let command = shell_words::split(&chosen).map_err(|why| failed(&why))?;
        return start(&command, &page).map_err(|why| failed(&why));
    }
    for opener in OPENERS {
        match start(&[opener.to_owned()], &page) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => bail!("--open: {opener}: {why}; set BROWSER, or open {shown} yourself"),
            Ok(()) => return Ok(()),
        }
    }
    bail!("--open: found no browser; set BROWSER, install xdg-open, or open {shown} yourself")
}

fn start(command: &[String], page: &Path) -> io::Result<()> {
    let mut started = Command::new(&command[0])
        .args(&command[1..])
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let deadline = Instant::now() + FAILS_WITHIN;
    while Instant::now() < deadline {
        match started.try_wait()? {
            Some(status) if status.success() => break,
            Some(status) => return Err(io::Error::other(format!("it failed with {status}"))),
            None => thread::sleep(Duration::from_millis(10)),
        }
    }
    Ok(())
}

/// The maximum width; longer lines are hard to read.
const MAX_WIDTH: usize = 140;
/// The width if none can be determined.
const DEFAULT_WIDTH: usize = 80;

/// The terminal of standard output.
pub fn stdout_terminal() -> Terminal {
    detect(io::stdout())
}

/// The terminal of standard error.
pub fn stderr_terminal() -> Terminal {
    detect(io::stderr())
}

fn detect(stream: impl AsFd + IsTerminal) -> Terminal {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    Terminal {
        width: terminal_width(&stream)
            .unwrap_or(DEFAULT_WIDTH)
            .min(MAX_WIDTH),
        color: stream.is_terminal() && !set("NO_COLOR") && !dumb,
        unicode: supports_unicode(),
    }
}

/// The width of the terminal `stream`, else the value of COLUMNS.
pub fn terminal_width(stream: impl AsFd) -> Option<usize> {
    columns(terminal_size::terminal_size_of(stream))
}

/// The width of the terminal of any standard stream, else the value of COLUMNS.
pub fn any_terminal_width() -> Option<usize> {
    columns(terminal_size::terminal_size())
}

fn columns(size: Option<(Width, Height)>) -> Option<usize> {
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
