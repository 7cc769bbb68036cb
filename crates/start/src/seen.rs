//! What recorded starts of a program have shown, as far as remedies want to know it.
//!
//! It is kept beside what else is known of the program: a few records, each ended by NULs.
//! What cannot be read is as if it were not there.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::place;

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Files that were read until the first iteration ended, in the order of their first use.
    pub files: Vec<PathBuf>,
    /// The GPU whose context the program's own process made: its number among those that
    /// it can see. `None` where there was none, or more than one.
    pub device: Option<u32>,
    /// Whether it used CUDA at all.
    pub uses_cuda: bool,
    /// Whether a child that was forked, and not one that became another program, used a GPU.
    pub forks_use_device: bool,
    /// Variables of caches for compiled code that it would read or write.
    pub caches: Vec<String>,
    /// A name for the arguments and variables that it was seen with, as far as they may
    /// decide which GPU it uses. Set when it is kept.
    pub conditions: String,
}

const USES_CUDA: &str = "uses-cuda";
const FORKS: &str = "forks-use-device";

impl Seen {
    /// What was kept of a program with this name.
    pub(crate) fn read(directory: &Path, name: &str) -> Option<Seen> {
        Some(Seen::parse(&fs::read(file(directory, name)).ok()?))
    }

    /// Keep it for later starts.
    pub(crate) fn write(&self, directory: &Path, name: &str) -> io::Result<()> {
        place::put(&file(directory, name), &self.text())
    }

    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut put = |fields: [&[u8]; 3]| {
            for field in fields {
                text.extend_from_slice(field);
                text.push(0);
            }
        };
        for path in &self.files {
            put([b"file", path.as_os_str().as_bytes(), b""]);
        }
        if let Some(device) = self.device {
            put([b"device", device.to_string().as_bytes(), b""]);
        }
        for (is, word) in self.flags() {
            if is {
                put([b"is", word.as_bytes(), b""]);
            }
        }
        put([b"conditions", self.conditions.as_bytes(), b""]);
        for name in &self.caches {
            put([b"cache", name.as_bytes(), b""]);
        }
        text
    }

    fn flags(&self) -> [(bool, &str); 2] {
        [(self.uses_cuda, USES_CUDA), (self.forks_use_device, FORKS)]
    }

    fn parse(bytes: &[u8]) -> Seen {
        let mut seen = Seen::default();
        let fields: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for record in fields.chunks_exact(3) {
            match record[0] {
                b"file" => seen
                    .files
                    .push(OsString::from_vec(record[1].to_vec()).into()),
                b"device" => seen.device = text(record[1]).parse().ok(),
                b"is" if record[1] == USES_CUDA.as_bytes() => seen.uses_cuda = true,
                b"is" if record[1] == FORKS.as_bytes() => seen.forks_use_device = true,
                b"conditions" => seen.conditions = text(record[1]),
                b"cache" => seen.caches.push(text(record[1])),
                _ => {}
            }
        }
        seen
    }
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.seen"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_read_as_it_was_written() {
        let seen = Seen {
            files: vec!["/a\nb".into(), "/c".into()],
            device: Some(3),
            uses_cuda: true,
            forks_use_device: true,
            caches: vec!["TRITON_CACHE_DIR".into()],
            conditions: "0f".into(),
        };
        assert_eq!(Seen::parse(&seen.text()), seen);
        assert_eq!(
            Seen::parse(b"file\0/x\0\0dev"),
            Seen {
                files: vec!["/x".into()],
                ..Seen::default()
            }
        );
    }
}
