//! Lists and stops running parents.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Pid, Signal, kill_process};

use super::follow::Child;
use super::request::word;
use super::socket::{Connection, peer};
use super::state::{Parent, parents};
use super::waiting::{Waiting, of_parent};
use crate::directories;

/// The time that a parent has to answer when no start is waiting.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The time that standbys have to exit after their parent has. Their supervisors kill them
/// after two seconds.
const STANDBYS_EXIT: Duration = Duration::from_secs(5);

/// The largest number of parents per user.
const MAX_PARENTS_IN_ALL: usize = 8;

/// The parents may use the memory of the machine divided by this number.
const MEMORY_DIVISOR: u64 = 4;

/// A running warm parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The ID for [`stop`].
    pub id: String,
    /// The program that it starts.
    pub program: String,
    /// The working directory of the program.
    pub place: PathBuf,
    /// The time since it was created.
    pub age: Duration,
    /// The proportional memory of the parent and its waiting child, in bytes.
    pub memory: u64,
    /// The number of starts that it has served; `None` if it does not answer.
    pub served: Option<u64>,
    /// It serves recorded starts, and no others.
    pub recorded: bool,
    /// Modules that it does not import, with the reasons.
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

/// All running warm parents of this user.
pub fn list() -> io::Result<Vec<Running>> {
    let directory = directories::run_directory()?;
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
            recorded: is_recorded(&parent),
            left_out: parent.not_ahead(),
            standbys: standbys(&parent),
            program: parent.program,
            place: parent.working_directory,
        })
        .collect())
}

/// Returns true if the recorder was preloaded when it was created: starts compare the variable.
fn is_recorded(parent: &Parent) -> bool {
    let mut known = parent.asked.environment.iter();
    let preloaded = known.find(|(name, _)| name == b"LD_PRELOAD");
    preloaded.is_some_and(|(_, value)| {
        let first = value.split(|&byte| byte == b':').next();
        first.is_some_and(|path| path.ends_with(b"/libpreheat.so"))
    })
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

/// The result of [`stop`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The number of parents that were stopped.
    pub parents: usize,
    /// The processes of standbys that were still running at the deadline.
    pub remaining: Vec<u32>,
}

/// Stops the parent with this ID, or all, and waits until their standbys have released the
/// GPU. Running programs are not affected.
pub fn stop(which: &str) -> io::Result<Stopped> {
    let directory = directories::run_directory()?;
    let chosen: Vec<Parent> = parents(&directory, "")
        .into_iter()
        .filter(|parent| which == "all" || id(parent) == which)
        .collect();
    let standbys: Vec<Child> = chosen.iter().flat_map(leave).collect();
    let deadline = Instant::now() + STANDBYS_EXIT;
    let remaining = standbys
        .iter()
        .filter(|standby| !standby.has_exited_by(deadline))
        .map(Child::process)
        .collect();
    if which == "all" {
        tidy(&directory)?;
    }
    Ok(Stopped {
        parents: chosen.len(),
        remaining,
    })
}

/// Removes leftovers of parents: stored reasons, so that creation is tried again, locks,
/// and the Python files of other versions.
fn tidy(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)?.flatten() {
        let path = entry.path();
        let ending = path.extension().unwrap_or_default();
        if ["plain", "unused", "lock", "nostandby", "waits", "standby"]
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

/// Stops the least recently used parents until one more is allowed. Parents whose files are
/// in `replaced` are about to be stopped anyway.
pub(crate) fn make_room(directory: &Path, replaced: &[PathBuf]) {
    let mut running: Vec<_> = parents(directory, "")
        .into_iter()
        .filter(|parent| !replaced.contains(&parent.path) && is_alive(parent))
        .map(|parent| (last_used(&parent), memory(parent.process), parent))
        .collect();
    running.sort_by_key(|(used, ..)| *used);
    let memory: Vec<u64> = running.iter().map(|(_, memory, _)| *memory).collect();
    for (.., parent) in &running[..too_many(&memory, all_memory())] {
        leave(parent);
    }
}

/// The number of parents to stop before there is another one, from the memory of each, the least
/// recently used first, and that of the machine.
fn too_many(parents: &[u64], machine: u64) -> usize {
    let most = machine / MEMORY_DIVISOR;
    let allowed = |rest: &[u64]| {
        let together = rest
            .iter()
            .fold(0, |sum: u64, each| sum.saturating_add(*each));
        rest.len() < MAX_PARENTS_IN_ALL && together <= most
    };
    let mut counts = 0..parents.len();
    let found = counts.find(|&count| allowed(&parents[count..]));
    found.unwrap_or(parents.len())
}

/// The time of the last start: a parent touches its file at each start.
fn last_used(parent: &Parent) -> Option<SystemTime> {
    fs::metadata(&parent.path).ok()?.modified().ok()
}

/// The memory of the machine, in bytes.
fn all_memory() -> u64 {
    preheat_host::total_memory().unwrap_or(0)
}

/// Stops a parent by killing it; its waiting children exit with it. No program depends on it.
/// Returns its standbys, which may take a while to exit.
pub(crate) fn leave(parent: &Parent) -> Vec<Child> {
    // The kernel shows them as its grandchildren only while it runs.
    let standbys = of_parent(parent);
    let mut children: Vec<_> = standbys.iter().map(|it| it.child(parent)).collect();
    children.iter_mut().flatten().for_each(Child::keep_alive);
    let asked = Connection::open(&parent.socket, Instant::now());
    if asked.is_ok_and(|connection| connection.is_with(parent.process)) {
        // The kernel reported that this process listens on the socket of the parent, so the
        // process ID has not been reused.
        if let Some(process) = Pid::from_raw(parent.process as libc::pid_t) {
            let _ = kill_process(process, Signal::KILL);
        }
    }
    // One that has begun to serve a start has removed its file, and becomes a program.
    let waits: Vec<bool> = standbys.iter().map(Waiting::is_listed).collect();
    forget(parent);
    let children = children.into_iter().zip(waits);
    children
        .filter_map(|(child, waits)| child.filter(|_| waits))
        .collect()
}

/// Removes the files of a parent and of its standbys, so that no start finds them.
pub(crate) fn forget(parent: &Parent) {
    of_parent(parent).iter().for_each(Waiting::remove);
    let _ = fs::remove_file(&parent.path);
    let _ = fs::remove_file(&parent.socket);
}

fn id(parent: &Parent) -> String {
    parent.process.to_string()
}

/// Returns true if the parent is running and listening.
pub(crate) fn is_alive(parent: &Parent) -> bool {
    let connected = Connection::open(&parent.socket, Instant::now());
    connected.is_ok_and(|connection| connection.is_with(parent.process))
}

/// The number of starts that the parent has served, if it answers.
pub(crate) fn served(parent: &Parent) -> Option<u64> {
    let mut connection = Connection::open(&parent.socket, Instant::now() + ANSWER_TIMEOUT).ok()?;
    connection.line().ok()?;
    connection.send(&word(b"served"), &[]).ok()?;
    let line = connection.line().ok()?;
    line.strip_prefix("served ")?.parse().ok()
}

/// The proportional memory of a parent and its waiting child, in bytes.
fn memory(parent: u32) -> u64 {
    // The last child waits; the earlier ones supervise programs.
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
    /// Returns true if this process is at the other end.
    pub(crate) fn is_with(&self, process: u32) -> bool {
        peer(self.stream()).is_ok_and(|(_, listener)| listener as u32 == process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn parents_have_a_quarter_of_the_memory() {
        assert_eq!(too_many(&[], 0), 0);
        assert_eq!(too_many(&[GIB, GIB], 8 * GIB), 0);
        assert_eq!(too_many(&[GIB, GIB, 1], 8 * GIB), 1);
        // The least recently used ones exit, however small.
        assert_eq!(too_many(&[1, 1, GIB, 2 * GIB], 8 * GIB), 3);
        assert_eq!(too_many(&[1, 3 * GIB], 8 * GIB), 2);
        assert_eq!(too_many(&[u64::MAX, u64::MAX, 1], 8 * GIB), 2);
    }

    #[test]
    fn one_more_parent_is_allowed() {
        assert_eq!(too_many(&[1; MAX_PARENTS_IN_ALL - 1], 8 * GIB), 0);
        assert_eq!(too_many(&[1; MAX_PARENTS_IN_ALL], 8 * GIB), 1);
        assert_eq!(too_many(&[1; MAX_PARENTS_IN_ALL + 2], 8 * GIB), 3);
    }
}
