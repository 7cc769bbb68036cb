//! The ledger: every input of what a warm parent has imported, and whether each is still
//! what it was.
//!
//! The tracer fills it while the parent imports ([`super::trial`]); each start verifies it.
//! An input is a path with the question that was asked about it: the same question gives
//! the same answer, or the parent is not used.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::identity::name;
use crate::invocation::Why;

/// The longest file of the kernel whose content is compared, in bytes.
const LONGEST: u64 = 1 << 18;

/// The answer about a path at which there is nothing.
const ABSENT: &str = "absent";

/// As many paths are one thread's work, and the most threads that share the work.
const ONE_THREAD: usize = 1000;
const MOST_THREADS: usize = 4;

/// A question about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Question {
    /// The file that it leads to: device, inode, size, times; of a directory, only that it
    /// is this one.
    File,
    /// The same, and who may do what with a directory.
    Rights,
    /// As `File`, without following a link.
    Link,
    /// The names in a directory, by its times.
    Listing,
    /// The content of a file of the kernel, whose times mean nothing.
    Content,
    /// The names in a directory of the kernel.
    Names,
    /// Only that there is something.
    Presence,
}

impl Question {
    const ALL: [(Question, char); 7] = [
        (Question::File, 'f'),
        (Question::Rights, 'r'),
        (Question::Link, 'l'),
        (Question::Listing, 'd'),
        (Question::Content, 'c'),
        (Question::Names, 'n'),
        (Question::Presence, 'p'),
    ];

    fn letter(self) -> char {
        let known = Question::ALL.iter().find(|(question, _)| *question == self);
        known.map_or('?', |(_, letter)| *letter)
    }

    fn of(letter: char) -> Option<Question> {
        let known = Question::ALL.iter().find(|(_, known)| *known == letter);
        known.map(|(question, _)| *question)
    }

    /// The answer now; equal answers mean equal inputs.
    pub(crate) fn answer(self, path: &Path) -> String {
        let answer = match self {
            Question::File => fs::metadata(path).map(|is| identity(&is)),
            Question::Rights => fs::metadata(path).map(|is| {
                format!(
                    "{} {} {} {:o}",
                    identity(&is),
                    is.uid(),
                    is.gid(),
                    is.mode()
                )
            }),
            Question::Link => fs::symlink_metadata(path).map(|is| identity(&is)),
            Question::Listing => fs::metadata(path).map(|is| exact(&is)),
            Question::Content => content(path),
            Question::Names => names(path),
            Question::Presence => fs::metadata(path).map(|_| String::new()),
        };
        let answer = answer.unwrap_or_else(|why| match why.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) | None => ABSENT.into(),
            Some(number) => format!("error {number}"),
        });
        format!("{} {answer}", self.letter())
    }
}

fn identity(is: &fs::Metadata) -> String {
    if is.is_dir() {
        // Its times change with every file in it.
        return format!("{} {}", is.dev(), is.ino());
    }
    if !is.is_file() && !is.is_symlink() {
        // Of a device the times mean nothing.
        return format!("{} {} {} {:o}", is.dev(), is.ino(), is.rdev(), is.mode());
    }
    exact(is)
}

fn exact(is: &fs::Metadata) -> String {
    let (changed, status) = (
        time(is.mtime(), is.mtime_nsec()),
        time(is.ctime(), is.ctime_nsec()),
    );
    format!("{} {} {} {changed} {status}", is.dev(), is.ino(), is.size())
}

fn time(seconds: i64, nanoseconds: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

fn content(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(LONGEST)
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

/// The name and the kernel of this machine, as `uname` gives them.
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

/// Inputs of a parent.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    paths: BTreeMap<(PathBuf, Question), String>,
    /// Standard streams that were asked whether they are terminals, and were none.
    streams: Vec<libc::c_int>,
    /// The host, where it was asked for.
    host: Option<String>,
    /// Variables that native code asked for.
    variables: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Ledger {
    /// An answer that was given just now; the first one counts.
    pub(crate) fn asked(&mut self, path: PathBuf, question: Question) {
        let answer = question.answer(&path);
        self.paths.entry((path, question)).or_insert(answer);
    }

    /// The parent itself has changed a file, in a way that does not count.
    pub(crate) fn changed(&mut self, path: &Path) {
        let directory = path.parent().unwrap_or(path);
        for ((known, question), answer) in &mut self.paths {
            if known == path || known == directory {
                *answer = question.answer(known);
            }
        }
    }

    pub(crate) fn asked_stream(&mut self, fd: libc::c_int) {
        if !self.streams.contains(&fd) {
            self.streams.push(fd);
        }
    }

    pub(crate) fn asked_host(&mut self) {
        self.host.get_or_insert_with(host);
    }

    pub(crate) fn asked_variable(&mut self, name: &[u8], value: Option<&[u8]>) {
        let value = || value.map(<[u8]>::to_vec);
        self.variables.entry(name.to_vec()).or_insert_with(value);
    }

    /// Drop inputs that are kept elsewhere, or that do not count.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Path, Question) -> bool) {
        self.paths
            .retain(|(path, question), _| keep(path, *question));
    }

    /// Whether the answer about a path without following links says all about it.
    fn is_no_link(&self, path: &Path, answer: &str) -> bool {
        let other = self.paths.get(&(path.to_owned(), Question::Link));
        other.is_some_and(|other| other[1..] == answer[1..])
    }

    /// Whether a path is absent, and its directory was listed: something that appears there
    /// changes the directory.
    fn is_not_listed(&self, path: &Path, answer: &str) -> bool {
        let directory = path.parent().unwrap_or(path).to_owned();
        let listed = self.paths.get(&(directory, Question::Listing));
        answer.ends_with(ABSENT) && listed.is_some_and(|listed| !listed.ends_with(ABSENT))
    }

    /// As records of a parent's state: three fields each, ended by NULs.
    pub(crate) fn records(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |fields: [&[u8]; 3]| {
            for field in fields {
                bytes.extend_from_slice(field);
                bytes.push(0);
            }
        };
        for ((path, question), answer) in &self.paths {
            let is_known = match question {
                Question::File => self.is_no_link(path, answer),
                _ => false,
            };
            if is_known || self.is_not_listed(path, answer) {
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

/// The ledger of a running parent, as its state has it.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    paths: Vec<(PathBuf, String)>,
    streams: Vec<libc::c_int>,
    host: Option<String>,
}

impl Inputs {
    /// Take a record of the state; whether it is one of the ledger's.
    pub(crate) fn read(&mut self, record: &[&[u8]]) -> bool {
        let text = |at: usize| String::from_utf8_lossy(record[at]).into_owned();
        match record[0] {
            b"input" => self
                .paths
                .push((OsStr::from_bytes(record[1]).into(), text(2))),
            b"stream" => self.streams.extend(text(1).parse::<libc::c_int>()),
            b"host" => self.host = Some(text(1)),
            _ => return false,
        }
        true
    }

    /// Whether each input is what it was; or the first that is not.
    pub(crate) fn verify(&self) -> Result<(), Changed> {
        let threads = self.paths.len().div_ceil(ONE_THREAD).min(MOST_THREADS);
        let part = self.paths.len().div_ceil(threads.max(1)).max(1);
        std::thread::scope(|scope| {
            let others: Vec<_> = self
                .paths
                .chunks(part)
                .skip(1)
                .map(|part| {
                    let thread = std::thread::Builder::new();
                    (part, thread.spawn_scoped(scope, || verify(part)))
                })
                .collect();
            let mut all = self.paths.chunks(part).take(1).try_for_each(verify);
            for (part, other) in others {
                all = all.and(match other.map(|thread| thread.join()) {
                    Ok(Ok(verified)) => verified,
                    // No thread could be had, or it has failed.
                    Ok(Err(_)) | Err(_) => verify(part),
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

    /// Whether no stream that imports have asked about is one of these terminals.
    pub(crate) fn suit(&self, terminals: &[libc::c_int]) -> Result<(), Why> {
        match self.streams.iter().find(|fd| terminals.contains(fd)) {
            Some(fd) => Err(format!(
                "its modules ask whether descriptor {fd} is a terminal, which it is now"
            )),
            None => Ok(()),
        }
    }
}

fn verify(paths: &[(PathBuf, String)]) -> Result<(), Changed> {
    for (path, then) in paths {
        let question = then.chars().next().and_then(Question::of);
        if question.is_none_or(|question| question.answer(path) != *then) {
            return Err(Changed::Path(path.clone(), then.ends_with(ABSENT)));
        }
    }
    Ok(())
}

/// An input that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// A file, and whether there was none.
    Path(PathBuf, bool),
    /// The name of the machine, or its kernel.
    Host,
}

impl Changed {
    pub(crate) fn sentence(&self) -> Why {
        match self {
            Changed::Path(path, true) => format!("{} did not exist before", path.display()),
            Changed::Path(path, false) => format!("{} has changed", path.display()),
            Changed::Host => "the name of the machine has changed".into(),
        }
    }
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
    fn every_question_notices_its_change_and_no_other() {
        let at = std::env::temp_dir().join(format!("preheat-ledger-{}", std::process::id()));
        fs::create_dir_all(&at).expect("a directory for the test");
        let (file, absent) = (at.join("file"), at.join("absent"));
        fs::write(&file, "1").expect("it is written");
        let mut ledger = Ledger::default();
        ledger.asked(at.clone(), Question::File);
        ledger.asked(file.clone(), Question::File);
        ledger.asked(absent.clone(), Question::File);
        ledger.asked("/sys/devices".into(), Question::Names);
        ledger.asked("/proc/version".into(), Question::Content);
        let before = inputs(&ledger);
        assert_eq!(before.verify(), Ok(()));
        // The directory was only asked for, not listed.
        fs::write(at.join("another"), "").expect("it is written");
        assert_eq!(before.verify(), Ok(()));
        let mut listed = Ledger::default();
        listed.asked(at.clone(), Question::Listing);
        let listed = inputs(&listed);
        fs::write(at.join("third"), "").expect("it is written");
        assert_eq!(listed.verify(), Err(Changed::Path(at.clone(), false)));
        fs::write(&absent, "").expect("it is written");
        assert_eq!(before.verify(), Err(Changed::Path(absent.clone(), true)));
        fs::remove_file(&absent).expect("it goes");
        // What is absent from a directory that was listed is seen by the directory.
        let mut both = Ledger::default();
        both.asked(at.join("fourth"), Question::File);
        both.asked(at.clone(), Question::Listing);
        let both = inputs(&both);
        assert_eq!(both.paths.len(), 1);
        fs::write(at.join("fourth"), "").expect("it is written");
        assert_eq!(both.verify(), Err(Changed::Path(at.clone(), false)));
        // Another file with the same content is another file.
        fs::write(&absent, "1").expect("it is written");
        fs::rename(&absent, &file).expect("it is moved");
        assert_eq!(before.verify(), Err(Changed::Path(file.clone(), false)));
        ledger.changed(&file);
        assert_eq!(inputs(&ledger).verify(), Ok(()));
        fs::remove_dir_all(&at).expect("it goes");
    }

    #[test]
    fn nothing_in_the_state_can_break_us() {
        let mut inputs = Inputs::default();
        assert!(inputs.read(&[b"stream", b"many", b""]));
        assert!(inputs.read(&[b"input", b"/", b"\xff"]));
        assert!(!inputs.read(&[b"other", b"", b""]));
        assert!(inputs.verify().is_err());
    }
}
