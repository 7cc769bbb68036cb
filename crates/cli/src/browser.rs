//! Opens a page in the user's browser.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::shell_words;

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
