//! Programs whose first lines run in the warm parent: what they do before their imports holds
//! for these, and whatever must not happen ahead happens in each start.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::{python_with, pythons_with_torch, run};
use warm::{Observed, Warm, as_is, until};

const PROGRAM: [&str; 2] = ["venv/bin/python", "program.py"];

fn write(warm: &Warm, name: &str, text: &str) {
    let path = warm.directory.join(name);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory for the test");
    fs::write(path, text).expect("it is written");
}

/// A start with `preheat start`, and its message.
fn started(warm: &Warm, words: &[&str], how: &dyn Fn(&mut Command)) -> Observed {
    let mut command = warm.started(words);
    how(&mut command);
    Observed::of(command.output().expect("it starts"))
}

/// Starts are like plain ones, whatever their arguments, and run ahead up to this place.
fn runs_up_to(warm: &Warm, program: &[&str], place: &str, how: &dyn Fn(&mut Command)) {
    warm.warm_up(program, how);
    for arguments in [&[][..], &["--number", "7"], &["--number", "8"]] {
        let words = [program, arguments].concat();
        warm.same(&words, how);
        let said = started(warm, &words, how).err;
        let expected = format!("its first lines run ahead, up to {place}");
        assert!(said.contains(&expected), "{expected}: {said}");
    }
}

const PARSES: &str = "import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--number', type=int, default=1)
";

#[test]
fn a_variable_is_set_before_pytorch_is_imported() {
    pythons_with_torch().for_each(sets_threads);
}

fn sets_threads(python: PathBuf) {
    let warm = Warm::with(python).expect("a directory");
    let program = format!(
        "import os
os.environ['OMP_NUM_THREADS'] = '1'
import torch
{PARSES}print(torch.get_num_threads(), parser.parse_args().number, os.environ['OMP_NUM_THREADS'])
"
    );
    write(&warm, "program.py", &program);
    let python = warm.python.to_str().expect("its path is text").to_owned();
    let words = [&python[..], "program.py"];
    runs_up_to(
        &warm,
        &words,
        "program.py:7, which reads the arguments",
        &as_is,
    );
    assert_eq!(warm.same(&words, &as_is).out, "1 1 1\n");
    // The program replaces it, but may have read it before.
    let other = started(&warm, &words, &|command| {
        command.env("OMP_NUM_THREADS", "2");
    });
    assert!(
        other.err.contains("OMP_NUM_THREADS has a different value"),
        "{}",
        other.err
    );
}

#[test]
fn a_vendored_package_and_own_modules_are_imported_ahead() {
    let program = format!(
        "import sys
sys.path.insert(0, 'vendored')
import yaml
import helper
{PARSES}print(yaml.NAME, helper.VALUE, parser.parse_args().number)
"
    );
    let Some((warm, _)) = Warm::with_package("yaml", &program) else {
        return;
    };
    write(
        &warm,
        "vendored/yaml/__init__.py",
        "from .name import NAME\n",
    );
    write(&warm, "vendored/yaml/name.py", "NAME = 'vendored'\n");
    write(&warm, "helper.py", "import json\nVALUE = json.dumps([1])\n");
    runs_up_to(
        &warm,
        &PROGRAM,
        "program.py:8, which reads the arguments",
        &as_is,
    );
    // An edit of any of them is noticed, and so is a module that comes before one.
    for (name, text, expected) in [
        ("helper.py", "VALUE = 'edited'\n", "vendored edited 1\n"),
        (
            "vendored/yaml/name.py",
            "NAME = 'edited'\n",
            "edited edited 1\n",
        ),
        (
            "vendored/helper.py",
            "VALUE = 'found first'\n",
            "edited found first 1\n",
        ),
    ] {
        write(&warm, name, text);
        let first = started(&warm, &PROGRAM, &as_is);
        assert_eq!(first.out, expected);
        assert!(first.err.contains("started plainly"), "{}", first.err);
        until("another parent is there", || {
            let next = started(&warm, &PROGRAM, &as_is);
            assert_eq!(next.out, expected);
            next.err.contains("its first lines run ahead")
        });
    }
}

/// A module that was not found before is found as soon as it exists.
#[test]
fn an_optional_module_appears() {
    let program = "import sys
sys.path.append('more')
import numpy
try:
    import optional
except ImportError:
    optional = None
print(optional and optional.VALUE)
";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    runs_up_to(&warm, &PROGRAM, "program.py:8, which prints", &as_is);
    write(&warm, "optional.py", "VALUE = 'here'\n");
    assert_eq!(started(&warm, &PROGRAM, &as_is).out, "here\n");
}

#[test]
fn log_messages_of_an_import_are_written_by_each_start() {
    let program = format!(
        "import logging
logging.basicConfig(level=logging.DEBUG, format='%(name)s %(message)s')
import matplotlib
{PARSES}print(parser.parse_args().number, logging.root.level)
"
    );
    let Some((warm, _)) = Warm::with_package("matplotlib", &program) else {
        return;
    };
    let home = warm.directory.join("home");
    fs::create_dir(&home).expect("a directory for the test");
    let how = |command: &mut Command| {
        command.env("HOME", &home);
    };
    runs_up_to(
        &warm,
        &PROGRAM,
        "program.py:7, which reads the arguments",
        &how,
    );
    let said = warm.same(&PROGRAM, &how).err;
    assert!(said.contains("matplotlib "), "{said}");
}

/// A message with the time in it is written when the program writes it.
#[test]
fn log_messages_with_the_time_are_not_written_ahead() {
    let program = "import json, logging
logging.basicConfig(level=logging.DEBUG, format='%(asctime)s %(name)s')
import matplotlib
";
    let Some((warm, _)) = Warm::with_package("matplotlib", program) else {
        return;
    };
    warm.warm_up(&PROGRAM, &as_is);
    let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
    let is_left = listed.contains("after program.py:3, which prints")
        || listed.contains("after program.py:2, which uses basicConfig");
    assert!(is_left, "{listed}");
}

#[test]
fn warnings_are_errors_before_imports() {
    let program = format!(
        "import warnings
warnings.simplefilter('error')
import numpy, yaml
{PARSES}print(parser.parse_args().number, len(warnings.filters))
warnings.warn('the end')
"
    );
    let Some((warm, _)) = Warm::with_package("yaml", &program) else {
        return;
    };
    if python_with("numpy").is_none() {
        return;
    }
    runs_up_to(
        &warm,
        &PROGRAM,
        "program.py:7, which reads the arguments",
        &as_is,
    );
    assert_eq!(warm.same(&PROGRAM, &as_is).status.code(), Some(1));
}

#[test]
fn variables_come_from_a_file() {
    let program = format!(
        "from dotenv import load_dotenv
load_dotenv()
import numpy, os
{PARSES}print(os.environ['OPENBLAS_NUM_THREADS'], os.environ.get('MODE'), parser.parse_args().number)
"
    );
    let Some((warm, _)) = Warm::with_package("dotenv", &program) else {
        return;
    };
    write(&warm, ".env", "OPENBLAS_NUM_THREADS=1\nMODE=staging\n");
    runs_up_to(
        &warm,
        &PROGRAM,
        "program.py:7, which reads the arguments",
        &as_is,
    );
    assert_eq!(warm.same(&PROGRAM, &as_is).out, "1 staging 1\n");
    write(&warm, ".env", "OPENBLAS_NUM_THREADS=1\nMODE=production\n");
    assert_eq!(started(&warm, &PROGRAM, &as_is).out, "1 production 1\n");
}

/// Buffers of standard streams stay the same objects, and belong to the start's own files.
#[test]
fn buffers_of_standard_streams_are_kept() {
    let program = format!(
        "import sys
sys.path.append('more')
import numpy
order = sys.byteorder.upper()
out, given = sys.stdout.buffer, sys.stdin.buffer
{PARSES}print(parser.parse_args().number, out is sys.stdout.buffer, given is sys.stdin.buffer)
sys.stdout.flush()
print(out, given.raw, given.seekable(), out.seekable(), file=sys.stderr)
out.write(b'from the buffer: ' + given.readline())
"
    );
    let Some((warm, _)) = Warm::with_package("numpy", &program) else {
        return;
    };
    write(&warm, "input", "a line\nanother\n");
    // Without a buffer there is only the file, which a start opens again.
    for (unbuffered, place) in [
        ("", "program.py:9, which reads the arguments"),
        (
            "1",
            "program.py:4, which keeps the file of a standard stream",
        ),
    ] {
        let how = |command: &mut Command| {
            let input = fs::File::open(warm.directory.join("input")).expect("the input");
            command.stdin(input).env("PYTHONUNBUFFERED", unbuffered);
        };
        runs_up_to(&warm, &PROGRAM, place, &how);
        let seen = warm.same(&PROGRAM, &how).out;
        assert_eq!(seen, "1 True True\nfrom the buffer: a line\n");
    }
}

/// Objects of the first lines are finalized when a plain start would finalize them: by the
/// program's own garbage collection, or before others that came later.
#[test]
fn finalizers_run_in_the_same_order() {
    let program = "import os, sys
sys.path.append('more')
import numpy
class Ring:
    def __init__(self, name, is_ring=True):
        self.name, self.me = name, self if is_ring else None
    def __del__(self, write=os.write):
        write(1, self.name.encode() + b'\\n')
Ring('garbage of the first lines')
kept = Ring('kept by the first lines')
first = Ring('in a variable of the first lines', False)
number = sys.argv[2:]
Ring('garbage')
print('collects', number, flush=True)
import gc
gc.collect()
print('ends', flush=True)
later = Ring('kept')
second = Ring('in a variable', False)
";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    runs_up_to(
        &warm,
        &PROGRAM,
        "program.py:5, which reads the arguments",
        &as_is,
    );
}

/// Each of these must happen in every start, so the lines before it are all that runs ahead.
/// The parent waits in the import, whose module is hidden: a child must not import it again.
#[test]
fn the_first_lines_end_in_an_import() {
    for module in ["numpy", "torch"] {
        let Some(python) = python_with(module) else {
            continue;
        };
        let warm = Warm::with(python).expect("a directory");
        let program = format!(
            "import sys
sys.path.append('more')
import csv, fractions
import {module}
print(sys.argv[1:], list(sys.modules), {module}.__name__)
"
        );
        write(&warm, "program.py", &program);
        let python = warm.python.to_str().expect("its path is text").to_owned();
        runs_up_to(
            &warm,
            &[&python, "program.py"],
            "program.py:4, which reads the arguments",
            &as_is,
        );
    }
}

#[test]
fn acts_end_the_first_lines() {
    let Some((warm, _)) = Warm::with_package("numpy", "") else {
        return;
    };
    for (act, why) in [
        ("import time; began = time.time()", "reads the clock"),
        (
            "import datetime; began = datetime.datetime.now()",
            "reads the clock",
        ),
        ("log = open('train.log', 'w'); log.close()", "writes "),
        ("text = sys.stdin.read()", "inspects a standard stream"),
        (
            "import random; drawn = random.random()",
            "draws random numbers",
        ),
        ("drawn = os.urandom(4)", "draws random bytes"),
        ("me = os.getpid()", "reads its process ID"),
        (
            "import signal; old = signal.signal(10, print)",
            "handles signals",
        ),
        ("import socket; socket.socket().close()", "opens a socket"),
        (
            "import subprocess; subprocess.run(['true'])",
            "opens a pipe",
        ),
        ("mask = os.umask(18)", "changes the file mode mask"),
        // A new thread asks for its number.
        (
            "import threading; threading.Thread(target=int).start()",
            "reads its process ID",
        ),
        (
            "import fcntl; fcntl.lockf(open('program.py'), fcntl.LOCK_SH)",
            "locks a file",
        ),
        (
            "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
            "makes system call ",
        ),
        // The name of a semaphore contains the process ID.
        (
            "import multiprocessing; lock = multiprocessing.Lock()",
            "reads its process ID",
        ),
        ("many = len(sys.argv)", "reads the arguments"),
        (
            "sys.stdout.reconfigure(errors='replace')",
            "inspects a standard stream",
        ),
        (
            "when = os.path.getmtime('.')",
            "reads the times or the size of a file",
        ),
        (
            "os.register_at_fork(before=print)",
            "registers a function for forks",
        ),
        ("free = os.statvfs('.').f_bfree", "reads how full a disk is"),
        ("load = open('/proc/loadavg').read()", "reads /proc/loadavg"),
    ] {
        let program = format!(
            "import os, sys\nsys.path.append('more')\nimport numpy\n{act}\nimport decimal\nprint(1)\n"
        );
        write(&warm, "program.py", &program);
        let _ = warm.preheat(&["--stop", "all"]).output();
        warm.preheat(&["--forget", "--", PROGRAM[0], PROGRAM[1]])
            .output()
            .expect("it starts");
        warm.warm_up(&PROGRAM, &as_is);
        let said = started(&warm, &PROGRAM, &as_is);
        let expected = format!("up to program.py:4, which {why}");
        assert!(said.err.contains(&expected), "{act}: {}", said.err);
        assert_eq!(said.out, "1\n", "{act}");
        fs::remove_file(warm.directory.join("train.log")).ok();
    }
}

/// The stack, the code and the globals are those of a plain start.
#[test]
fn nothing_shows_that_the_first_lines_ran_ahead() {
    let program = "import sys, os
os.environ['OMP_NUM_THREADS'] = '1'
import numpy
import inspect, traceback
def main():
    print([(each.function, each.lineno) for each in inspect.stack()])
    frame = sys._getframe(1)
    print(frame.f_lasti, frame.f_code.co_code.hex(), frame.f_trace, sys.gettrace(), sys.getprofile())
    print(frame.f_globals is vars(sys.modules['__main__']), sorted(frame.f_globals), __builtins__)
    print(__file__, __spec__, type(__loader__).__name__, sys.argv, sys.path[0], sys.flags)
    print([name for name in sys.modules if 'preheat' in name or name in ('select', 'zlib')])
    raise ValueError('at the end')
if __name__ == '__main__':
    main()
";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    runs_up_to(&warm, &PROGRAM, "program.py:6, which ", &as_is);
    assert_eq!(warm.same(&PROGRAM, &as_is).status.code(), Some(1));
}

/// The sockets by which a parent serves have no timeout, whatever the program sets for its own.
#[test]
fn a_timeout_of_sockets_is_the_programs() {
    let program = "import socket, sys
socket.setdefaulttimeout(0.001)
sys.path.insert(0, 'vendored')
import numpy
print(socket.getdefaulttimeout(), numpy.__name__)
";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    let words = ["venv/bin/python", "program.py"];
    warm.warm_up(&words, &as_is);
    for _ in 0..5 {
        assert_eq!(warm.same(&words, &as_is).out, "0.001 numpy\n");
    }
}
