//! Packs a cache directory into one file.
//!
//! The bundle is written to a temporary file next to the target and renamed at the end, so
//! that readers see either the old bundle or the complete new one. Files that change while
//! they are read are left out and counted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::cache_dir::{self, CacheFile};
use super::header::{BundleError, Checksum, Header, failed};
use super::portability::{self, Machine};
use super::tar::{BLOCK, Member, padding};
use super::{CHUNK, Step, Watch, files};

/// The results of packing.
#[derive(Debug, PartialEq, Eq)]
pub struct Packed {
    /// The number of files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The size of the bundle in bytes.
    pub size: u64,
    /// The titles of the caches.
    pub titles: Vec<&'static str>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Packs the cache directory `cache_dir` into the file `to`. `created` is the current time in a
/// human-readable form.
pub fn pack(
    cache_dir: &Path,
    to: &Path,
    created: &str,
    machine: &Machine,
    watch: &mut Watch<'_>,
) -> Result<Packed, BundleError> {
    let (found, strange) = cache_dir::list(cache_dir).map_err(|why| failed(cache_dir, &why))?;
    if found.is_empty() {
        return Err(BundleError::Refused(format!(
            "there is no compiled code in {}; `preheat start --caches {0} -- COMMAND` makes a program keep its code there",
            cache_dir.display()
        )));
    }
    let named = cache_dir.to_str().ok_or_else(|| {
        BundleError::Refused(format!("the path {} is not UTF-8", cache_dir.display()))
    })?;
    if fs::metadata(to).is_ok_and(|found| !found.is_file()) {
        return Err(BundleError::Refused(format!(
            "{} already exists and is not a file; choose another name",
            to.display()
        )));
    }
    let mut written = Written::create(to)?;
    let mut header = Header::new(created, named, machine);
    for cache in portability::kept() {
        let is_for = |found: &&CacheFile| {
            found.cache == cache
                && portability::is_for_the_processor(cache, &found.path.to_string_lossy())
        };
        if found.iter().any(|found| is_for(&found)) {
            header.for_the_processor.push(cache.directory());
        }
    }
    let length = header.text(None)?.len();
    written.at = (BLOCK + length) as u64;
    let mut all = Vec::new();
    let mut changed = 0u64;
    let mut buffer = vec![0; CHUNK];
    for (done, one) in found.iter().enumerate() {
        let mut go_on = || {
            watch(&Step {
                done,
                total: Some(found.len()),
                path: &one.path,
            })
        };
        match written.add(cache_dir, one, &mut buffer, &mut go_on)? {
            Some(member) => all.push(member),
            None => changed += 1,
        }
    }
    header.files = all.len() as u64;
    header.bytes = all.iter().map(|member| member.size).sum();
    let mut sum = Checksum::new();
    all.iter().for_each(|member| sum.add(&member.identity()));
    header.files_xxh64 = sum.digits();
    let front = Header::front(&header.text(Some(length))?);
    let size = written.finish(&front, to)?;
    let mut titles: Vec<_> = found.iter().map(|found| found.cache.title).collect();
    titles.dedup();
    Ok(Packed {
        files: header.files,
        bytes: header.bytes,
        size,
        titles,
        notes: notes(changed, strange),
    })
}

fn notes(changed: u64, strange: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if changed > 0 {
        notes.push(format!(
            "left out: {} that changed while being read, or whose names are not UTF-8",
            files(changed)
        ));
    }
    if strange > 0 {
        notes.push(format!(
            "left out: {strange} that are not regular files, such as links"
        ));
    }
    notes
}

/// A bundle that is being written; removed on drop unless it is finished.
struct Written {
    file: File,
    path: PathBuf,
    /// The offset of the next bytes.
    at: u64,
}

impl Written {
    fn create(to: &Path) -> Result<Written, BundleError> {
        let Some(name) = to.file_name() else {
            return Err(BundleError::Refused(format!(
                "{} is not a file name",
                to.display()
            )));
        };
        let mut name = name.to_owned();
        name.push(format!(".new-{}", std::process::id()));
        let path = to.with_file_name(name);
        let _ = fs::remove_file(&path);
        // Private, since compiled code may reveal what a program does.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|why| failed(to, &why))?;
        Ok(Written { file, path, at: 0 })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), BundleError> {
        let put = self.file.write_all_at(bytes, self.at);
        put.map_err(|why| failed(&self.path, &why))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Adds a file; returns `None`, and leaves it out, if it changed meanwhile.
    fn add(
        &mut self,
        cache_dir: &Path,
        found: &CacheFile,
        buffer: &mut [u8],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Member>, BundleError> {
        let begin = self.at;
        let source = cache_dir.join(&found.path);
        let Some((path, (mut from, is))) = found.path.to_str().zip(open(&source)) else {
            return Ok(None);
        };
        let mut member = Member {
            path: path.to_owned(),
            mode: is.mode() & 0o755 | 0o400,
            modified: (
                u64::try_from(is.mtime()).unwrap_or(0),
                u32::try_from(is.mtime_nsec()).unwrap_or(0),
            ),
            size: is.size(),
            checksum: 0,
        };
        self.put(&member.front())?;
        let mut sum = Checksum::new();
        let mut left = member.size;
        while left > 0 {
            if !go_on() {
                return Err(BundleError::Interrupted);
            }
            let most = buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = match from.read(&mut buffer[..most]) {
                Ok(0) => break,
                Ok(read) => read,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
                Err(why) => return Err(failed(&source, &why)),
            };
            sum.add(&buffer[..read]);
            self.put(&buffer[..read])?;
            left -= read as u64;
        }
        let same = |now: fs::Metadata| {
            (now.size(), now.mtime(), now.mtime_nsec()) == (is.size(), is.mtime(), is.mtime_nsec())
        };
        if left > 0 || !from.metadata().is_ok_and(same) {
            self.at = begin;
            return Ok(None);
        }
        self.put(&[0; BLOCK][..padding(member.size)])?;
        member.checksum = sum.value();
        // Write the header again, now with the checksum.
        let end = std::mem::replace(&mut self.at, begin);
        self.put(&member.front())?;
        self.at = end;
        Ok(Some(member))
    }

    /// Writes the header and the end, and renames the file; returns its size.
    fn finish(mut self, front: &[u8], to: &Path) -> Result<u64, BundleError> {
        self.put(&[0; 2 * BLOCK])?;
        let size = std::mem::replace(&mut self.at, 0);
        self.put(front)?;
        let kept = self.file.set_len(size).and_then(|()| self.file.sync_all());
        let kept = kept.and_then(|()| fs::rename(&self.path, to));
        kept.map_err(|why| failed(to, &why))?;
        Ok(size)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        // A finished bundle has another name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Opens a file of a cache; `None` if it no longer is a regular file.
fn open(path: &Path) -> Option<(File, fs::Metadata)> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
    Some((file, metadata))
}
