//! The ledger: every input of the imports of a warm parent, to verify that none has changed.
//!
//! The tracer fills it while the parent imports ([`super::trial`]); each start verifies it.
//! An input is a path with the question that was asked about it. If the same question has
//! another answer now, the parent is not used.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use thiserror::Error;

use crate::identity::name;
use crate::reason::Reason;

/// The number of bytes that are compared of a file in /proc or /sys.
const MAX_COMPARED: u64 = 1 << 18;

/// The answer for a path that does not exist.
const ABSENT: &str = "absent";

/// The minimum number of inputs below a directory for it to be opened as a base. Opening and
/// closing it costs what four relative lookups save; twice that leaves a gain.
const MIN_INPUTS_OF_BASE: usize = 8;

/// The number of paths that one thread verifies; more paths are divided between threads.
const PATHS_FOR_ONE_THREAD: usize = 500;

/// The largest number of threads that verify paths.
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
    pub(crate) fn answer(self, path: &Path) -> Answer {
        let mut answer = Answer::default();
        match CString::new(path.as_os_str().as_bytes()) {
            Ok(path) => self.write_answer(CWD, &path, &mut answer),
            Err(_) => answer.begin(self),
        }
        answer
    }

    /// Replaces `to` by the answer for a path, which is relative to the directory `base` if it
    /// is not absolute. Thousands of answers share one buffer.
    fn write_answer(self, base: BorrowedFd<'_>, path: &CStr, to: &mut Answer) {
        to.begin(self);
        let follow = || rustix::fs::statat(base, path, AtFlags::empty());
        let whole = || Path::new(OsStr::from_bytes(path.to_bytes()));
        let written = match self {
            Question::File => follow().map(|stat| to.put_identity(&stat)),
            Question::Rights => follow().map(|stat| to.put_rights(&stat)),
            Question::Writable => follow().and_then(|stat| {
                to.put_rights(&stat);
                to.put_free_space(path)
            }),
            Question::Link => rustix::fs::statat(base, path, AtFlags::SYMLINK_NOFOLLOW)
                .map(|stat| to.put_identity(&stat)),
            Question::Listing => follow().map(|stat| to.put_exactly(&stat)),
            Question::Presence => follow().map(drop),
            Question::Content => content(whole()).map(|text| to.put(text.as_bytes())),
            Question::Names => names(whole()).map(|text| to.put(text.as_bytes())),
        };
        match written {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::NOTDIR) => to.put(ABSENT.as_bytes()),
            Err(why) => {
                to.put(b"error ");
                to.number(why.raw_os_error());
            }
        }
    }

    /// Returns true if the answer is in what `stat` returns, so that the path can be relative to
    /// an open directory.
    fn is_answered_by_stat(self) -> bool {
        match self {
            Question::File
            | Question::Rights
            | Question::Link
            | Question::Listing
            | Question::Presence => true,
            Question::Content | Question::Names | Question::Writable => false,
        }
    }
}

/// The text of an answer. It formats numbers itself: the formatter of the standard library takes
/// as long for five of them as `stat` does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer(Vec<u8>);

impl Answer {
    /// Returns true if the path does not exist.
    fn is_absent(&self) -> bool {
        self.0.ends_with(ABSENT.as_bytes())
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    fn begin(&mut self, question: Question) {
        self.0.clear();
        self.put(&[question.letter() as u8, b' ']);
    }

    fn put(&mut self, text: &[u8]) {
        self.0.extend_from_slice(text);
    }

    fn number(&mut self, number: impl itoa::Integer) {
        self.put(itoa::Buffer::new().format(number).as_bytes());
    }

    fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        for (index, number) in numbers.into_iter().enumerate() {
            if index > 0 {
                self.0.push(b' ');
            }
            self.number(number);
        }
    }

    fn put_identity(&mut self, stat: &Stat) {
        match FileType::from_raw_mode(stat.st_mode) {
            // The times of a directory change with every file in it.
            FileType::Directory => self.numbers([stat.st_dev, stat.st_ino]),
            FileType::RegularFile | FileType::Symlink => self.put_exactly(stat),
            // The times of a device are meaningless.
            _ => self.numbers([stat.st_dev, stat.st_ino, stat.st_rdev, stat.st_mode.into()]),
        }
    }

    fn put_rights(&mut self, stat: &Stat) {
        self.put_identity(stat);
        self.0.push(b' ');
        self.numbers([stat.st_uid.into(), stat.st_gid.into(), stat.st_mode.into()]);
    }

    fn put_exactly(&mut self, stat: &Stat) {
        self.numbers([stat.st_dev, stat.st_ino]);
        self.0.push(b' ');
        self.number(stat.st_size);
        self.put_time(stat.st_mtime, stat.st_mtime_nsec);
        self.put_time(stat.st_ctime, stat.st_ctime_nsec);
    }

    /// Appends a time in seconds and nanoseconds.
    fn put_time(&mut self, seconds: i64, nanoseconds: u64) {
        self.0.push(b' ');
        self.number(seconds);
        self.0.push(b'.');
        self.number(nanoseconds);
    }

    /// Appends whether this process may create files in a directory, and whether its file system
    /// has free blocks and inodes. Quotas are not visible.
    fn put_free_space(&mut self, path: &CStr) -> rustix::io::Result<()> {
        let stat = rustix::fs::statvfs(path)?;
        let can_write = rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok();
        let has_inodes = stat.f_files == 0 || stat.f_favail > 0;
        self.0.push(b' ');
        self.numbers([can_write.into(), (stat.f_bavail > 0 && has_inodes).into()]);
        Ok(())
    }
}

fn content(path: &Path) -> rustix::io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(MAX_COMPARED).read_to_end(&mut bytes))
        .map_err(errno)?;
    // The clock frequency of a processor changes all the time.
    let lines = bytes.split(|&byte| byte == b'\n');
    let steady: Vec<&[u8]> = lines.filter(|line| !line.starts_with(b"cpu MHz")).collect();
    Ok(name(&steady.join(&b'\n')))
}

fn names(path: &Path) -> rustix::io::Result<String> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for entry in fs::read_dir(path).map_err(errno)? {
        found.push(entry.map_err(errno)?.file_name().as_bytes().to_vec());
    }
    found.sort();
    Ok(name(&found.join(&0)))
}

/// The number of an error. std rejects a path with a NUL byte without an errno; no such file can
/// exist.
fn errno(why: io::Error) -> Errno {
    Errno::from_io_error(&why).unwrap_or(Errno::NOENT)
}

/// The host name, the domain name and the kernel release, as `uname` returns them.
pub(crate) fn host() -> String {
    let uname = rustix::system::uname();
    let fields = [uname.nodename(), uname.domainname(), uname.release()];
    fields.map(CStr::to_string_lossy).join(" ")
}

/// Standard streams of this process that are terminals.
pub(crate) fn terminals() -> Vec<libc::c_int> {
    let streams = [
        (0, io::stdin().is_terminal()),
        (1, io::stdout().is_terminal()),
        (2, io::stderr().is_terminal()),
    ];
    let found = streams.into_iter().filter(|(_, is_terminal)| *is_terminal);
    found.map(|(fd, _)| fd).collect()
}

/// Chooses the directories from which a start looks up the paths of inputs. A directory becomes a
/// base if at least [`MIN_INPUTS_OF_BASE`] inputs are below it, not counting those below a deeper
/// base. Resolving a path from the root takes about twice as long as from its own directory.
fn bases<'a>(paths: impl Iterator<Item = &'a [u8]>) -> BTreeSet<&'a [u8]> {
    let mut counts: BTreeMap<(usize, &[u8]), usize> = BTreeMap::new();
    for path in paths {
        let directory = directory_of(path);
        *counts.entry((directory.len(), directory)).or_default() += 1;
    }
    let mut bases = BTreeSet::new();
    // The longest first, so that the count of a directory is complete when its turn comes.
    while let Some(((_, directory), count)) = counts.pop_last() {
        if directory.is_empty() {
            break;
        }
        if count >= MIN_INPUTS_OF_BASE {
            bases.insert(directory);
            continue;
        }
        let above = above(directory);
        *counts.entry((above.len(), above)).or_default() += count;
    }
    bases
}

/// The directory of a file, or of the source file for which it is the bytecode. Empty for the
/// root directory.
fn directory_of(path: &[u8]) -> &[u8] {
    let directory = above(path);
    directory.strip_suffix(b"/__pycache__").unwrap_or(directory)
}

/// A path without its last component.
fn above(path: &[u8]) -> &[u8] {
    &path[..memchr::memrchr(b'/', path).unwrap_or(0)]
}

/// Divides a path into its base, which is empty if there is none, and the rest.
fn split_at_base<'a>(path: &'a [u8], bases: &BTreeSet<&[u8]>) -> (&'a [u8], &'a [u8]) {
    let mut base = directory_of(path);
    while !base.is_empty() && !bases.contains(base) {
        base = above(base);
    }
    match &path[base.len()..] {
        // The kernel answers a path that ends with a slash differently, if it is not a directory.
        [b'/', rest @ ..] if !base.is_empty() && !rest.is_empty() && !rest.starts_with(b"/") => {
            (base, rest)
        }
        _ => (b"", path),
    }
}

/// The inputs of a parent, as the tracer collects them.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Not by `PathBuf`, for which `a/` equals `a`: the kernel answers them differently.
    paths: BTreeMap<(OsString, Question), Answer>,
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
        self.paths.entry((path.into(), question)).or_insert(answer);
    }

    /// Updates the answers about a file after a harmless change by the parent itself.
    pub(crate) fn refresh(&mut self, path: &Path) {
        let directory = path.parent().unwrap_or(path);
        for ((known, question), answer) in &mut self.paths {
            let known = Path::new(known);
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

    /// Keeps the inputs for which `keep` returns true.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Path, Question) -> bool) {
        self.paths
            .retain(|(path, question), _| keep(Path::new(path), *question));
    }

    /// Returns true if the path has the same `Link` answer, which then suffices: it is not a symlink.
    fn is_answered_by_link(&self, path: &Path, answer: &Answer) -> bool {
        let other = self.paths.get(&(path.into(), Question::Link));
        other.is_some_and(|other| other.0[1..] == answer.0[1..])
    }

    /// Returns true for an absent path whose directory is in the ledger as a listing: creating
    /// the path would change the listing. Creating what a dangling link leads to would not.
    fn is_covered_by_listing(&self, path: &Path, answer: &Answer) -> bool {
        let directory = path.parent().unwrap_or(path);
        let listed = self.paths.get(&(directory.into(), Question::Listing));
        answer.is_absent()
            && listed.is_some_and(|listed| !listed.is_absent())
            && path.symlink_metadata().is_err()
    }

    /// The records for the state of a parent: three fields each, terminated by NULs.
    pub(crate) fn records(&self) -> Vec<u8> {
        let needed = self.paths.iter().filter(|((path, question), answer)| {
            let path = Path::new(path);
            let is_redundant = match question {
                Question::File => self.is_answered_by_link(path, answer),
                _ => false,
            };
            !is_redundant && !self.is_covered_by_listing(path, answer)
        });
        let needed: Vec<_> = needed
            .map(|((path, question), answer)| (path.as_bytes(), *question, answer))
            .collect();
        let of_stat = needed
            .iter()
            .filter(|(_, question, _)| question.is_answered_by_stat());
        let bases = bases(of_stat.map(|(path, _, _)| *path));
        let mut groups: BTreeMap<&[u8], Vec<(&[u8], &Answer)>> = BTreeMap::new();
        for (path, question, answer) in needed {
            let (base, rest) = match question.is_answered_by_stat() {
                true => split_at_base(path, &bases),
                false => (&b""[..], path),
            };
            groups.entry(base).or_default().push((rest, answer));
        }
        let mut bytes = Vec::new();
        let mut put = |fields: [&[u8]; 3]| {
            for field in fields {
                bytes.extend_from_slice(field);
                bytes.push(0);
            }
        };
        for (base, inputs) in groups {
            put([b"base", base, b""]);
            for (path, answer) in inputs {
                put([b"input", path, &answer.0]);
            }
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
    /// The paths, each with a NUL, and their answers: there are thousands.
    text: Vec<u8>,
    paths: Vec<InputSpan>,
    /// Directories to which the paths are relative.
    bases: Vec<PathBuf>,
    streams: Vec<libc::c_int>,
    host: Option<String>,
}

/// An input: where its path and its answer begin and end in the text, and the number of its base.
#[derive(Clone, Copy, Debug)]
struct InputSpan {
    base: usize,
    path: usize,
    answer: usize,
    end: usize,
}

impl Inputs {
    /// Reads a record of the state. Returns false if the record is not one of an input, such as that
    /// of a variable, which `state` reads.
    pub(crate) fn read(&mut self, record: [&[u8]; 3]) -> bool {
        let text = |at: usize| String::from_utf8_lossy(record[at]).into_owned();
        match record[0] {
            b"input" => {
                let path = self.text.len();
                self.text.extend_from_slice(record[1]);
                self.text.push(0);
                let answer = self.text.len();
                self.text.extend_from_slice(record[2]);
                let (base, end) = (self.bases.len(), self.text.len());
                self.paths.push(InputSpan {
                    base,
                    path,
                    answer,
                    end,
                });
            }
            b"base" => self.bases.push(OsStr::from_bytes(record[1]).into()),
            b"stream" => self.streams.extend(text(1).parse::<libc::c_int>()),
            b"host" => self.host = Some(text(1)),
            _ => return false,
        }
        true
    }

    /// Checks that no path and not the host has changed; an error names the first change.
    pub(crate) fn verify(&self) -> Result<(), Changed> {
        self.verify_unless(&AtomicBool::new(false))
    }

    /// Like `verify`, but gives up soon after `stopped` is set.
    pub(crate) fn verify_unless(&self, stopped: &AtomicBool) -> Result<(), Changed> {
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
                    (
                        part,
                        thread.spawn_scoped(scope, || self.verify_part(part, stopped)),
                    )
                })
                .collect();
            let mut all = match self.paths.chunks(part).next() {
                Some(part) => self.verify_part(part, stopped),
                None => Ok(()),
            };
            for (part, other) in others {
                all = all.and(match other.map(|thread| thread.join()) {
                    Ok(Ok(verified)) => verified,
                    // The thread could not be started, or panicked.
                    Ok(Err(_)) | Err(_) => self.verify_part(part, stopped),
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

    fn verify_part(&self, part: &[InputSpan], stopped: &AtomicBool) -> Result<(), Changed> {
        let mut now = Answer::default();
        for group in part.chunk_by(|one, next| one.base == next.base) {
            let base = self.base_of(&group[0]);
            let opened = base.map(open_base);
            let from = match &opened {
                None => Some(CWD),
                Some(opened) => opened.as_ref().map(AsFd::as_fd),
            };
            for known in group {
                if stopped.load(Ordering::Relaxed) {
                    return Err(Changed::Unknown);
                }
                let then = &self.text[known.answer..known.end];
                let letter = then.first().map(|&letter| char::from(letter));
                let is_same = letter.and_then(Question::of).is_some_and(|question| {
                    let path = CStr::from_bytes_with_nul(&self.text[known.path..known.answer]);
                    match (from, path) {
                        (Some(from), Ok(path)) => question.write_answer(from, path, &mut now),
                        // The directory does not exist any more, or may not be searched.
                        _ => now = question.answer(&self.path_of(known)),
                    }
                    now.0 == then
                });
                if !is_same {
                    let was_absent = then.ends_with(ABSENT.as_bytes());
                    let path = self.path_of(known);
                    return Err(Changed::Path { path, was_absent });
                }
            }
        }
        Ok(())
    }

    /// The directory to which the path of an input is relative, if it is not absolute.
    fn base_of(&self, known: &InputSpan) -> Option<&Path> {
        let base = self.bases.get(known.base.checked_sub(1)?)?;
        (!base.as_os_str().is_empty()).then_some(base)
    }

    fn path_of(&self, known: &InputSpan) -> PathBuf {
        let path = OsStr::from_bytes(&self.text[known.path..known.answer - 1]);
        match self.base_of(known) {
            Some(base) => base.join(path),
            None => path.into(),
        }
    }

    /// Checks that no stream that the imports checked with `isatty` is a terminal now.
    pub(crate) fn check_streams(&self, terminals: &[libc::c_int]) -> Result<(), Reason> {
        match self.streams.iter().find(|fd| terminals.contains(fd)) {
            Some(fd) => Err(Reason::Terminal(*fd)),
            None => Ok(()),
        }
    }
}

/// Opens a directory with `O_PATH`, as the base of relative lookups. This needs no read permission.
fn open_base(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

/// An input that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Changed {
    /// A path; `was_absent` is true if it did not exist before.
    #[error("{} {}", .path.display(), if *.was_absent { "did not exist before" } else { "has changed" })]
    Path { path: PathBuf, was_absent: bool },
    /// The host name or the kernel.
    #[error("the host name or the kernel has changed")]
    Host,
    /// Unknown, because the verification was stopped early.
    #[error("the verification was stopped")]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(ledger: &Ledger) -> Inputs {
        let bytes = ledger.records();
        let fields: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
        let mut inputs = Inputs::default();
        for record in fields.as_chunks().0 {
            inputs.read(*record);
        }
        inputs
    }

    fn changed(path: &Path, was_absent: bool) -> Result<(), Changed> {
        let path = path.to_owned();
        Err(Changed::Path { path, was_absent })
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
        assert_eq!(listed.verify(), changed(&at, false));
        fs::write(&absent, "").expect("it is written");
        assert_eq!(before.verify(), changed(&absent, true));
        fs::remove_file(&absent).expect("remove the file");
        // A file that appears in a listed directory is detected through the directory.
        let mut both = Ledger::default();
        both.record(at.join("fourth"), Question::File);
        both.record(at.clone(), Question::Listing);
        let both = inputs(&both);
        assert_eq!(both.paths.len(), 1);
        fs::write(at.join("fourth"), "").expect("it is written");
        assert_eq!(both.verify(), changed(&at, false));
        // A replaced file counts as changed, even with the same content.
        fs::write(&absent, "1").expect("it is written");
        fs::rename(&absent, &file).expect("it is moved");
        assert_eq!(before.verify(), changed(&file, false));
        ledger.refresh(&file);
        assert_eq!(inputs(&ledger).verify(), Ok(()));
        fs::remove_dir_all(&at).expect("remove the directory");
    }

    #[test]
    fn inputs_are_looked_up_from_the_directories_that_hold_many() {
        let at = tempfile::tempdir().expect("a directory for the test");
        let (package, absent) = (at.path().join("package"), at.path().join("absent"));
        fs::create_dir_all(package.join("__pycache__")).expect("a directory for the test");
        std::os::unix::fs::symlink(&package, at.path().join("link")).expect("a link");
        let mut ledger = Ledger::default();
        ledger.record(at.path().join("link"), Question::Link);
        for number in 0..MIN_INPUTS_OF_BASE {
            let (source, code) = (
                format!("m{number}.py"),
                format!("__pycache__/m{number}.pyc"),
            );
            for name in [&source, &code] {
                fs::write(package.join(name), "1").expect("it is written");
            }
            ledger.record(package.join(&source), Question::Link);
            ledger.record(at.path().join("link").join(&code), Question::File);
            ledger.record(absent.join(&source), Question::File);
        }
        let inputs = inputs(&ledger);
        let mut bases: Vec<&Path> = inputs.bases.iter().map(PathBuf::as_path).collect();
        bases.retain(|base| !base.as_os_str().is_empty());
        assert_eq!(bases, [&absent, &at.path().join("link"), &package]);
        assert_eq!(inputs.verify(), Ok(()));

        fs::create_dir(&absent).expect("it is created");
        assert_eq!(inputs.verify(), Ok(()));
        fs::write(absent.join("m3.py"), "").expect("it is written");
        assert_eq!(inputs.verify(), changed(&absent.join("m3.py"), true));
        fs::remove_dir_all(&absent).expect("remove the directory");
        assert_eq!(inputs.verify(), Ok(()));
        fs::write(package.join("m5.py"), "22").expect("it is written");
        assert_eq!(inputs.verify(), changed(&package.join("m5.py"), false));
    }

    #[test]
    fn a_base_may_lead_to_another_directory() {
        let at = tempfile::tempdir().expect("a directory for the test");
        let path = |name: &str| at.path().join(name);
        let link = |to: &str| {
            std::os::unix::fs::symlink(path(to), path("new")).expect("a link");
            fs::rename(path("new"), path("link")).expect("the link is replaced");
        };
        for directory in ["one", "two"] {
            fs::create_dir(path(directory)).expect("a directory for the test");
        }
        link("one");
        let mut ledger = Ledger::default();
        for number in 0..MIN_INPUTS_OF_BASE {
            let name = format!("m{number}.py");
            fs::write(path("one").join(&name), "1").expect("it is written");
            fs::hard_link(path("one").join(&name), path("two").join(&name)).expect("a link");
            ledger.record(path("link").join(&name), Question::File);
        }
        let inputs = inputs(&ledger);
        assert_eq!(inputs.verify(), Ok(()));
        link("two");
        assert_eq!(inputs.verify(), Ok(()));
        fs::remove_file(path("two/m2.py")).expect("it is removed");
        assert_eq!(inputs.verify(), changed(&path("link/m2.py"), false));
        fs::remove_file(path("link")).expect("it is removed");
        assert!(matches!(inputs.verify(), Err(Changed::Path { .. })));
    }

    #[test]
    fn a_directory_that_appears_is_noticed_by_a_path_with_a_slash() {
        let at = tempfile::tempdir().expect("a directory for the test");
        let plugins = at.path().join("plugins");
        let mut ledger = Ledger::default();
        let mut with_slash = plugins.clone().into_os_string();
        with_slash.push("/");
        ledger.record(with_slash.clone().into(), Question::File);
        for number in 0..MIN_INPUTS_OF_BASE {
            ledger.record(plugins.join(number.to_string()), Question::File);
        }
        let inputs = inputs(&ledger);
        assert_eq!(inputs.verify(), Ok(()));
        fs::create_dir(&plugins).expect("it is created");
        assert_eq!(inputs.verify(), changed(Path::new(&with_slash), true));
    }

    #[test]
    fn a_path_with_a_slash_is_another_input() {
        let file = tempfile::NamedTempFile::new().expect("a file for the test");
        let mut with_slash = file.path().as_os_str().to_owned();
        with_slash.push("/");
        let mut ledger = Ledger::default();
        ledger.record(with_slash.into(), Question::File);
        ledger.record(file.path().into(), Question::File);
        let inputs = inputs(&ledger);
        assert_eq!(inputs.verify(), Ok(()));
        fs::write(&file, "changed").expect("it is written");
        assert_eq!(inputs.verify(), changed(file.path(), false));
    }

    #[test]
    fn a_stopped_verification_does_not_succeed() {
        let mut ledger = Ledger::default();
        ledger.record("/".into(), Question::File);
        let inputs = inputs(&ledger);
        let stopped = AtomicBool::new(true);
        assert_eq!(inputs.verify_unless(&stopped), Err(Changed::Unknown));
    }

    #[test]
    fn a_path_is_divided_only_between_components() {
        let bases = BTreeSet::from([&b"/a"[..], b"/a/b/c"]);
        let of = |path: &'static [u8]| split_at_base(path, &bases);
        assert_eq!(of(b"/a/b/c/x"), (&b"/a/b/c"[..], &b"x"[..]));
        assert_eq!(
            of(b"/a/b/c/__pycache__/x"),
            (&b"/a/b/c"[..], &b"__pycache__/x"[..])
        );
        assert_eq!(of(b"/a/b/cc/x"), (&b"/a"[..], &b"b/cc/x"[..]));
        assert_eq!(of(b"/a//x"), (&b""[..], &b"/a//x"[..]));
        assert_eq!(of(b"/a/"), (&b""[..], &b"/a/"[..]));
        assert_eq!(of(b"/a/b/c/"), (&b""[..], &b"/a/b/c/"[..]));
        assert_eq!(of(b"/a"), (&b""[..], &b"/a"[..]));
        assert_eq!(of(b"/b/x"), (&b""[..], &b"/b/x"[..]));
        assert_eq!(of(b"/"), (&b""[..], &b"/"[..]));
    }

    #[test]
    fn a_writable_directory_is_compared_with_its_rights() {
        use std::os::unix::fs::PermissionsExt;
        let at = std::env::temp_dir().join(format!("preheat-writable-{}", std::process::id()));
        fs::create_dir_all(&at).expect("a directory for the test");
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).expect("set the mode");
        let mut ledger = Ledger::default();
        ledger.record(at.clone(), Question::Writable);
        let before = inputs(&ledger);
        fs::write(at.join("another"), "").expect("it is written");
        assert_eq!(before.verify(), Ok(()));
        fs::set_permissions(&at, fs::Permissions::from_mode(0o500)).expect("set the mode");
        assert_eq!(before.verify(), changed(&at, false));
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).expect("set the mode");
        fs::remove_dir_all(&at).expect("remove the directory");
        assert_eq!(before.verify(), changed(&at, false));
    }

    #[test]
    fn malformed_records_do_not_panic() {
        let mut inputs = Inputs::default();
        assert!(inputs.read([b"stream", b"many", b""]));
        assert!(inputs.read([b"input", b"/", b"\xff"]));
        assert!(!inputs.read([b"other", b"", b""]));
        assert!(inputs.verify().is_err());
    }
}
