//! The scripted driver and programs that use it, and the calls in a recording.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of this")]

use super::support::{Entry, Process, Scratch, compile, read, shim};
use preheat_wire::{Kind, Shape};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub const LIBCUDA: &str = include_str!("libcuda.c");
pub const AS_CUDART: &str = include_str!("as_cudart.c");

/// A directory with the scripted driver in it.
pub struct Fake {
    pub scratch: Scratch,
}

impl Fake {
    /// Builds the driver; `None` without a compiler.
    pub fn new() -> Option<Fake> {
        let scratch = Scratch::new();
        let flags = [
            "-shared",
            "-fPIC",
            "-fvisibility=hidden",
            "-pthread",
            "-Wl,-soname,libcuda.so.1",
        ];
        let built = compile(LIBCUDA, &scratch.join("libcuda.so.1"), &flags);
        built.then_some(Fake { scratch })
    }

    /// Builds another file beside it; `libraries` are files there to link with.
    pub fn build(&self, name: &str, source: &str, flags: &[&str], libraries: &[&str]) -> PathBuf {
        let output = self.scratch.join(name);
        let paths: Vec<String> = libraries
            .iter()
            .map(|library| self.scratch.join(library).to_string_lossy().into_owned())
            .collect();
        let mut all = flags.to_vec();
        all.extend(paths.iter().map(String::as_str));
        assert!(compile(source, &output, &all), "{name} builds");
        output
    }

    /// A command that finds the driver.
    pub fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.scratch.path())
            .env("LD_LIBRARY_PATH", self.scratch.path())
            .env("FAKE_LOG", self.scratch.join("log"))
            .env_remove("LD_PRELOAD")
            .env_remove("PREHEAT_DIRECTORY");
        command
    }

    /// Runs it without and with a recorder. Returns its output, which must be the same, and
    /// the recording.
    pub fn both(&self, program: &Path, arguments: &[&str]) -> (String, Vec<Process>) {
        let plain = self.command(program, arguments).output().unwrap();
        let plain_log = self.log();
        let (recorded, processes) = self.recorded(program, arguments, &[]);
        assert!(plain.status.success(), "{}", said(&plain));
        assert_eq!(said(&recorded), said(&plain));
        assert_eq!(recorded.status.code(), plain.status.code());
        assert_eq!(self.log(), plain_log);
        (said(&plain), processes)
    }

    pub fn recorded(
        &self,
        program: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> (Output, Vec<Process>) {
        let directory = self.scratch.recording();
        for entry in fs::read_dir(&directory).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let done = self
            .command(program, arguments)
            .env("LD_PRELOAD", shim())
            .env("PREHEAT_DIRECTORY", &directory)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        (done, read(&directory))
    }

    /// The driver's log: each function, the number of calls, and a sum over its arguments.
    /// Without the memory queries, which the recorder makes, too.
    pub fn log(&self) -> Vec<String> {
        let log = fs::read_to_string(self.scratch.join("log")).unwrap_or_default();
        let mut lines: Vec<String> = log
            .lines()
            .filter(|line| !line.starts_with("cuMemGetInfo"))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    }
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A symbol of a process.
#[derive(Clone, Debug)]
pub struct Symbol {
    pub number: u16,
    pub name: String,
    pub library: String,
    pub shape: Shape,
}

pub fn symbols(process: &Process) -> Vec<Symbol> {
    let one = |found: &&Entry| {
        let text = found.text(0);
        let (name, library) = text.split_once('\0').unwrap();
        Symbol {
            number: found.record.value as u16,
            name: name.to_owned(),
            library: library.to_owned(),
            shape: Shape::from_number(found.record.status).unwrap(),
        }
    };
    process.of(Kind::Symbol).iter().map(one).collect()
}

/// The calls of a function, ordered by their beginning.
pub fn calls<'a>(process: &'a Process, name: &str) -> Vec<&'a Entry> {
    let numbers: Vec<u16> = symbols(process)
        .iter()
        .filter(|symbol| symbol.name == name)
        .map(|symbol| symbol.number)
        .collect();
    let mut found = process.of(Kind::Call);
    found.retain(|call| numbers.contains(&call.record.symbol));
    found.sort_by_key(|call| call.record.begin);
    found
}

/// One of the slots of a record.
pub fn slot<T: Copy>(found: &Entry, index: usize) -> T {
    let bytes = &found.slots[32 * index..32 * (index + 1)];
    assert_eq!(size_of::<T>(), bytes.len());
    // SAFETY: this many bytes, and the slots of the wire format are plain numbers.
    unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
}
