//! The standbys of a parent that wait for a start: found by their state files, made by asking
//! the parent's spare child to become one.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::follow::{Child, is_stopped};
use super::list::memory_of;
use super::request::Fields;
use super::socket::{Connection, Greeting};
use super::state::{Parent, parents};
use crate::reason::Reason;
use crate::standby::{Standbys, Use};

/// The time that the spare child has to answer when no start is waiting.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest wait for a parent that is being created, and the polling interval.
const COMES_UP: Duration = Duration::from_secs(60);
const POLL_EVERY: Duration = Duration::from_millis(10);

/// A standby, as its state file describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub process: u32,
    pub socket: PathBuf,
    pub key: String,
    /// `preparing`, `hot` or `parked`.
    pub state: String,
    /// Bytes that it holds on the card.
    pub device_memory: u64,
    parent: u32,
    /// Its state file.
    path: PathBuf,
}

impl Waiting {
    fn parse(bytes: &[u8]) -> Waiting {
        let fields: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let number = |bytes: &[u8]| text(bytes).parse().unwrap_or(0);
        let mut found = Waiting::default();
        for record in fields.chunks_exact(3) {
            match record[0] {
                b"parent" => found.parent = number(record[1]) as u32,
                b"process" => found.process = number(record[1]) as u32,
                b"key" => found.key = text(record[1]),
                b"state" => found.state = text(record[1]),
                b"device-memory" => found.device_memory = number(record[1]),
                b"socket" => found.socket = PathBuf::from(text(record[1])),
                _ => {}
            }
        }
        found
    }

    /// Host memory that it holds, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        memory_of(self.process)
    }

    /// Kills it if it is stopped, and would never answer. One that has begun to serve a start
    /// has removed its file, and is left alone: it may be a program by now.
    pub(crate) fn discard_if_stopped(&self, parent: &Parent) {
        if is_stopped(self.process as libc::pid_t) && self.is_listed() {
            drop(self.child(parent));
            self.remove();
        }
    }

    /// Returns true if it still waits, or is being prepared.
    pub(crate) fn is_listed(&self) -> bool {
        fs::exists(&self.path).unwrap_or(false)
    }

    /// From here on nobody finds it.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.socket);
    }

    /// A handle of its process, which is killed unless it is spared; `None` if it has exited.
    pub(crate) fn child(&self, parent: &Parent) -> Option<Child> {
        Child::new(self.process as libc::pid_t, parent.process)
    }
}

/// All standbys of a parent. State files of processes that have gone are removed.
pub(crate) fn of_parent(parent: &Parent) -> Vec<Waiting> {
    let (Some(directory), Some(file)) = (parent.path.parent(), parent.path.file_name()) else {
        return Vec::new();
    };
    // NAME-PROCESS.parent
    let name = file.as_bytes().split(|&byte| byte == b'-').next();
    let name = name.unwrap_or_default();
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter(|entry| {
            let file = entry.file_name();
            file.as_bytes().starts_with(name) && file.as_bytes().ends_with(b".waits")
        })
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths.iter().filter_map(|path| read(path, parent)).collect()
}

fn read(path: &Path, parent: &Parent) -> Option<Waiting> {
    let mut found = Waiting::parse(&fs::read(path).ok()?);
    found.path = path.to_owned();
    if found.parent != parent.process {
        if !Path::new(&format!("/proc/{}", found.process)).exists() {
            found.remove();
        }
        return None;
    }
    let Some(mut child) = found.child(parent) else {
        found.remove();
        return None;
    };
    child.keep_alive();
    Some(found)
}

impl Standbys {
    /// Those that can serve this start now.
    pub(crate) fn ready(&self, parent: &Parent) -> Vec<Waiting> {
        let (mut found, key) = (of_parent(parent), self.key());
        found.retain(|it| it.key == key && it.state != "preparing");
        found
    }

    /// The reason why there is none for this start.
    pub(crate) fn why_none(&self, parent: &Parent) -> Reason {
        if let Err(why) = self.device_use() {
            return why;
        }
        let (all, own) = (of_parent(parent), self.key());
        if all.iter().any(|it| it.key == own) {
            return Reason::BeingPrepared;
        }
        let refusal = fs::read_to_string(self.refusal()).unwrap_or_default();
        match refusal.split_once('\n') {
            Some((key, why)) if key == own => Reason::Answered(why.to_owned()),
            _ if all.is_empty() => Reason::NonePrepared,
            _ => Reason::OthersPrepared,
        }
    }

    /// Prepares standbys until `count` exist; an error is the reason why not.
    pub(crate) fn prepare(&self, parent: &Parent, count: usize) -> Result<(), Reason> {
        let known = self.device_use()?;
        // So that two clients do not ask for the same one.
        let lock = lock_file(&self.run.join(format!("{}-standby.lock", self.name)));
        let _lock = lock.map_err(|why| Reason::StandbyLock(why.into()))?;
        let key = self.key();
        let there = of_parent(parent);
        let there = there.iter().filter(|it| it.key == key).count();
        for _ in there..count {
            self.ask(parent, &known)?;
        }
        Ok(())
    }

    /// The same for a parent that is right for this program, which may still be coming up.
    pub(crate) fn prepare_soon(&self, suits: &dyn Fn(&Parent) -> bool) -> Result<(), Reason> {
        let until = Instant::now() + COMES_UP;
        loop {
            let found = parents(&self.run, &self.name).into_iter().find(suits);
            match found {
                Some(parent) => return self.prepare(&parent, self.asked.count),
                None if Instant::now() > until => return Err(Reason::NoParent),
                None => std::thread::sleep(POLL_EVERY),
            }
        }
    }

    /// Waits until as many as asked for are ready; or why they are not.
    pub(crate) fn wait(&self, parent: &Parent, limit: Duration) -> Result<(), Reason> {
        let (until, key) = (Instant::now() + limit, self.key());
        loop {
            if self.ready(parent).len() >= self.asked.count {
                return Ok(());
            }
            let there = of_parent(parent);
            let under_way = there.iter().filter(|it| it.key == key).count();
            let refusal = fs::read_to_string(self.refusal()).unwrap_or_default();
            if under_way < self.asked.count && refusal.starts_with(&key) {
                return Err(self.why_none(parent));
            }
            if Instant::now() > until {
                return Err(Reason::StandbyNotReady(limit.as_secs_f64()));
            }
            std::thread::sleep(POLL_EVERY);
        }
    }

    fn ask(&self, parent: &Parent, known: &Use) -> Result<(), Reason> {
        let failed = |why: io::Error| Reason::Silent(why.into());
        let before: Vec<u32> = of_parent(parent).iter().map(|it| it.process).collect();
        let until = Instant::now() + ANSWER_TIMEOUT;
        let mut connection = Connection::open(&parent.socket, until).map_err(failed)?;
        if !connection.is_with(parent.process) {
            return Err(Reason::Replaced);
        }
        let greeting = Greeting::parse(&connection.line().map_err(failed)?);
        let token = greeting.ok_or(Reason::Strange)?.token()?;
        let _ = fs::remove_file(self.refusal());
        let request = self.request(known, &token)?;
        connection.send(&request, &[]).map_err(failed)?;
        let answer = connection.line().map_err(failed)?;
        if let Some(why) = answer.strip_prefix("no ") {
            return Err(Reason::Answered(why.to_owned()));
        }
        // Until its state file counts it, another client could ask for one more.
        while Instant::now() < until && !self.refusal().exists() {
            let all = of_parent(parent);
            if all.iter().any(|it| !before.contains(&it.process)) {
                break;
            }
            std::thread::sleep(POLL_EVERY);
        }
        Ok(())
    }

    /// As `python/standby.py` reads it.
    fn request(&self, known: &Use, word: &[u8]) -> Result<Vec<u8>, Reason> {
        // The parent has its path, and the file may have been removed meanwhile.
        preheat_launch::kept_recorder()?;
        let devices: Vec<String> = known.devices.iter().map(u32::to_string).collect();
        let mut fields = Fields::new(b"standby");
        fields.put(word);
        fields.put(self.asked.form.to_string().as_bytes());
        fields.put(self.key().as_bytes());
        fields.put(devices.join(" ").as_bytes());
        fields.put(known.driver.as_os_str().as_bytes());
        fields.put(self.file().as_os_str().as_bytes());
        let entries = self.environment.iter();
        fields.texts(entries.map(|(name, value)| [&name[..], b"=", value].concat()));
        Ok(fields.finish())
    }
}

/// Locked until it is dropped.
fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    file.lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_file_is_read() {
        let bytes =
            b"parent\x007\0\0process\x0011\0\0key\0ab\0\0state\0hot\0\0device-memory\x005\0\0\
            socket\0/run/x.standby\0\0needs\x005\0\0";
        let expected = Waiting {
            process: 11,
            socket: "/run/x.standby".into(),
            key: "ab".into(),
            state: "hot".into(),
            device_memory: 5,
            parent: 7,
            path: PathBuf::new(),
        };
        assert_eq!(Waiting::parse(bytes), expected);
        assert_eq!(Waiting::parse(b"process\0many\0\0x"), Waiting::default());
    }
}
