//! The ledger: every input of the imports of a warm parent, to verify that none has changed.
//!
//! The tracer fills it while the parent imports ([`super::trial`]); each start verifies it.
//! An input is a path with the question that was asked about it. If the same question has
//! another answer now, the parent is not used.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::fmt::Write;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::identity::name;
use crate::reason::Reason;

/// The number of bytes that are compared of a file in /proc or /sys.
const MAX_COMPARED: u64 = 1 << 18;

/// The answer for a path that does not exist.
const ABSENT: &str = "absent";

/// The number of paths per thread, and the largest number of threads.
const PATHS_FOR_ONE_THREAD: usize = 500;
const MAX_THREADS: usize = 8;

/// A question about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Question {
    /// The file it resolves to: device, inode, size, times; for directories, only device and
    /// inode.
    File,
    /// Like `File`, with owner and mode.
    Rights,
    /// Like `File`, without following a symlink.
    Link,
    /// The names in a directory, represented by its times.
    Listing,
    /// The content of a file in /proc or /sys, where times are meaningless.
    Content,
    /// The names in a directory in /proc or /sys.
    Names,
    /// Only that the path exists.
    Presence,
    /// The right to create files in a directory: like `Rights`, with the state of its file
    /// system.
    Writable,
}

impl Question {
    const ALL: [(Question, char); 8] = [
        (Question::File, 'f'),
        (Question::Rights, 'r'),
        (Question::Link, 'l'),
        (Question::Listing, 'd'),
        (Question::Content, 'c'),
        (Question::Names, 'n'),
        (Question::Presence, 'p'),
        (Question::Writable, 'w'),
    ];

    fn letter(self) -> char {
        let known = Question::ALL.iter().find(|(question, _)| *question == self);
        known.map_or('?', |(_, letter)| *letter)
    }

    /// The letter as text.
    pub(crate) fn word(self) -> [u8; 1] {
        [self.letter() as u8]
    }

    fn of(letter: char) -> Option<Question> {
        let known = Question::ALL.iter().find(|(_, known)| *known == letter);
        known.map(|(question, _)| *question)
    }

    /// The answer now; equal answers mean equal inputs.
    pub(crate) fn answer(self, path: &Path) -> String {
        let mut answer = String::new();
        self.write_answer(path, &mut answer);
        answer
    }

    /// Replaces `to` by the answer. Thousands of answers share one buffer.
    fn write_answer(self, path: &Path, to: &mut String) {
        to.clear();
        to.push(self.letter());
        to.push(' ');
        let written = match self {
            Question::File => fs::metadata(path).map(|is| write_identity(&is, to)),
            Question::Rights => fs::metadata(path).map(|is| write_rights(&is, to)),
            Question::Writable => fs::metadata(path).and_then(|is| {
                write_rights(&is, to);
                write_free_space(path, to)
            }),
            Question::Link => fs::symlink_metadata(path).map(|is| write_identity(&is, to)),
            Question::Listing => fs::metadata(path).map(|is| write_exact(&is, to)),
            Question::Content => content(path).map(|text| to.push_str(&text)),
            Question::Names => names(path).map(|text| to.push_str(&text)),
            Question::Presence => fs::metadata(path).map(drop),
        };
        if let Err(why) = written {
            match why.raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) | None => to.push_str(ABSENT),
                Some(number) => to.push_str(&format!("error {number}")),
            }
        }
    }
}

fn write_identity(is: &fs::Metadata, to: &mut String) {
    // Writing to a string cannot fail.
    if is.is_dir() {
        // The times of a directory change with every file in it.
        let _ = write!(to, "{} {}", is.dev(), is.ino());
    } else if !is.is_file() && !is.is_symlink() {
        // The times of a device are meaningless.
        let (device, mode) = (is.rdev(), is.mode());
        let _ = write!(to, "{} {} {device} {mode:o}", is.dev(), is.ino());
    } else {
        write_exact(is, to);
    }
}

fn write_rights(is: &fs::Metadata, to: &mut String) {
    write_identity(is, to);
    let _ = write!(to, " {} {} {:o}", is.uid(), is.gid(), is.mode());
}

/// Writes whether this process may create files in a directory, and whether its file system has
/// free blocks and inodes. Quotas are not visible.
fn write_free_space(path: &Path, to: &mut String) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut is = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a NUL, and the struct is read only if statvfs returned 0
    // and so has filled it.
    let (may, is) = unsafe {
        if libc::statvfs(path.as_ptr(), is.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let may = libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) == 0;
        (may, is.assume_init())
    };
    let has_inodes = is.f_files == 0 || is.f_favail > 0;
    let _ = write!(to, " {may} {}", is.f_bavail > 0 && has_inodes);
    Ok(())
}

fn write_exact(is: &fs::Metadata, to: &mut String) {
    let _ = write!(to, "{} {} {} ", is.dev(), is.ino(), is.size());
    write_time(is.mtime(), is.mtime_nsec(), to);
    to.push(' ');
    write_time(is.ctime(), is.ctime_nsec(), to);
}

/// Writes a time in nanoseconds.
fn write_time(seconds: i64, nanoseconds: i64, to: &mut String) {
    let all = seconds.checked_mul(1_000_000_000);
    let _ = match all.and_then(|all| all.checked_add(nanoseconds)) {
        Some(all) => write!(to, "{all}"),
        None => {
            let all = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
            write!(to, "{all}")
        }
    };
}

fn content(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(MAX_COMPARED)
        .read_to_end(&mut bytes)?;
    // The clock frequency of a processor changes all the time.
    let lines = bytes.split(|&byte| byte == b'\n');
    let steady: Vec<&[u8]> = lines.filter(|line| !line.starts_with(b"cpu MHz")).collect();
    Ok(name(&steady.join(&b'\n')))
}

fn names(path: &Path) -> io::Result<String> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for entry in fs::read_dir(path)? {
        found.push(entry?.file_name().as_bytes().to_vec());
    }
    found.sort();
    Ok(name(&found.join(&0)))
}

/// The host name and the kernel release, as `uname` returns them.
pub(crate) fn host() -> String {
    // SAFETY: a zeroed struct is a valid value; uname fills it with strings that end with
    // a NUL within their arrays.
    unsafe {
        let mut is: libc::utsname = std::mem::zeroed();
        libc::uname(&mut is);
        let text = |field: &[libc::c_char]| {
            CStr::from_ptr(field.as_ptr())
                .to_string_lossy()
                .into_owned()
        };
        [text(&is.nodename), text(&is.domainname), text(&is.release)].join(" ")
    }
}

/// Standard streams of this process that are terminals.
pub(crate) fn terminals() -> Vec<libc::c_int> {
    // SAFETY: isatty takes a number.
    (0..3)
        .filter(|&fd| unsafe { libc::isatty(fd) == 1 })
        .collect()
}

/// The inputs of a parent, as the tracer collects them.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    paths: BTreeMap<(PathBuf, Question), String>,
    /// Standard streams that were checked with `isatty` and were not terminals.
    streams: Vec<libc::c_int>,
    /// The host, if it was asked for.
    host: Option<String>,
    /// Variables that native code read.
    variables: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Ledger {
    /// Records the current answer, unless the question was asked before.
    pub(crate) fn record(&mut self, path: PathBuf, question: Question) {
        let answer = question.answer(&path);
        self.paths.entry((path, question)).or_insert(answer);
    }

    /// Updates the answers about a file after a harmless change by the parent itself.
    pub(crate) fn changed(&mut self, path: &Path) {
        let directory = path.parent().unwrap_or(path);
        for ((known, question), answer) in &mut self.paths {
            if known == path || known == directory {
                *answer = question.answer(known);
            }
        }
    }

    pub(crate) fn record_stream(&mut self, fd: libc::c_int) {
        if !self.streams.contains(&fd) {
            self.streams.push(fd);
        }
    }

    pub(crate) fn record_host(&mut self) {
        self.host.get_or_insert_with(host);
    }

    pub(crate) fn record_variable(&mut self, name: &[u8], value: Option<&[u8]>) {
        let value = || value.map(<[u8]>::to_vec);
        self.variables.entry(name.to_vec()).or_insert_with(value);
    }

    /// Drops inputs that are recorded elsewhere, or that do not matter.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Path, Question) -> bool) {
        self.paths
            .retain(|(path, question), _| keep(path, *question));
    }

    /// Returns true if the path is not a symlink, so that its `Link` answer suffices.
    fn is_answered_by_link(&self, path: &Path, answer: &str) -> bool {
        let other = self.paths.get(&(path.to_owned(), Question::Link));
        other.is_some_and(|other| other[1..] == answer[1..])
    }

    /// Returns true for an absent path whose directory is in the ledger as a listing: creating
    /// the path would change the listing. Creating what a dangling link leads to would not.
    fn is_covered_by_listing(&self, path: &Path, answer: &str) -> bool {
        let directory = path.parent().unwrap_or(path).to_owned();
        let listed = self.paths.get(&(directory, Question::Listing));
        answer.ends_with(ABSENT)
            && listed.is_some_and(|listed| !listed.ends_with(ABSENT))
            && path.symlink_metadata().is_err()
    }

    /// The records for the state of a parent: three fields each, terminated by NULs.
    pub(crate) fn records(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |fields: [&[u8]; 3]| {
            for field in fields {
                bytes.extend_from_slice(field);
                bytes.push(0);
            }
        };
        for ((path, question), answer) in &self.paths {
            let is_redundant = match question {
                Question::File => self.is_answered_by_link(path, answer),
                _ => false,
            };
            if is_redundant || self.is_covered_by_listing(path, answer) {
                continue;
            }
            put([b"input", path.as_os_str().as_bytes(), answer.as_bytes()]);
        }
        for fd in &self.streams {
            put([b"stream", fd.to_string().as_bytes(), b""]);
        }
        if let Some(host) = &self.host {
            put([b"host", host.as_bytes(), b""]);
        }
        for (name, value) in &self.variables {
            let value = value.as_ref().map(|value| [b"=", &value[..]].concat());
            put([b"variable", name, &value.unwrap_or_default()]);
        }
        bytes
    }
}

/// The ledger of a running parent, read from its state.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// The paths and their answers, one after the other: there are thousands.
    text: Vec<u8>,
    paths: Vec<InputSpan>,
    streams: Vec<libc::c_int>,
    host: Option<String>,
}

/// A path and its answer, by where they begin and end in the text.
#[derive(Clone, Copy, Debug)]
struct InputSpan {
    path: usize,
    answer: usize,
    end: usize,
}

impl Inputs {
    /// Parses a record of the state; returns false if it does not belong to the ledger.
    pub(crate) fn read(&mut self, record: &[&[u8]]) -> bool {
        let text = |at: usize| String::from_utf8_lossy(record[at]).into_owned();
        match record[0] {
            b"input" => {
                let path = self.text.len();
                let answer = path + record[1].len();
                self.text.extend_from_slice(record[1]);
                self.text.extend_from_slice(record[2]);
                let end = self.text.len();
                self.paths.push(InputSpan { path, answer, end });
            }
            b"stream" => self.streams.extend(text(1).parse::<libc::c_int>()),
            b"host" => self.host = Some(text(1)),
            _ => return false,
        }
        true
    }

    /// Checks that no input has changed; an error is the first one that has.
    pub(crate) fn verify(&self) -> Result<(), Changed> {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        let most = MAX_THREADS.min(processors);
        let threads = self.paths.len().div_ceil(PATHS_FOR_ONE_THREAD).min(most);
        let part = self.paths.len().div_ceil(threads.max(1)).max(1);
        std::thread::scope(|scope| {
            let others: Vec<_> = self
                .paths
                .chunks(part)
                .skip(1)
                .map(|part| {
                    let thread = std::thread::Builder::new();
                    (part, thread.spawn_scoped(scope, || self.verify_part(part)))
                })
                .collect();
            let mut all = match self.paths.chunks(part).next() {
                Some(part) => self.verify_part(part),
                None => Ok(()),
            };
            for (part, other) in others {
                all = all.and(match other.map(|thread| thread.join()) {
                    Ok(Ok(verified)) => verified,
                    // The thread could not be started, or panicked.
                    Ok(Err(_)) | Err(_) => self.verify_part(part),
                });
            }
            all
        })?;
        if let Some(then) = &self.host
            && host() != *then
        {
            return Err(Changed::Host);
        }
        Ok(())
    }

    fn verify_part(&self, part: &[InputSpan]) -> Result<(), Changed> {
        let mut now = String::new();
        for known in part {
            let path = Path::new(OsStr::from_bytes(&self.text[known.path..known.answer]));
            let then = &self.text[known.answer..known.end];
            let letter = then.first().map(|&letter| char::from(letter));
            let is_same = letter.and_then(Question::of).is_some_and(|question| {
                question.write_answer(path, &mut now);
                now.as_bytes() == then
            });
            if !is_same {
                let was_absent = then.ends_with(ABSENT.as_bytes());
                return Err(Changed::Path(path.to_owned(), was_absent));
            }
        }
        Ok(())
    }

    /// Checks that no stream that the imports checked with `isatty` is a terminal now.
    pub(crate) fn suit(&self, terminals: &[libc::c_int]) -> Result<(), Reason> {
        match self.streams.iter().find(|fd| terminals.contains(fd)) {
            Some(fd) => Err(Reason::Terminal(*fd)),
            None => Ok(()),
        }
    }
}

/// An input that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Changed {
    /// A path, with true if it did not exist before.
    #[error("{} {}", .0.display(), if *.1 { "did not exist before" } else { "has changed" })]
    Path(PathBuf, bool),
    /// The host name or the kernel.
    #[error("the host name or the kernel has changed")]
    Host,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(ledger: &Ledger) -> Inputs {
        let bytes = ledger.records();
        let fields: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
        let mut inputs = Inputs::default();
        for record in fields.chunks_exact(3) {
            inputs.read(record);
        }
        inputs
    }

    #[test]
    fn each_question_detects_only_its_own_changes() {
        let at = std::env::temp_dir().join(format!("preheat-ledger-{}", std::process::id()));
        fs::create_dir_all(&at).expect("a directory for the test");
        let (file, absent) = (at.join("file"), at.join("absent"));
        fs::write(&file, "1").expect("it is written");
        let mut ledger = Ledger::default();
        ledger.record(at.clone(), Question::File);
        ledger.record(file.clone(), Question::File);
        ledger.record(absent.clone(), Question::File);
        ledger.record("/sys/devices".into(), Question::Names);
        ledger.record("/proc/version".into(), Question::Content);
        let before = inputs(&ledger);
        assert_eq!(before.verify(), Ok(()));
        // The directory was only opened, not listed.
        fs::write(at.join("another"), "").expect("it is written");
        assert_eq!(before.verify(), Ok(()));
        let mut listed = Ledger::default();
        listed.record(at.clone(), Question::Listing);
        let listed = inputs(&listed);
        fs::write(at.join("third"), "").expect("it is written");
        assert_eq!(listed.verify(), Err(Changed::Path(at.clone(), false)));
        fs::write(&absent, "").expect("it is written");
        assert_eq!(before.verify(), Err(Changed::Path(absent.clone(), true)));
        fs::remove_file(&absent).expect("it goes");
        // A file that appears in a listed directory is detected through the directory.
        let mut both = Ledger::default();
        both.record(at.join("fourth"), Question::File);
        both.record(at.clone(), Question::Listing);
        let both = inputs(&both);
        assert_eq!(both.paths.len(), 1);
        fs::write(at.join("fourth"), "").expect("it is written");
        assert_eq!(both.verify(), Err(Changed::Path(at.clone(), false)));
        // A replaced file counts as changed, even with the same content.
        fs::write(&absent, "1").expect("it is written");
        fs::rename(&absent, &file).expect("it is moved");
        assert_eq!(before.verify(), Err(Changed::Path(file.clone(), false)));
        ledger.changed(&file);
        assert_eq!(inputs(&ledger).verify(), Ok(()));
        fs::remove_dir_all(&at).expect("it goes");
    }

    #[test]
    fn a_writable_directory_is_compared_with_its_rights() {
        use std::os::unix::fs::PermissionsExt;
        let at = std::env::temp_dir().join(format!("preheat-writable-{}", std::process::id()));
        fs::create_dir_all(&at).expect("a directory for the test");
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).expect("it can be");
        let mut ledger = Ledger::default();
        ledger.record(at.clone(), Question::Writable);
        let before = inputs(&ledger);
        fs::write(at.join("another"), "").expect("it is written");
        assert_eq!(before.verify(), Ok(()));
        fs::set_permissions(&at, fs::Permissions::from_mode(0o500)).expect("it can be");
        assert_eq!(before.verify(), Err(Changed::Path(at.clone(), false)));
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).expect("it can be");
        fs::remove_dir_all(&at).expect("it goes");
        assert_eq!(before.verify(), Err(Changed::Path(at.clone(), false)));
    }

    #[test]
    fn malformed_records_do_not_panic() {
        let mut inputs = Inputs::default();
        assert!(inputs.read(&[b"stream", b"many", b""]));
        assert!(inputs.read(&[b"input", b"/", b"\xff"]));
        assert!(!inputs.read(&[b"other", b"", b""]));
        assert!(inputs.verify().is_err());
    }
}
