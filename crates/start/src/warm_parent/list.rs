//! The parents that run: what they are, and how they are made to leave.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::request::word;
use super::socket::{Connection, peer};
use super::state::{Parent, parents};
use super::waiting::{Waiting, of_parent};
use crate::place;

/// How long a parent may take to answer, where nobody waits for a start.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most parents of one user, whatever they are for.
const MOST_IN_ALL: usize = 8;

/// They may have this part of the machine's memory.
const PART: u64 = 4;

/// A warm parent that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// By which it can be stopped.
    pub id: String,
    /// What it starts.
    pub program: String,
    /// In which directory.
    pub place: PathBuf,
    /// How long it has been there.
    pub age: Duration,
    /// What it and the children that wait hold in memory that nobody else has, in bytes.
    pub memory: u64,
    /// Starts that it has served; `None` if it does not answer.
    pub served: Option<u64>,
    /// Modules that it does not import, and why.
    pub left_out: Vec<(String, String)>,
    /// Its standbys.
    pub standbys: Vec<RunningStandby>,
}

/// A standby that waits for a start, or is being prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningStandby {
    /// Its process.
    pub process: u32,
    /// `preparing`, `hot` or `parked`.
    pub state: String,
    /// Host memory, in bytes.
    pub memory: u64,
    /// Device memory, in bytes.
    pub device_memory: u64,
}

/// All warm parents of this user that run.
pub fn list() -> io::Result<Vec<Running>> {
    let directory = place::run_directory()?;
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let alive = parents(&directory, "").into_iter().filter(is_alive);
    Ok(alive
        .map(|parent| Running {
            id: id(&parent),
            age: now.saturating_sub(Duration::from_secs(parent.began)),
            memory: memory(parent.process),
            served: served(&parent),
            left_out: parent.not_ahead(),
            standbys: standbys(&parent),
            program: parent.program,
            place: parent.place,
        })
        .collect())
}

fn standbys(parent: &Parent) -> Vec<RunningStandby> {
    let waiting = of_parent(parent).into_iter();
    waiting
        .map(|it| RunningStandby {
            process: it.process,
            memory: it.memory(),
            device_memory: it.device_memory,
            state: it.state,
        })
        .collect()
}

/// Make parents leave: that of this id, or all. Programs that run are not harmed. How
/// many there were.
pub fn stop(which: &str) -> io::Result<usize> {
    let directory = place::run_directory()?;
    let chosen: Vec<Parent> = parents(&directory, "")
        .into_iter()
        .filter(|parent| which == "all" || id(parent) == which)
        .collect();
    for parent in &chosen {
        leave(parent);
    }
    if which == "all" {
        tidy(&directory)?;
    }
    Ok(chosen.len())
}

/// Removes what is left of parents: reasons why there was none, so that it is tried again,
/// locks, and our files of other versions.
fn tidy(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)?.flatten() {
        let path = entry.path();
        let ending = path.extension().unwrap_or_default();
        if ["plain", "lock", "nostandby", "waits", "standby"]
            .iter()
            .any(|it| ending == *it)
        {
            let _ = fs::remove_file(&path);
        } else if entry.file_name().as_bytes().starts_with(b"python-") {
            let _ = fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

/// Make parents leave until there may be one more, those first that were used least
/// recently. Those whose files are in `replaced` leave anyway.
pub(crate) fn make_room(directory: &Path, replaced: &[PathBuf]) {
    let mut running: Vec<_> = parents(directory, "")
        .into_iter()
        .filter(|parent| !replaced.contains(&parent.path) && is_alive(parent))
        .map(|parent| (last_used(&parent), memory(parent.process), parent))
        .collect();
    running.sort_by_key(|(used, ..)| *used);
    let most = all_memory() / PART;
    let mut together: u64 = running.iter().map(|(_, memory, _)| memory).sum();
    let mut count = running.len();
    for (_, memory, parent) in &running {
        if count < MOST_IN_ALL && together <= most {
            break;
        }
        leave(parent);
        count -= 1;
        together = together.saturating_sub(*memory);
    }
}

/// When it has last served a start: it touches its file then.
fn last_used(parent: &Parent) -> Option<SystemTime> {
    fs::metadata(&parent.path).ok()?.modified().ok()
}

/// Of the machine, in bytes.
fn all_memory() -> u64 {
    // SAFETY: sysconf takes a number.
    let (pages, size) = unsafe {
        (
            libc::sysconf(libc::_SC_PHYS_PAGES),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    pages.max(0).unsigned_abs() * size.max(0).unsigned_abs()
}

/// Make a parent leave: it is ended, on which no program depends, and the children that
/// wait leave with it.
pub(crate) fn leave(parent: &Parent) {
    let asked = Connection::open(&parent.socket, Instant::now());
    if asked.is_ok_and(|connection| connection.is_with(parent.process)) {
        // SAFETY: kill takes numbers. The kernel has said that this process listens at
        // the parent's socket, so that its number is still its own.
        unsafe { libc::kill(parent.process as libc::pid_t, libc::SIGKILL) };
    }
    forget(parent);
}

/// From here on nobody finds it, or its standbys.
pub(crate) fn forget(parent: &Parent) {
    of_parent(parent).iter().for_each(Waiting::remove);
    let _ = fs::remove_file(&parent.path);
    let _ = fs::remove_file(&parent.socket);
}

fn id(parent: &Parent) -> String {
    parent.process.to_string()
}

/// Whether it is there, and listens.
pub(crate) fn is_alive(parent: &Parent) -> bool {
    let connected = Connection::open(&parent.socket, Instant::now());
    connected.is_ok_and(|connection| connection.is_with(parent.process))
}

/// How many starts it has served, if it answers.
pub(crate) fn served(parent: &Parent) -> Option<u64> {
    let mut connection = Connection::open(&parent.socket, Instant::now() + PATIENCE).ok()?;
    connection.line().ok()?;
    connection.send(&word(b"served"), &[]).ok()?;
    let line = connection.line().ok()?;
    line.strip_prefix("served ")?.parse().ok()
}

/// What a parent, and the child that waits in it, have for themselves, in bytes.
fn memory(parent: u32) -> u64 {
    // The last that it has made waits; those before it are with programs.
    let supervisor = children(parent).last().copied();
    let waiting = supervisor.and_then(|it| children(it).first().copied());
    let all = [Some(parent), supervisor, waiting];
    all.into_iter().flatten().map(memory_of).sum()
}

fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    let words = text.split_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

pub(super) fn memory_of(process: u32) -> u64 {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = fs::read_to_string(Path::new(&path)).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

impl Connection {
    /// Whether it is this process that listens there.
    pub(crate) fn is_with(&self, process: u32) -> bool {
        peer(self.stream()).is_ok_and(|(_, listener)| listener as u32 == process)
    }
}
