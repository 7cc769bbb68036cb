//! `preheat start` with what a program reads read ahead, from a real disk.
//!
//! One test alone: it changes the directory and the environment of its process, which is
//! where what is known of a program is found by.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use preheat_launch::cached_parts;
use preheat_start::{CommandState, Observations};

mod support;
use support::{preheat, python, require, run, waiting};

/// A directory on a disk, removed at its end.
struct OnDisk(PathBuf);

impl Drop for OnDisk {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl OnDisk {
    fn new() -> OnDisk {
        let name = format!("prefetch-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("a directory for the test");
        OnDisk(path)
    }

    /// Modules of Python's, large ones.
    fn modules(&self) -> Vec<PathBuf> {
        let text = format!("name = __name__\n# {}\n", "x".repeat(1 << 20));
        let paths = (0..20).map(|number| self.0.join(format!("module_{number}.py")));
        let written = paths.inspect(|path| fs::write(path, &text).expect("a module"));
        written.collect()
    }
}

/// Evicts a file from the page cache. Returns false if that is impossible.
fn evict(path: &Path) -> bool {
    let file = File::open(path).expect("it opens");
    file.sync_all().expect("it is on disk");
    // SAFETY: the descriptor is open; no memory is involved.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    there(path) == 0
}

/// The number of its bytes in the page cache.
fn there(path: &Path) -> u64 {
    let parts = cached_parts(path).expect("it can be asked");
    parts.iter().map(|part| part.end - part.start).sum()
}

#[test]
fn files_are_cached_before_the_program_reads_them() {
    let Some(python) = require("python", python()) else {
        return;
    };
    let directory = OnDisk::new();
    let modules = directory.modules();
    // The file system may be memory, or keep its files there.
    let on_disk = modules.iter().all(|path| evict(path));
    if require("a file system on a disk", on_disk.then_some(())).is_none() {
        return;
    }
    for name in ["run", "cache"] {
        let path = directory.0.join(name);
        fs::create_dir(&path).expect("a directory");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("it is private");
    }
    std::env::set_current_dir(&directory.0).expect("it exists");
    // SAFETY: this is the only test in this process, and no other thread reads the environment.
    unsafe {
        std::env::set_var("XDG_RUNTIME_DIR", directory.0.join("run"));
        std::env::set_var("XDG_CACHE_HOME", directory.0.join("cache"));
        std::env::set_var("PYTHONDONTWRITEBYTECODE", "1");
    }
    let imports = "import sys; sys.stdin.read(); import module_0, module_19; print(module_19.name)";
    let command = [python.into(), "-c".into(), OsString::from(imports)];
    let start = || {
        let mut start = preheat();
        start.args(["start", "-v", "--only", "prefetch", "--"]);
        start.args(&command).stdin(Stdio::piped());
        start
    };

    let known = CommandState::of(&command).expect("it exists");
    let mut seen = Observations {
        files: modules.clone(),
        ..Observations::default()
    };
    seen.files.push("/nowhere".into());
    // As if one of them had been read in part, and another not at all.
    let part = 0..4096;
    seen.ranges.insert(modules[1].clone(), Vec::from([part]));
    seen.ranges.insert(modules[2].clone(), Vec::new());
    known.observe(&seen).expect("it is kept");

    let mut program = start()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // It waits for its input, and reads nothing.
    let whole = |path: &Path| there(path) == fs::metadata(path).expect("it exists").len();
    waiting::until("the modules are read", &[], || {
        modules.iter().skip(3).all(|path| whole(path))
    });
    assert!(whole(&modules[0]) && there(&modules[1]) > 0);
    assert!(there(&modules[1]) < 1 << 20);
    assert_eq!(there(&modules[2]), 0);
    drop(program.stdin.take());
    // Its streams close with it: no other process has them.
    let done = program.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "module_19\n");
    assert_eq!(
        String::from_utf8_lossy(&done.stderr),
        "preheat: started with prefetch\n"
    );

    let said = run(start().stdin(Stdio::null()));
    assert!(
        said.err
            .contains("no prefetch: the files that it reads are already in memory"),
        "{}",
        said.err
    );

    // Cached pages show what a start has read.
    let mut looked = Observations {
        files: modules.clone(),
        ..Observations::default()
    };
    looked.read_cached_ranges();
    let length = fs::metadata(&modules[0]).expect("it exists").len();
    assert_eq!(looked.ranges[&modules[0]].first(), Some(&(0..length)));
    assert!(looked.ranges[&modules[2]].is_empty());
}
