//! Output destinations: directories of recordings, files that are checked to be writable before
//! anything is measured, and standard output, which the reader may close.
//! Opens a page in the browser.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

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
