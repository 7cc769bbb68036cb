//! `preheat start --pack`, `--unpack` and `--caches`: keeps compiled code in one directory,
//! and carries it to other machines as one file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use preheat_device::Kind;
use preheat_host::interrupt::{install as install_interrupt, interrupted};
use preheat_host::now_rfc3339;
use preheat_lab::probe_device;
use preheat_model::units::bytes;
use preheat_start::kept_caches::{self, BundleError, Card, Machine, Step};

use crate::exit::{self, Usage, complain};
use crate::output::print;
use crate::progress::{Bar, Progress};

/// Exists if the kernel driver is loaded, even if no program can use it.
const DRIVER: &str = "/proc/driver/nvidia/version";

/// Makes a start keep its caches in the directory of --caches.
pub fn name(place: &Path) -> Result<()> {
    let place = kept_caches::whole(place).map_err(|why| Usage(format!("--caches {why}")))?;
    // SAFETY: this process still has one thread.
    unsafe { std::env::set_var(kept_caches::VARIABLE, place) };
    Ok(())
}

/// Packs the cache directory into a file.
pub fn pack(to: &Path) -> Result<ExitCode> {
    if to == Path::new("-") {
        return Err(Usage(
            "--pack needs a file name: the bundle's header is written last, so it cannot be streamed"
                .to_owned(),
        )
        .into());
    }
    let place = kept_caches::default_directory().map_err(|why| Usage(why.to_string()))?;
    install_interrupt();
    let (machine, doubt) = machine();
    let done = watched(|watch| kept_caches::pack(&place, to, &now_rfc3339(), &machine, watch));
    let packed = match done {
        Ok(packed) => packed,
        Err(why) => return failed(why, "nothing was packed"),
    };
    for (variable, path) in kept_caches::elsewhere(&place) {
        complain(&format!(
            "{variable} points to {}, which is not in {} and was not packed",
            path.display(),
            place.display()
        ));
    }
    doubt
        .iter()
        .chain(&packed.notes)
        .for_each(|note| complain(note));
    let made_for = machine.card.as_ref().map_or("no GPU".to_owned(), |card| {
        format!("{} with driver {}", card.name, card.driver)
    });
    print(
        format!(
            "packed {} ({}) of {} from {}\ninto {} ({}), for {made_for}\n",
            kept_caches::files(packed.files),
            bytes(packed.bytes),
            packed.titles.join(", "),
            place.display(),
            to.display(),
            bytes(packed.size),
        )
        .as_bytes(),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Unpacks a file, or standard input, into the named directory, or into the path that it was
/// packed from.
pub fn unpack(from: &Path, named: Option<&Path>) -> Result<ExitCode> {
    // Later starts will use the directory that the environment names.
    let variable = std::env::var_os(kept_caches::VARIABLE).filter(|value| !value.is_empty());
    let named = named
        .or(variable.as_deref().map(Path::new))
        .map(kept_caches::whole)
        .transpose()
        .map_err(|why| Usage(format!("--caches {why}")))?;
    let shown = match from == Path::new("-") {
        true => "standard input".to_owned(),
        false => from.display().to_string(),
    };
    let mut source: Box<dyn Read> = match from == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(open(from)?),
    };
    install_interrupt();
    let (machine, doubt) = machine();
    let mut source = io::BufReader::with_capacity(1 << 16, Interruptible(&mut *source));
    let done = watched(|watch| kept_caches::unpack(&mut source, named.as_deref(), &machine, watch));
    let unpacked = match done {
        Ok(unpacked) => unpacked,
        Err(why) => {
            doubt.iter().for_each(|note| complain(note));
            return failed(why, &format!("{shown} was not unpacked"));
        }
    };
    unpacked.notes.iter().for_each(|note| complain(note));
    if kept_caches::default_directory().ok().as_ref() != Some(&unpacked.cache_dir) {
        complain(&format!(
            "programs find it if they are started with `preheat start --caches {}`",
            unpacked.cache_dir.display()
        ));
    }
    let there = match unpacked.there {
        0 => String::new(),
        1 => "; 1 existing file was kept".to_owned(),
        there => format!("; {there} existing files were kept"),
    };
    print(
        format!(
            "unpacked {} ({}) into {}{there}\n",
            kept_caches::files(unpacked.files),
            bytes(unpacked.bytes),
            unpacked.cache_dir.display()
        )
        .as_bytes(),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn open(path: &Path) -> Result<File> {
    let opened = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    opened.map_err(|why| Usage(format!("{} cannot be read: {why}", path.display())).into())
}

/// A source whose reads fail after Ctrl-C instead of blocking.
struct Interruptible<'a>(&'a mut dyn Read);

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if interrupted() {
            return Err(io::Error::other("interrupted"));
        }
        match self.0.read(buffer) {
            Err(why) if why.kind() == io::ErrorKind::Interrupted && interrupted() => {
                Err(io::Error::other("interrupted"))
            }
            read => read,
        }
    }
}

/// Describes this machine, with a warning if its GPU cannot be used.
fn machine() -> (Machine, Option<String>) {
    let (card, doubt) = match probe_device(Kind::Cuda) {
        Ok(found) => {
            let facts = found.device.facts.into_iter();
            let capability = facts.clone().find(|(name, _)| name == "compute capability");
            let card = Card {
                name: found.device.name,
                capability: capability.unwrap_or_default().1,
                driver: found.device.driver,
            };
            (Some(card), None)
        }
        // A missing GPU is normal; one that cannot be used is worth a warning.
        Err(why) if PathBuf::from(DRIVER).exists() => {
            (None, Some(format!("the GPU cannot be identified: {why}")))
        }
        Err(_) => (None, None),
    };
    (Machine::here(card), doubt)
}

/// Runs `work` with a progress bar, until it is done or interrupted.
fn watched<T>(work: impl FnOnce(&mut kept_caches::Watch<'_>) -> T) -> T {
    const UPDATE_INTERVAL: Duration = Duration::from_millis(50);
    let bar = Bar::new();
    let begin = Instant::now();
    let mut drawn: Option<Instant> = None;
    let mut watch = |step: &Step<'_>| {
        if drawn.is_none_or(|at| at.elapsed() >= UPDATE_INTERVAL) {
            drawn = Some(Instant::now());
            bar.draw(&Progress {
                done: step.done,
                total: step.total.unwrap_or(0),
                of: "files",
                next: step.path.display().to_string(),
                elapsed: begin.elapsed(),
                budget_used: None,
            });
        }
        !interrupted()
    };
    work(&mut watch)
}

/// Reports an error and returns its exit code.
fn failed(why: BundleError, what: &str) -> Result<ExitCode> {
    match why {
        // Other errors are consequences of the interruption.
        _ if interrupted() => was_interrupted(what),
        BundleError::Refused(why) => Err(Usage(format!("{what}: {why}")).into()),
        BundleError::Failed(why) => Err(anyhow!("{what}: {why}")),
        BundleError::Interrupted => was_interrupted(what),
    }
}

fn was_interrupted(what: &str) -> Result<ExitCode> {
    complain(&format!("{what}: interrupted"));
    Ok(ExitCode::from(exit::INTERRUPTED))
}
