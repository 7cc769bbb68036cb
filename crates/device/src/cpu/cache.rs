//! An on-disk cache of machine code.
//!
//! We *execute* the content of a cache file, so a file is used only if nobody but this user
//! (or root) can have written it: it must be a regular file, not a symlink, owned by us,
//! and not writable by others. Files are created with mode 0600, and missing directories
//! with mode 0700.
//!
//! A file contains its complete key, so that hash collisions are detected, and its length
//! and a checksum, so that truncation and damage are detected. The checksum does not
//! protect against attackers; ownership does. Files are replaced by an atomic rename, so
//! that concurrent readers see either the old file or the new one.
//!
//! Any problem with a file is a cache miss: the kernels are recompiled and the file is
//! replaced. A cache that cannot be written stays empty.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use cranelift_codegen::isa::TargetIsa;
use preheat_host::files::{Readers, replace};
use twox_hash::XxHash64;

use super::object::Object;

/// Bump whenever the file layout or the meaning of the code changes (for instance the
/// calling convention of kernels).
const FORMAT: &str = "preheat cpu code 1\n";

/// One entry of a cache directory.
pub(crate) struct Entry {
    path: PathBuf,
    key: String,
}

impl Entry {
    /// The entry in `directory` for `source`, compiled for `isa`.
    pub fn new(directory: &Path, source: &str, isa: &dyn TargetIsa) -> Entry {
        // Everything that the machine code depends on.
        let features: Vec<String> = isa.isa_flags().iter().map(|f| f.to_string()).collect();
        let key = format!(
            "Cranelift {}, preheat {}\n{}\n{}\n{}\n{source}",
            cranelift_codegen::VERSION,
            // Changes to our compiler are covered by our version.
            env!("CARGO_PKG_VERSION"),
            isa.triple(),
            features.join(" "),
            isa.flags(),
        );
        let path = directory.join(format!("kernels-{:016x}.code", checksum(key.as_bytes())));
        Entry { path, key }
    }

    /// Reads the cached object, if there is one that can be trusted.
    pub fn read(&self) -> Option<Object> {
        let mut file = OpenOptions::new()
            .read(true)
            // A symlink could point to one of our files chosen by another user; opening a
            // pipe would block.
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(&self.path)
            .ok()?;
        if !is_ours(&file) {
            return None;
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let rest = bytes.strip_prefix(FORMAT.as_bytes())?;
        let (length, rest) = rest.split_first_chunk()?;
        let (sum, payload) = rest.split_first_chunk()?;
        if u64::from_le_bytes(*length) != payload.len() as u64
            || u64::from_le_bytes(*sum) != checksum(payload)
        {
            return None;
        }
        let object = payload
            .strip_prefix(self.key.as_bytes())?
            .strip_prefix(b"\0")?;
        Object::decode(object)
    }

    /// Stores `object` in the cache.
    pub fn write(&self, object: &Object) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        replace(&self.path, &self.encode(object), Readers::User)
    }

    fn encode(&self, object: &Object) -> Vec<u8> {
        let payload = [self.key.as_bytes(), b"\0", &object.encode()].concat();
        [
            FORMAT.as_bytes(),
            &(payload.len() as u64).to_le_bytes(),
            &checksum(&payload).to_le_bytes(),
            &payload,
        ]
        .concat()
    }
}

/// Returns true if the open file is a regular file that only this user can have written.
/// Checks the open file instead of its path, so that it cannot be swapped in between.
fn is_ours(file: &File) -> bool {
    let user = preheat_host::user();
    let writable_by_others = 0o022;
    file.metadata().is_ok_and(|metadata| {
        metadata.is_file() && metadata.uid() == user && metadata.mode() & writable_by_others == 0
    })
}

/// Detects damage.
fn checksum(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::cpu::processor::target;
    use crate::cpu::tests::scratch;

    fn entry(directory: &Path, source: &str) -> Entry {
        Entry::new(
            directory,
            source,
            &*target().expect("this machine is supported"),
        )
    }

    fn object() -> Object {
        Object {
            symbols: vec![],
            code: vec![1, 2, 3, 4],
        }
    }

    #[test]
    fn entries_are_read_back_under_their_key_only() {
        let scratch = scratch();
        let directory = scratch.path().join("made/by/us");
        let kept = entry(&directory, "source");
        assert_eq!(kept.read(), None);
        kept.write(&object()).expect("it can be written");
        kept.write(&object()).expect("it can be replaced");
        assert_eq!(kept.read(), Some(object()));
        assert_eq!(entry(&directory, "other source").read(), None);

        let mode = |path: &Path| fs::metadata(path).map(|m| m.permissions().mode() & 0o777);
        assert_eq!(mode(&kept.path).ok(), Some(0o600));
        assert_eq!(mode(&directory).ok(), Some(0o700));
        let left = fs::read_dir(&directory).map(Iterator::count).ok();
        assert_eq!(left, Some(1), "no temporary file is left");
    }

    #[test]
    fn a_hash_collision_is_a_miss() {
        let scratch = scratch();
        let kept = entry(scratch.path(), "source");
        kept.write(&object()).expect("it can be written");
        let colliding = Entry {
            path: kept.path.clone(),
            key: entry(scratch.path(), "other").key,
        };
        assert_eq!(colliding.read(), None);
    }

    #[test]
    fn any_damage_is_a_miss() {
        let scratch = scratch();
        let kept = entry(scratch.path(), "source");
        let whole = kept.encode(&object());
        kept.write(&object()).expect("it can be written");
        for index in (0..whole.len()).step_by(13).chain([whole.len() - 1]) {
            let mut damaged = whole.clone();
            damaged[index] ^= 0x10;
            fs::write(&kept.path, &damaged).expect("it can be damaged");
            assert_eq!(kept.read(), None, "byte {index} was changed");
        }
        for length in [0, 1, FORMAT.len() + 8, whole.len() - 1] {
            fs::write(&kept.path, &whole[..length]).expect("it can be truncated");
            assert_eq!(kept.read(), None, "{length} bytes are left");
        }
        fs::write(&kept.path, &whole).expect("it can be repaired");
        assert_eq!(kept.read(), Some(object()));
    }

    #[test]
    fn a_file_that_others_could_have_written_is_a_miss() {
        let scratch = scratch();
        let kept = entry(scratch.path(), "source");
        kept.write(&object()).expect("it can be written");
        let open_to_all = fs::Permissions::from_mode(0o666);
        fs::set_permissions(&kept.path, open_to_all).expect("it is ours");
        assert_eq!(kept.read(), None);

        let elsewhere = scratch.path().join("elsewhere");
        kept.write(&object()).expect("it can be replaced");
        fs::rename(&kept.path, &elsewhere).expect("it can be moved");
        symlink(&elsewhere, &kept.path).expect("a link can be made");
        assert_eq!(kept.read(), None);
    }

    #[test]
    fn an_unwritable_cache_is_an_error() {
        let scratch = scratch();
        let file = scratch.path().join("file");
        fs::write(&file, "not a directory").expect("it can be written");
        assert!(entry(&file, "source").write(&object()).is_err());
    }
}
