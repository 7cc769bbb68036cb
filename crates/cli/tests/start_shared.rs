//! Things that a module makes when it is imported, and that starts must not share.

use std::fs;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::run;
use warm::{Warm, as_is};

/// Starts must each print the same as a plain one, although none puts back what it took.
fn stays_its_own(package: &str, program: &str, expected: &str, why: &str) {
    let Some(warm) = Warm::new() else { return };
    fs::write(warm.venv().join("makes.py"), package).expect("it is written");
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    let words = ["venv/bin/python", "program.py"];
    warm.warm_up(&words, &as_is);
    for _ in 0..3 {
        assert_eq!(warm.same(&words, &as_is).out, expected);
    }
    let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
    assert!(listed.contains(why), "{listed}");
}

#[test]
fn a_lock_between_processes() {
    stays_its_own(
        "import multiprocessing\nlock = multiprocessing.Lock()\n",
        "import json, makes\nprint(makes.lock.acquire(False))\n",
        "True\n",
        "makes, which creates a semaphore that all starts would share",
    );
}

#[test]
fn memory_between_processes() {
    stays_its_own(
        "import mmap\nmemory = mmap.mmap(-1, 4096)\n",
        "import json, makes\nprint(makes.memory[0])\nmakes.memory[0] = 1\n",
        "0\n",
        "makes, which creates memory that all starts would share",
    );
}
