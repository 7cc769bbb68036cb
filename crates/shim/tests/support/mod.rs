//! Test support: the library, tiny programs in C, and a small reader of process files. It
//! is independent of the real reader, so that the two are checked against each other.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of this")]

use preheat_wire::{
    CHUNK_MAGIC, ChunkHeader, ChunkKind, Event, FileHeader, HEADER_BYTES, Kind, MAGIC, Record,
    SLOT_BYTES, Total,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

#[path = "../../../../tests/missing.rs"]
mod missing;
pub use missing::missing;

/// The library for preloading, built once per test binary: cargo builds only what a test
/// links.
pub fn shim() -> &'static Path {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shim");
        let done = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--profile", "shim", "--target-dir"])
            .arg(&target)
            .arg("--manifest-path")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
            .env_remove("RUSTFLAGS")
            .status()
            .expect("cargo runs");
        assert!(done.success(), "the library does not build");
        target.join("shim/libpreheat_shim.so")
    })
}

/// A directory for this test; removed when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("preheat-shim-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Scratch(path.canonicalize().unwrap())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A directory in it for process files.
    pub fn recording(&self) -> PathBuf {
        let path = self.join("recording");
        fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Compiles C; false without a compiler.
pub fn compile(source: &str, output: &Path, flags: &[&str]) -> bool {
    let file = output.with_extension("c");
    fs::write(&file, source).unwrap();
    let compiler = Command::new("gcc")
        .args(["-O1", "-w", "-o"])
        .arg(output)
        .arg(&file)
        .args(flags)
        .output();
    match compiler {
        Err(_) => {
            missing("gcc", "there is no gcc");
            false
        }
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "{said}");
            true
        }
    }
}

/// The command, recorded into `directory`.
pub fn recorded(command: &str, directory: &Path) -> Command {
    let mut command = Command::new(command);
    command
        .env("LD_PRELOAD", shim())
        .env("PREHEAT_DIRECTORY", directory)
        .env("PREHEAT_SHIM", shim())
        .env_remove("PREHEAT_LIMIT")
        .env_remove("PREHEAT_OPTIONS")
        .env_remove("PYTHONPATH");
    command
}

/// A parsed process file.
pub struct Process {
    pub header: FileHeader,
    pub records: Vec<Entry>,
    pub totals: Vec<Total>,
    pub name: String,
    pub threads: usize,
    pub bytes: usize,
}

/// A record and its further slots.
pub struct Entry {
    pub record: Record,
    pub thread: u32,
    pub slots: Vec<u8>,
}

impl Entry {
    pub fn kind(&self) -> Option<Kind> {
        Kind::from_u8(self.record.kind)
    }

    /// The text after this many slots.
    pub fn text(&self, slots: usize) -> String {
        let bytes = &self.slots[slots * SLOT_BYTES..];
        let end = bytes
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    pub fn is_open(&self) -> bool {
        self.record.end == 0
    }
}

impl Process {
    pub fn of(&self, kind: Kind) -> Vec<&Entry> {
        self.records
            .iter()
            .filter(|found| found.kind() == Some(kind))
            .collect()
    }

    pub fn events(&self, event: Event) -> Vec<&Entry> {
        self.of(Kind::Event)
            .into_iter()
            .filter(|found| found.record.symbol == event as u16)
            .collect()
    }

    /// The texts of an event.
    pub fn texts(&self, event: Event) -> Vec<String> {
        self.events(event)
            .iter()
            .map(|found| found.text(0))
            .collect()
    }
}

/// Reads a value in the layout of the file.
fn at<T: Copy>(bytes: &[u8], place: usize) -> T {
    assert!(place + size_of::<T>() <= bytes.len());
    // SAFETY: the bytes are within bounds, and the layouts of the wire format are plain
    // numbers.
    unsafe { bytes.as_ptr().add(place).cast::<T>().read_unaligned() }
}

/// All process files of a directory, by name.
pub fn read(directory: &Path) -> Vec<Process> {
    let mut paths: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "process"))
        .collect();
    paths.sort();
    paths.iter().map(|path| read_one(path)).collect()
}

pub fn read_one(path: &Path) -> Process {
    let bytes = fs::read(path).unwrap();
    let header: FileHeader = at(&bytes, 0);
    assert_eq!(header.magic, MAGIC);
    let mut process = Process {
        header,
        records: Vec::new(),
        totals: Vec::new(),
        name: path.file_name().unwrap().to_string_lossy().into_owned(),
        threads: 0,
        bytes: bytes.len(),
    };
    assert!(header.allocated <= header.limit);
    let mut threads = Vec::new();
    let mut place = HEADER_BYTES;
    while place < header.allocated as usize && place < bytes.len() {
        let chunk: ChunkHeader = at(&bytes, place);
        if chunk.magic != CHUNK_MAGIC {
            // Allocated but never begun: the next one begins at a page.
            place = (place + 1).next_multiple_of(4096);
            continue;
        }
        threads.push(chunk.thread);
        let first = place + size_of::<ChunkHeader>();
        assert!(chunk.bytes as usize >= size_of::<ChunkHeader>());
        if chunk.kind == ChunkKind::Totals as u32 {
            for number in 0..chunk.used as usize {
                let total: Total = at(&bytes, first + number * size_of::<Total>());
                if process.totals.len() <= number {
                    process.totals.resize(number + 1, Total::default());
                }
                process.totals[number].calls += total.calls;
                process.totals[number].nanoseconds += total.nanoseconds;
            }
        } else {
            let mut slot = 0;
            assert!(first + chunk.used as usize * SLOT_BYTES <= place + chunk.bytes as usize);
            while slot < chunk.used as usize {
                let begin = first + slot * SLOT_BYTES;
                let record: Record = at(&bytes, begin);
                let more = begin + SLOT_BYTES..begin + SLOT_BYTES * (1 + usize::from(record.more));
                process.records.push(Entry {
                    record,
                    thread: chunk.thread,
                    slots: bytes[more].to_vec(),
                });
                slot += 1 + usize::from(record.more);
            }
            assert_eq!(slot, chunk.used as usize);
        }
        place += chunk.bytes as usize;
    }
    threads.sort_unstable();
    threads.dedup();
    process.threads = threads.len();
    process
}
