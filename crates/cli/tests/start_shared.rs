//! Objects that a module creates while it is imported, and that starts must not share or notice.

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

/// A name that looks like the random one of a semaphore without a name.
#[test]
fn a_lock_with_a_short_name() {
    let name = format!("/{:06}", std::process::id() % 1_000_000);
    stays_its_own(
        &format!(
            "import _multiprocessing\n\
             lock = _multiprocessing.SemLock(1, 1, 1, '{name}', True)\n"
        ),
        "import json, makes\nprint(makes.lock.acquire(False))\n",
        "True\n",
        "makes, which creates a semaphore that all starts would share",
    );
}

/// The name is that of a semaphore which joblib creates and removes when it is imported.
#[test]
fn a_lock_with_the_name_of_another_library() {
    let Some(warm) = Warm::new() else { return };
    let package = "import os\nfrom _multiprocessing import SemLock\n\
        LOCK = SemLock(0, 1, 1, '/joblib-%d-abcdefgh' % os.getpid(), True)\n";
    fs::write(warm.venv().join("makes.py"), package).expect("it is written");
    let program = "import json, makes\nprint(makes.LOCK.acquire(False))\n";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    for _ in 0..3 {
        let started = warm.started(&["venv/bin/python", "program.py"]).output();
        assert_eq!(started.expect("it starts").stdout, b"True\n");
        warm.settle();
    }
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

/// A start that does not get as far as an import does not notice the module.
#[test]
fn the_end_of_a_module_that_is_not_imported() {
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    let program = "import json, sys\nif sys.argv[1:]: sys.exit('early')\nimport makes\nprint(1)\n";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    let words = ["venv/bin/python", "program.py"];
    for package in [
        "import atexit, functools\natexit.register(functools.partial(print, 'the end'))\n",
        "class Kept:\n    def __del__(self, print=print): print('the end')\nkept = Kept()\n",
        "import weakref\nclass Kept: pass\nkept = Kept()\nweakref.finalize(kept, print, 'the end')\n",
        "def generate(print=print):\n    try: yield\n    finally: print('the end')\n\
         kept = generate()\nnext(kept)\n",
    ] {
        fs::write(packages.join("makes.py"), package).expect("it is written");
        let _ = warm.preheat(&["--stop", "all"]).output();
        warm.warm_up(&words, &as_is);
        assert_eq!(warm.same(&words, &as_is).out, "1\nthe end\n", "{package}");
        let early = warm.same(&[&words[..], &["early"]].concat(), &as_is);
        assert_eq!(early.out, "", "{package}");
        let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
        let why = "makes, which prints when the program exits";
        assert!(listed.contains(why), "{package}: {listed}");
    }
}
