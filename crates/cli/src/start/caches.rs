//! `preheat start --pack`, `--unpack` and `--caches`: compiled code in one place, carried
//! to other machines as one file.

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

/// The kernel driver shows itself here, also where no program can use it.
const DRIVER: &str = "/proc/driver/nvidia/version";

/// Have a start keep its caches in the place that a flag named.
pub fn name(place: &Path) -> Result<()> {
    let place = kept_caches::whole(place).map_err(|why| Usage(format!("--caches {why}")))?;
    // SAFETY: this process has one thread yet.
    unsafe { std::env::set_var(kept_caches::VARIABLE, place) };
    Ok(())
}

/// Pack the place into a file.
pub fn pack(to: &Path) -> Result<ExitCode> {
    if to == Path::new("-") {
        return Err(Usage(
            "--pack needs the name of a file: what stands first in a bundle is known last"
                .to_owned(),
        )
        .into());
    }
    let place = kept_caches::default_place().map_err(Usage)?;
    install_interrupt();
    let (machine, doubt) = machine();
    let done = watched(|watch| kept_caches::pack(&place, to, &now_rfc3339(), &machine, watch));
    let packed = match done {
        Ok(packed) => packed,
        Err(why) => return told(why, "nothing was packed"),
    };
    for (variable, path) in kept_caches::elsewhere(&place) {
        complain(&format!(
            "{variable} leads to {}, which is not in {} and was not packed",
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

/// Unpack a file, or standard input, into the place that is named, else where it was
/// packed from.
pub fn unpack(from: &Path, named: Option<&Path>) -> Result<ExitCode> {
    // A place that the environment names is where later starts will look.
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
            return told(why, &format!("{shown} was not unpacked"));
        }
    };
    unpacked.notes.iter().for_each(|note| complain(note));
    if kept_caches::default_place().ok().as_ref() != Some(&unpacked.place) {
        complain(&format!(
            "it is found by programs that are started with `preheat start --caches {}`",
            unpacked.place.display()
        ));
    }
    let there = match unpacked.there {
        0 => String::new(),
        there => format!("; {there} more were left as they are, for something is there already"),
    };
    print(
        format!(
            "unpacked {} ({}) into {}{there}\n",
            kept_caches::files(unpacked.files),
            bytes(unpacked.bytes),
            unpacked.place.display()
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

/// A source whose reader need not wait for it after Ctrl-C.
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

/// This machine, and what to doubt about it.
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
        // No GPU is nothing to speak of; one that cannot be used is.
        Err(why) if PathBuf::from(DRIVER).exists() => (
            None,
            Some(format!("the GPU cannot be asked what it is: {why}")),
        ),
        Err(_) => (None, None),
    };
    (Machine::here(card), doubt)
}

/// Do something with files, with a progress bar, until it is done or interrupted.
fn watched<T>(work: impl FnOnce(&mut kept_caches::Watch<'_>) -> T) -> T {
    const EVERY: Duration = Duration::from_millis(50);
    let bar = Bar::new();
    let begin = Instant::now();
    let mut drawn: Option<Instant> = None;
    let mut watch = |step: &Step<'_>| {
        if drawn.is_none_or(|at| at.elapsed() >= EVERY) {
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

/// The exit code for what was not done, and the sentence about it.
fn told(why: BundleError, what: &str) -> Result<ExitCode> {
    match why {
        // Whatever else went wrong then is no news.
        _ if interrupted() => told_interrupted(what),
        BundleError::Refused(why) => Err(Usage(format!("{what}: {why}")).into()),
        BundleError::Failed(why) => Err(anyhow!("{what}: {why}")),
        BundleError::Interrupted => told_interrupted(what),
    }
}

fn told_interrupted(what: &str) -> Result<ExitCode> {
    complain(&format!("{what}: interrupted"));
    Ok(ExitCode::from(exit::INTERRUPTED))
}
