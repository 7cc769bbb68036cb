//! What recorded starts of a program have shown, as far as remedies want to know it.
//!
//! It is kept beside what else is known of the program: a few records, each ended by NULs.
//! What cannot be read is as if it were not there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Modules that were imported, with their files as far as those are known, in the order
    /// in which their imports began.
    pub modules: Vec<(String, String)>,
    /// Files that were read until the first iteration ended, in the order of their first use.
    pub files: Vec<PathBuf>,
    /// The parts of them that were read, as bytes from and to; of one that is not among
    /// these nobody knows. See [`Seen::look_at_pages`].
    pub ranges: BTreeMap<PathBuf, Vec<Range<u64>>>,
    /// The GPU whose context the program's own process made: its number among those that
    /// it can see. `None` where there was none, or more than one.
    pub device: Option<u32>,
    /// Whether it used CUDA at all.
    pub uses_cuda: bool,
    /// Whether a child that was forked, and not one that became another program, used a GPU.
    pub forks_use_device: bool,
    /// Whether it compiled modules from source whose bytecode Python does not write.
    pub compiles_bytecode: bool,
    /// Variables of caches for compiled code that it would read or write.
    pub caches: Vec<String>,
    /// A name for the arguments and variables that it was seen with, as far as they may
    /// decide which GPU it uses. Set when it is kept.
    pub conditions: String,
}

const USES_CUDA: &str = "uses-cuda";
const FORKS: &str = "forks-use-device";
const COMPILES: &str = "compiles-bytecode";

/// Parts that are less than this apart are read as one.
const APART: u64 = 128 << 10;

impl Seen {
    /// Take what is in the page cache now of the files for what was read of them: right
    /// after a start that found none of them there.
    pub fn look_at_pages(&mut self) {
        for path in &self.files {
            if let Some(parts) = preheat_launch::cached_parts(path) {
                self.ranges.insert(path.clone(), coarse(parts));
            }
        }
    }

    /// What was kept of a program with this name.
    pub(crate) fn read(directory: &Path, name: &str) -> Option<Seen> {
        Some(Seen::parse(&fs::read(file(directory, name)).ok()?))
    }

    /// Keep it for later starts.
    pub(crate) fn write(&self, directory: &Path, name: &str) -> io::Result<()> {
        preheat_host::files::put(&file(directory, name), &self.text())
    }

    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut put = |fields: [&[u8]; 3]| {
            for field in fields {
                text.extend_from_slice(field);
                text.push(0);
            }
        };
        for (name, file) in &self.modules {
            put([b"module", name.as_bytes(), file.as_bytes()]);
        }
        for path in &self.files {
            put([b"file", path.as_os_str().as_bytes(), b""]);
        }
        for (path, parts) in &self.ranges {
            let parts = parts.iter();
            let text: Vec<_> = parts
                .map(|part| format!("{} {}", part.start, part.end))
                .collect();
            put([
                b"parts",
                path.as_os_str().as_bytes(),
                text.join(" ").as_bytes(),
            ]);
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

    fn flags(&self) -> [(bool, &str); 3] {
        [
            (self.uses_cuda, USES_CUDA),
            (self.forks_use_device, FORKS),
            (self.compiles_bytecode, COMPILES),
        ]
    }

    fn parse(bytes: &[u8]) -> Seen {
        let mut seen = Seen::default();
        let fields: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for record in fields.chunks_exact(3) {
            match record[0] {
                b"module" => seen.modules.push((text(record[1]), text(record[2]))),
                b"file" => seen
                    .files
                    .push(OsString::from_vec(record[1].to_vec()).into()),
                b"parts" => {
                    let path = OsString::from_vec(record[1].to_vec()).into();
                    seen.ranges.insert(path, parts(&text(record[2])));
                }
                b"device" => seen.device = text(record[1]).parse().ok(),
                b"is" if record[1] == USES_CUDA.as_bytes() => seen.uses_cuda = true,
                b"is" if record[1] == FORKS.as_bytes() => seen.forks_use_device = true,
                b"is" if record[1] == COMPILES.as_bytes() => seen.compiles_bytecode = true,
                b"conditions" => seen.conditions = text(record[1]),
                b"cache" => seen.caches.push(text(record[1])),
                _ => {}
            }
        }
        seen
    }
}

/// Numbers, from and to in turn. What makes no sense is left out.
fn parts(text: &str) -> Vec<Range<u64>> {
    let numbers: Vec<u64> = text
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    let pairs = numbers.chunks_exact(2).map(|pair| pair[0]..pair[1]);
    pairs.filter(|part| !part.is_empty()).collect()
}

/// The same with small gaps closed.
fn coarse(parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut coarse: Vec<Range<u64>> = Vec::new();
    for part in parts {
        match coarse.last_mut() {
            Some(last) if part.start < last.end + APART => last.end = part.end,
            _ => coarse.push(part),
        }
    }
    coarse
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.seen"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_gaps_are_closed() {
        let of = |parts: &[Range<u64>]| coarse(parts.to_vec());
        let parts = of(&[0..1, 5..6, APART + 5..APART + 9]);
        assert_eq!(parts.first(), Some(&(0..APART + 9)));
        assert_eq!(parts.len(), 1);
        assert_eq!(
            of(&[0..1, APART + 1..APART + 2]),
            [0..1, APART + 1..APART + 2]
        );
    }

    #[test]
    fn what_was_seen_is_read_as_it_was_written() {
        let seen = Seen {
            modules: vec![("numpy".into(), "/a b/numpy.py".into())],
            files: vec!["/a\nb".into(), "/c".into()],
            ranges: BTreeMap::from([
                ("/a\nb".into(), vec![0..4096, 1 << 20..2 << 20]),
                ("/c".into(), Vec::new()),
            ]),
            device: Some(3),
            uses_cuda: true,
            forks_use_device: true,
            compiles_bytecode: true,
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
