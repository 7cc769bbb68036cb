//! Host memory by use, on real programs that allocate known amounts.

use preheat_model::run::{HostBytes, HostPart, HostUse, RunReport};

mod support;
use support::{Directory, python_with, require};

const MIB: u64 = 1 << 20;

/// A program with a mapped file of 24 MiB, data of 96 MiB and a forked child that shares
/// the data and allocates 32 MiB more. Its iterations take long enough to be sampled.
const PROGRAM: &str = "\
import mmap, os, sys, zlib

def load():
    file = open(sys.argv[1], 'rb')
    return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)

def build(size):
    return [os.urandom(4 << 20)[:1 << 20] for _ in range(size)]

def step(data):
    return zlib.crc32(data)

weights = load()
data = build(96)
read, write = os.pipe()
ready, go = os.pipe()
child = os.fork()
if child == 0:
    own = build(32)
    os.write(go, b'x')
    os.read(read, 1)
    os._exit(0)
os.read(ready, 1)
for _ in range(40):
    step(weights)
    for part in data:
        step(part)
    print('step', flush=True)
os.write(write, b'x')
os.waitpid(child, 0)
";

fn recorded(directory: &Directory) -> Option<RunReport> {
    let python = require("python", python_with("zlib"))?;
    let weights = directory.join("weights.bin");
    let bytes: Vec<u8> = (0..24 * MIB).map(|at| ((at * at) >> 7) as u8).collect();
    std::fs::write(&weights, bytes).expect("a file");
    let script = directory.script("memory.py", PROGRAM);
    let flags = ["--starts", "1", "--iterations", "lines:^step"];
    let command = [python.as_os_str(), script.as_os_str(), weights.as_os_str()];
    Some(support::recorded(directory, &flags, command, &[]))
}

fn part(host: &HostBytes, usage: HostUse) -> &HostPart {
    let found = host.parts.iter().find(|part| part.usage == usage);
    found.unwrap_or_else(|| panic!("{usage:?} is missing: {:#?}", host.parts))
}

#[test]
fn every_megabyte_is_explained() {
    let directory = Directory::new();
    let Some(report) = recorded(&directory) else {
        return;
    };
    let host = report.memory.host.as_ref().expect("it was sampled");
    let first = &host.first;
    let sum: u64 = first.parts.iter().map(|part| part.bytes).sum();
    assert_eq!(sum, first.total);
    let sum: u64 = first.processes.iter().map(|process| process.bytes).sum();
    assert_eq!(sum, first.total);
    assert!(first.time > 0.0 && first.time <= report.time_to_first.value * 1.001);

    // Two processes, and the pages that they share are counted once.
    assert_eq!(first.processes.len(), 2, "{:#?}", first.processes);
    let wanted = (96 + 32 + 24) * MIB;
    assert!(
        (wanted..wanted + 60 * MIB).contains(&first.total),
        "{first:#?}"
    );

    let files = part(first, HostUse::Files);
    assert_eq!(files.items[0].name, "weights.bin");
    assert!(
        (20 * MIB..26 * MIB).contains(&files.items[0].bytes),
        "{files:#?}"
    );
    let program = part(first, HostUse::Program);
    assert!(
        (110 * MIB..145 * MIB).contains(&program.bytes),
        "{program:#?}"
    );
    let lines = program.items.iter();
    // Memory is attributed to the line that was sampled, which may be one after the growth.
    let built = lines.filter(|item| item.name.starts_with("memory.py:"));
    assert!(
        built.map(|item| item.bytes).sum::<u64>() > 20 * MIB,
        "{program:#?}"
    );
    let libraries = part(first, HostUse::Libraries);
    assert!(libraries.bytes < 40 * MIB, "{libraries:#?}");
    let unexplained = first
        .parts
        .iter()
        .find(|part| part.usage == HostUse::Unexplained);
    assert!(
        unexplained.is_none_or(|part| part.bytes < 2 * MIB),
        "{unexplained:#?}"
    );
}

#[test]
fn memory_between_samples_counts() {
    let directory = Directory::new();
    let Some(python) = require("python", python_with("json")) else {
        return;
    };
    // It exits when its memory is largest.
    let program = "b = bytearray(b'x') * (48 << 20)";
    let words = ["-S", "-c", program].map(std::ffi::OsStr::new);
    let command = [python.as_os_str()].into_iter().chain(words);
    let report = support::recorded(&directory, &["--starts", "3"], command, &[]);
    for start in &report.starts {
        assert!(start.peak_resident > 48 * MIB, "{}", start.peak_resident);
    }
    let memory = &report.memory;
    assert!(memory.resident_peak > 48 * MIB, "{memory:#?}");
    if let Some(host) = &memory.host {
        assert!(host.first.total > 48 * MIB, "{host:#?}");
        let sum: u64 = host.first.parts.iter().map(|part| part.bytes).sum();
        assert_eq!(sum, host.first.total);
    }
}
