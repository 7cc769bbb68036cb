//! Observations from recorded starts of a program, as input for remedies.
//!
//! They are stored with the other knowledge about the program, as records of three fields
//! that end with NULs. Unreadable records are ignored.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The observations from a recorded start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observations {
    /// Imported modules with their files (empty if unknown), in the order in which their
    /// imports began.
    pub modules: Vec<(String, String)>,
    /// Files read until the end of the first iteration, in the order of their first use.
    pub files: Vec<PathBuf>,
    /// The byte ranges of those files that were read; a file that is missing here has
    /// unknown ranges. See [`Observations::read_cached_ranges`].
    pub ranges: BTreeMap<PathBuf, Vec<Range<u64>>>,
    /// The GPU on which the main process created its context, as an index into the visible
    /// GPUs. `None` if there was no context, or more than one.
    pub device: Option<u32>,
    /// The program used CUDA.
    pub uses_cuda: bool,
    /// A forked child that did not execute another program used a GPU.
    pub forks_use_device: bool,
    /// The program compiled modules whose bytecode Python does not write.
    pub compiles_bytecode: bool,
    /// Variables of the compile caches that the program would use.
    pub caches: Vec<String>,
    /// A hash of the arguments and variables that may decide which GPU is used. Set when
    /// the observations are stored.
    pub conditions: String,
}

const USES_CUDA: &str = "uses-cuda";
const FORKS: &str = "forks-use-device";
const COMPILES: &str = "compiles-bytecode";

/// Ranges with a smaller gap than this are read as one.
const MERGE_GAP: u64 = 128 << 10;

impl Observations {
    /// Sets the ranges to what is now in the page cache. To be called right after a start
    /// that began with none of the files in the page cache.
    pub fn read_cached_ranges(&mut self) {
        for path in &self.files {
            if let Some(parts) = preheat_launch::cached_parts(path) {
                self.ranges.insert(path.clone(), coarse(parts));
            }
        }
    }

    /// Reads the observations of the program with this name.
    pub(crate) fn read(directory: &Path, name: &str) -> Option<Observations> {
        Some(Observations::parse(&fs::read(file(directory, name)).ok()?))
    }

    /// Stores the observations for later starts.
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

    fn parse(bytes: &[u8]) -> Observations {
        let mut observed = Observations::default();
        let fields: Vec<&[u8]> = bytes.split(|&byte| byte == 0).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        for record in fields.chunks_exact(3) {
            match record[0] {
                b"module" => observed.modules.push((text(record[1]), text(record[2]))),
                b"file" => observed
                    .files
                    .push(OsString::from_vec(record[1].to_vec()).into()),
                b"parts" => {
                    let path = OsString::from_vec(record[1].to_vec()).into();
                    observed.ranges.insert(path, parts(&text(record[2])));
                }
                b"device" => observed.device = text(record[1]).parse().ok(),
                b"is" if record[1] == USES_CUDA.as_bytes() => observed.uses_cuda = true,
                b"is" if record[1] == FORKS.as_bytes() => observed.forks_use_device = true,
                b"is" if record[1] == COMPILES.as_bytes() => observed.compiles_bytecode = true,
                b"conditions" => observed.conditions = text(record[1]),
                b"cache" => observed.caches.push(text(record[1])),
                _ => {}
            }
        }
        observed
    }
}

/// Parses alternating starts and ends; invalid ranges are dropped.
fn parts(text: &str) -> Vec<Range<u64>> {
    let numbers: Vec<u64> = text
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    let pairs = numbers.chunks_exact(2).map(|pair| pair[0]..pair[1]);
    pairs.filter(|part| !part.is_empty()).collect()
}

/// Closes small gaps between ranges.
fn coarse(parts: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut coarse: Vec<Range<u64>> = Vec::new();
    for part in parts {
        match coarse.last_mut() {
            Some(last) if part.start < last.end + MERGE_GAP => last.end = part.end,
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
        let parts = of(&[0..1, 5..6, MERGE_GAP + 5..MERGE_GAP + 9]);
        assert_eq!(parts.first(), Some(&(0..MERGE_GAP + 9)));
        assert_eq!(parts.len(), 1);
        assert_eq!(
            of(&[0..1, MERGE_GAP + 1..MERGE_GAP + 2]),
            [0..1, MERGE_GAP + 1..MERGE_GAP + 2]
        );
    }

    #[test]
    fn observations_survive_a_round_trip() {
        let observed = Observations {
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
        assert_eq!(Observations::parse(&observed.text()), observed);
        assert_eq!(
            Observations::parse(b"file\0/x\0\0dev"),
            Observations {
                files: vec!["/x".into()],
                ..Observations::default()
            }
        );
    }
}
