//! Unpacks a bundle.
//!
//! The header decides whether it is wanted at all. Then everything goes into a directory
//! of its own within the place, and only when the whole bundle was found to be right its
//! files are put where programs look for them. Nothing outside of the place is written
//! to, and within it only below directories whose names mean nothing to anybody else.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use preheat_launch::caches::CompileCache;

use super::checksum::Checksum;
use super::error::{BundleError, damaged, failed};
use super::header::Header;
use super::machine::Machine;
use super::mentions::Mentions;
use super::merge;
use super::tar::{self, Member};
use super::{CHUNK, Step, Watch, files, place, traits};

/// The beginning of the name of what is not unpacked yet.
const UNFINISHED: &str = ".unpack-";

/// What was unpacked.
#[derive(Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Where to.
    pub place: PathBuf,
    /// How many files were put there.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many files were left as they were, since something was there already.
    pub there: u64,
    /// What a person should know about it.
    pub notes: Vec<String>,
}

/// Unpack a bundle: into `named`, else where it was packed from.
pub fn unpack(
    from: &mut dyn Read,
    named: Option<&Path>,
    here: &Machine,
    watch: &mut Watch<'_>,
) -> Result<Unpacked, BundleError> {
    let header = Header::read(from)?;
    header.machine.serves(here)?;
    let packed_from = header.place()?;
    let place = named.map_or(packed_from.clone(), Path::to_owned);
    let unfinished = Unfinished::create(&place)?;
    let room = place::room(&place);
    if header.bytes > room {
        return Err(BundleError::Failed(format!(
            "{} bytes are needed in {}, and {room} are free",
            header.bytes,
            place.display()
        )));
    }
    let mut extraction = Extraction {
        header: &header,
        to: &unfinished.path,
        moved: (place != packed_from).then_some(packed_from.as_path()),
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
            return Err(damaged("there is more in it than its header says"));
        }
        let cache = cache_of(&member.path)?;
        sum.add(&member.identity());
        let mut go_on = |path: &Path| {
            let done = usize::try_from(number).unwrap_or(usize::MAX) - 1;
            let total = usize::try_from(header.files).ok();
            watch(&Step { done, total, path })
        };
        if extraction.take(from, &member, cache, &mut go_on)? {
            members.push((cache, member));
        }
    }
    let is_whole = (number, bytes) == (header.files, header.bytes);
    if !is_whole || sum.digits() != header.files_xxh64 {
        return Err(damaged("it is not what was packed"));
    }
    let notes = extraction.notes(&place, &members);
    let merged = merge::into(&place, &unfinished.path, &members)?;
    Ok(Unpacked {
        place,
        files: merged.files,
        bytes: merged.bytes,
        there: merged.there,
        notes,
    })
}

/// The cache that a path is in; refused if it leads anywhere else.
fn cache_of(path: &str) -> Result<&'static CompileCache, BundleError> {
    let bad = |part: &str| matches!(part, "" | "." | "..") || part.contains('\0');
    let mut parts = path.split('/');
    let cache = parts.next().and_then(traits::by_directory);
    match cache {
        Some(cache) if path.contains('/') && !parts.any(bad) => Ok(cache),
        _ => Err(BundleError::Refused(format!(
            "{path:?} in it is not within a cache that this preheat knows"
        ))),
    }
}

/// Files on their way out of a bundle.
struct Extraction<'a> {
    header: &'a Header,
    to: &'a Path,
    /// Where it was packed from, if it is unpacked elsewhere.
    moved: Option<&'a Path>,
    /// An instruction that this machine does not have.
    lacking: Option<&'a str>,
    buffer: Vec<u8>,
    /// How many files of a cache name the place that they were packed from.
    mentions: BTreeMap<&'static str, u64>,
    /// How many files of a cache this machine could not run.
    left_out: BTreeMap<&'static str, u64>,
}

impl Extraction<'_> {
    /// Take one file out, and check it; whether it is wanted.
    fn take(
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
                mentions.look_at(bytes);
            }
            if let Some(file) = &mut file {
                file.write_all(bytes).map_err(|why| failed(&path, &why))?;
            }
            left -= most as u64;
        }
        tar::pass_padding(from, member.size)?;
        if sum.value() != member.checksum {
            return Err(damaged(&format!(
                "{:?} is not what was packed",
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
        let modified = modified.ok_or_else(|| damaged("a time in it is not right"))?;
        let mode = Permissions::from_mode(member.mode & 0o755 | 0o400);
        let finished = file
            .set_permissions(mode)
            .and_then(|()| file.set_modified(modified));
        finished.map_err(|why| failed(&path, &why))?;
        Ok(true)
    }

    fn notes(&self, place: &Path, members: &[(&'static CompileCache, Member)]) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(instruction) = self.lacking {
            for (title, count) in &self.left_out {
                notes.push(format!(
                    "left out: {} of {title}, for a processor with {instruction} ({}), which this one does not have",
                    files(*count),
                    self.header.machine.processor
                ));
            }
        }
        let Some(packed_from) = self.moved else {
            return notes;
        };
        let (packed_from, place) = (packed_from.display(), place.display());
        for (title, count) in &self.mentions {
            notes.push(format!(
                "{packed_from}, where it was packed, is named in {} of {title}: what is named there is not found in {place}, and may be compiled again",
                files(*count)
            ));
        }
        if members
            .iter()
            .any(|(cache, _)| traits::has_path_in_keys(cache))
        {
            notes.push(format!(
                "JAX finds what it compiled only under the path where it was compiled, {packed_from}: in {place} it compiles again"
            ));
        }
        notes
    }
}

/// A new file, and the directories above it.
fn create(path: &Path) -> Result<File, BundleError> {
    let clashes = |why: io::Error| match why.kind() {
        io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory => damaged("a file is in it twice"),
        _ => failed(path, &why),
    };
    place::make(path.parent().unwrap_or(path)).map_err(clashes)?;
    let mut how = OpenOptions::new();
    how.write(true).create_new(true).mode(0o600);
    how.open(path).map_err(clashes)
}

/// A directory for what is not unpacked yet; gone in the end.
struct Unfinished {
    path: PathBuf,
    /// Directories that were made for the place, the innermost first: they go too, unless
    /// something is in them.
    made: Vec<PathBuf>,
    /// As long as it is locked, nobody takes it for one that was left behind.
    _lock: File,
}

impl Unfinished {
    fn create(place: &Path) -> Result<Unfinished, BundleError> {
        remove_left_behind(place);
        let above = place.ancestors().take_while(|above| !above.exists());
        let made = above.map(Path::to_owned).collect();
        let path = place.join(format!("{UNFINISHED}{}", std::process::id()));
        let opened = place::make(&path).and_then(|()| File::open(&path));
        let lock = opened.map_err(|why| failed(&path, &why))?;
        match lock.try_lock() {
            // Where files cannot be locked, nothing is ever taken for left behind.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Unfinished {
                path,
                made,
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(BundleError::Failed(format!(
                "something is being unpacked into {}; try again when it is done",
                place.display()
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

/// Remove what was left by somebody who was killed.
fn remove_left_behind(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else {
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
