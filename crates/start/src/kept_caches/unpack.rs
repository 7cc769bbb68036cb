//! Unpacks a bundle.
//!
//! The header decides whether the bundle is accepted. All files are first extracted into a
//! temporary directory inside the cache directory, and moved into place only after the
//! whole bundle was verified. Nothing outside the cache directory is written.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use preheat_launch::caches::CompileCache;

use super::header::{BundleError, Checksum, Header, damaged, failed};
use super::portability::{self, Machine, Mentions};
use super::tar::{self, Member};
use super::{CHUNK, Step, Watch, cache_dir, files};

/// The prefix of the name of the temporary directory.
const UNFINISHED: &str = ".unpack-";

/// The results of unpacking.
#[derive(Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// The cache directory.
    pub cache_dir: PathBuf,
    /// The number of files that were added.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The number of files that already existed and were kept.
    pub there: u64,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Unpacks a bundle into `named`, or into the path that it was packed from.
pub fn unpack(
    from: &mut dyn Read,
    named: Option<&Path>,
    here: &Machine,
    watch: &mut Watch<'_>,
) -> Result<Unpacked, BundleError> {
    let header = Header::read(from)?;
    header.machine.serves(here)?;
    let packed_from = header.place()?;
    let cache_dir = named.map_or(packed_from.clone(), Path::to_owned);
    let unfinished = Unfinished::create(&cache_dir)?;
    let free = cache_dir::free_space(&cache_dir);
    if header.bytes > free {
        return Err(BundleError::Failed(format!(
            "{} bytes are needed in {}, but only {free} are free",
            header.bytes,
            cache_dir.display()
        )));
    }
    let mut extraction = Extraction {
        header: &header,
        to: &unfinished.path,
        moved: (cache_dir != packed_from).then_some(packed_from.as_path()),
        lacking: header.machine.lacking(here),
        buffer: vec![0; CHUNK],
        mentions: BTreeMap::new(),
        left_out: BTreeMap::new(),
    };
    let mut members = Vec::new();
    let mut sum = Checksum::new();
    let (mut number, mut bytes) = (0, 0u64);
    while let Some(member) = tar::next_member(from)? {
        number += 1;
        bytes = bytes.saturating_add(member.size);
        if number > header.files || bytes > header.bytes {
            return Err(damaged("it contains more than its header states"));
        }
        let cache = cache_of(&member.path)?;
        sum.add(&member.identity());
        let mut go_on = |path: &Path| {
            let done = usize::try_from(number).unwrap_or(usize::MAX) - 1;
            let total = usize::try_from(header.files).ok();
            watch(&Step { done, total, path })
        };
        if extraction.extract(from, &member, cache, &mut go_on)? {
            members.push((cache, member));
        }
    }
    let is_whole = (number, bytes) == (header.files, header.bytes);
    if !is_whole || sum.digits() != header.files_xxh64 {
        return Err(damaged("its checksum does not match"));
    }
    let notes = extraction.notes(&cache_dir, &members);
    let merged = cache_dir::into(&cache_dir, &unfinished.path, &members)?;
    Ok(Unpacked {
        cache_dir,
        files: merged.files,
        bytes: merged.bytes,
        there: merged.there,
        notes,
    })
}

/// The cache that a path belongs to; paths outside the known caches are refused.
fn cache_of(path: &str) -> Result<&'static CompileCache, BundleError> {
    let bad = |part: &str| matches!(part, "" | "." | "..") || part.contains('\0');
    let mut parts = path.split('/');
    let cache = parts.next().and_then(portability::by_directory);
    match cache {
        Some(cache) if path.contains('/') && !parts.any(bad) => Ok(cache),
        _ => Err(BundleError::Refused(format!(
            "it contains {path:?}, which is not within a cache that this version knows"
        ))),
    }
}

/// The state of extracting a bundle.
struct Extraction<'a> {
    header: &'a Header,
    to: &'a Path,
    /// The directory that it was packed from, if it is unpacked elsewhere.
    moved: Option<&'a Path>,
    /// A required instruction that this machine does not have.
    lacking: Option<&'a str>,
    buffer: Vec<u8>,
    /// By cache, the number of files that mention the directory they were packed from.
    mentions: BTreeMap<&'static str, u64>,
    /// By cache, the number of files that this machine cannot run.
    left_out: BTreeMap<&'static str, u64>,
}

impl Extraction<'_> {
    /// Extracts and verifies one file; returns false if it is left out.
    fn extract(
        &mut self,
        from: &mut dyn Read,
        member: &Member,
        cache: &'static CompileCache,
        go_on: &mut dyn FnMut(&Path) -> bool,
    ) -> Result<bool, BundleError> {
        let is_for_another =
            self.lacking.is_some() && self.header.for_the_processor.contains(&cache.directory());
        let path = self.to.join(&member.path);
        let mut file = match is_for_another {
            true => None,
            false => Some(create(&path)?),
        };
        let mut mentions = self.moved.map(Mentions::of);
        let mut sum = Checksum::new();
        let mut left = member.size;
        while left > 0 {
            if !go_on(Path::new(&member.path)) {
                return Err(BundleError::Interrupted);
            }
            let most = self
                .buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            let bytes = &mut self.buffer[..most];
            tar::fill(from, bytes)?;
            sum.add(bytes);
            if let Some(mentions) = &mut mentions {
                mentions.scan(bytes);
            }
            if let Some(file) = &mut file {
                file.write_all(bytes).map_err(|why| failed(&path, &why))?;
            }
            left -= most as u64;
        }
        tar::pass_padding(from, member.size)?;
        if sum.value() != member.checksum {
            return Err(damaged(&format!(
                "the checksum of {:?} does not match",
                member.path
            )));
        }
        let Some(file) = file else {
            *self.left_out.entry(cache.title).or_default() += 1;
            return Ok(false);
        };
        if mentions.is_some_and(|mentions| mentions.found) {
            *self.mentions.entry(cache.title).or_default() += 1;
        }
        let (seconds, nanoseconds) = member.modified;
        let modified = SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds));
        let modified = modified.ok_or_else(|| damaged("a time is invalid"))?;
        let mode = Permissions::from_mode(member.mode & 0o755 | 0o400);
        let finished = file
            .set_permissions(mode)
            .and_then(|()| file.set_modified(modified));
        finished.map_err(|why| failed(&path, &why))?;
        Ok(true)
    }

    fn notes(&self, cache_dir: &Path, members: &[(&'static CompileCache, Member)]) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(instruction) = self.lacking {
            for (title, count) in &self.left_out {
                notes.push(format!(
                    "left out: {} of {title}, compiled for a processor with {instruction} ({}), which this one does not have",
                    files(*count),
                    self.header.machine.processor
                ));
            }
        }
        let Some(packed_from) = self.moved else {
            return notes;
        };
        let (packed_from, cache_dir) = (packed_from.display(), cache_dir.display());
        for (title, count) in &self.mentions {
            notes.push(format!(
                "the original path {packed_from} is mentioned in {} of {title}: what these refer to is not found in {cache_dir}, and may be compiled again",
                files(*count)
            ));
        }
        if members
            .iter()
            .any(|(cache, _)| portability::has_path_in_keys(cache))
        {
            notes.push(format!(
                "JAX finds compiled code only under its original path, {packed_from}: in {cache_dir} it compiles again"
            ));
        }
        notes
    }
}

/// Creates a new file and its ancestor directories.
fn create(path: &Path) -> Result<File, BundleError> {
    let clashes = |why: io::Error| match why.kind() {
        io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory => damaged("it contains a file twice"),
        _ => failed(path, &why),
    };
    cache_dir::make(path.parent().unwrap_or(path)).map_err(clashes)?;
    let mut how = OpenOptions::new();
    how.write(true).create_new(true).mode(0o600);
    how.open(path).map_err(clashes)
}

/// The temporary directory for extracted files, removed on drop.
struct Unfinished {
    path: PathBuf,
    /// Directories that were created for the cache directory, innermost first. They are
    /// removed too if they are empty.
    made: Vec<PathBuf>,
    /// The lock shows that the directory is in use and not left over.
    _lock: File,
}

impl Unfinished {
    fn create(cache_dir: &Path) -> Result<Unfinished, BundleError> {
        remove_left_behind(cache_dir);
        let above = cache_dir.ancestors().take_while(|above| !above.exists());
        let made = above.map(Path::to_owned).collect();
        let path = cache_dir.join(format!("{UNFINISHED}{}", std::process::id()));
        let opened = cache_dir::make(&path).and_then(|()| File::open(&path));
        let lock = opened.map_err(|why| failed(&path, &why))?;
        match lock.try_lock() {
            // If files cannot be locked, no directory counts as left over.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Unfinished {
                path,
                made,
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(BundleError::Failed(format!(
                "another process is unpacking into {}; try again when it is done",
                cache_dir.display()
            ))),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        for directory in &self.made {
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Removes temporary directories left over by killed processes.
fn remove_left_behind(cache_dir: &Path) {
    let Ok(entries) = fs::read_dir(cache_dir) else {
        return;
    };
    for entry in entries.flatten() {
        let is_ours = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(UNFINISHED.as_bytes());
        if is_ours
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Ok(directory) = File::open(entry.path())
            && directory.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
