//! Variables that modules read when they are imported: starts with another environment
//! behave correctly, and are warm if possible.

use std::fs;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::{python_with, run};
use warm::{Observed, Warm};

const PROGRAM: [&str; 2] = ["venv/bin/python", "program.py"];

/// A program of a Python that has this package.
fn with_package(name: &str, package: &str, program: &str) -> Option<Warm> {
    let warm = Warm::new()?;
    let installed = warm.venv();
    fs::write(installed.join(name), package).expect("it is written");
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    Some(warm)
}

fn start(warm: &Warm, name: &str, value: &str) -> Observed {
    let mut command = warm.started(&PROGRAM);
    Observed::of(command.env(name, value).output().expect("it starts"))
}

fn is_warm(observed: &Observed) -> bool {
    observed.err.starts_with("preheat: started warm")
}

/// Start with another value each time until a start is warm; what it has left out.
fn until_warm(warm: &Warm, variable: &str) -> String {
    for number in 0.. {
        let value = number.to_string();
        let observed = start(warm, variable, &value);
        assert_eq!(observed.out, format!("{value}\n"), "{}", observed.err);
        assert!(warm.count() <= 3, "{}", observed.err);
        assert_eq!(warm.refusal(), None);
        if is_warm(&observed) {
            break;
        }
    }
    // From now on, all are.
    for value in ["a", "b", "c"] {
        let observed = start(warm, variable, value).warm(&PROGRAM);
        assert_eq!(observed.out, format!("{value}\n"));
    }
    run(&mut warm.preheat(&["--list", "-v"])).out
}

#[test]
fn filtering_variables_reads_only_those_that_match() {
    let package = "import os
values = {k[5:].lower(): v for k, v in os.environ.items() if k.startswith('FILT_')}
";
    let program = "import filters, os\nprint(filters.values, os.environ.get('BEGAN'))\n";
    let Some(warm) = with_package("filters.py", package, program) else {
        return;
    };
    warm.warm_up(&PROGRAM, &|command| {
        command.env("BEGAN", "1");
    });
    // Variables that do not match the filter may change, even if the program mentions them.
    for value in ["2", "3"] {
        let observed = start(&warm, "BEGAN", value).warm(&PROGRAM);
        assert_eq!(observed.out, format!("{{}} {value}\n"));
    }
    let observed = start(&warm, "FILT_NEW", "x");
    assert!(
        observed.err.contains("FILT_NEW has a different value"),
        "{}",
        observed.err
    );
    assert_eq!(observed.out, "{'new': 'x'} None\n");
    let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
    assert!(!listed.contains("not ahead"), "{listed}");
    // The program comes to speak of one.
    let program =
        "import os\nos.environ['FILT_OWN'] = '1'\nimport filters\nprint(filters.values)\n";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    for _ in 0..2 {
        let observed = start(&warm, "BEGAN", "4");
        assert_eq!(observed.out, "{'own': '1'}\n", "{}", observed.err);
    }
}

#[test]
fn a_module_that_copies_the_environment_is_left_out_once_it_varies() {
    let package = "import os\nseen = dict(os.environ)\n";
    let program = "import copies, json\nprint(copies.seen.get('JOB'))\n";
    // The program does not name the variable, as it would if it could set it.
    let program = program.replace("'JOB'", "'job'.upper()");
    let Some(warm) = with_package("copies.py", package, &program) else {
        return;
    };
    let listed = until_warm(&warm, "JOB");
    assert!(
        listed.contains("copies, which reads the whole environment, and JOB differs at each start"),
        "{listed}"
    );
    // Copies that no iterator makes.
    for copied in ["copy.deepcopy(os.environ)", "copy.copy(os.environ)"] {
        let text = format!("import copy, os\nseen = {copied}\n");
        copied_once_more(&warm, &text);
    }
    copied_once_more(
        &warm,
        "import os\nseen = eval('dict' + repr(os.environ)[len('environ'):])\n",
    );
    copied_once_more(
        &warm,
        "import posix\nseen = {name.decode(): value.decode() for name, value in posix.environ.items()}\n",
    );
    // Where the program may set one of them, it is left out from the beginning.
    run(&mut warm.preheat(&["--stop", "all"]));
    fs::write(
        warm.directory.join("program.py"),
        "import copies, json\nprint(copies.seen['JOB'])",
    )
    .expect("it is written");
    let listed = until_warm(&warm, "JOB");
    assert!(listed.contains("may set JOB"), "{listed}");
}

/// Another module that copies the environment depends on all of it.
fn copied_once_more(warm: &Warm, package: &str) {
    run(&mut warm.preheat(&["--stop", "all"]));
    let path = warm.directory.join("program.py");
    let program = fs::read_to_string(&path).expect("it can be read");
    // Another program, whose variables are not known yet.
    fs::write(&path, format!("{program}#\n")).expect("it is written");
    let ask = "import copies; print(copies.__file__, end='')";
    let asked = warm.plain(&["venv/bin/python", "-c", ask]).output();
    let copies = String::from_utf8(asked.expect("it starts").stdout).expect("a path");
    fs::write(copies, package).expect("it is written");
    let listed = until_warm(warm, "JOB");
    assert!(
        listed.contains("copies, which reads the whole environment"),
        "{listed}"
    );
}

#[test]
fn a_module_that_reads_a_varying_variable_is_left_out() {
    let package = "import os\njob = os.environ.get('JOB')\n";
    let program = "import asks, json\nprint(asks.job)\n";
    let Some(warm) = with_package("asks.py", package, program) else {
        return;
    };
    let listed = until_warm(&warm, "JOB");
    assert!(
        listed.contains("asks, which reads JOB, which differs at each start"),
        "{listed}"
    );
}

/// Environments of virtualenv have a `_virtualenv.pth`, whose only line is an import.
#[test]
fn a_virtual_environment_looks_at_no_variable() {
    let Some(warm) = python_with("virtualenv").and_then(Warm::with) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let words = [python, "-m", "virtualenv", "-q", "--no-download", "venv"];
    let made = warm.plain(&words).output().expect("it starts");
    let why = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{why}");
    let program = "import json, os\nprint(os.environ.get('RUN' '_ID'))\n";
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    warm.warm_up(&PROGRAM, &|command| {
        command.env("RUN_ID", "0");
    });
    for value in ["1", "2", "3"] {
        let observed = start(&warm, "RUN_ID", value).warm(&PROGRAM);
        assert_eq!(observed.out, format!("{value}\n"));
    }
    assert_eq!(warm.count(), 1);
}

/// A line of a .pth file runs before everything else, and so cannot be left out.
#[test]
fn copying_the_environment_in_a_pth_file_does_not_create_parents_forever() {
    let package = "import os\nseen = dict(os.environ)\n";
    let program = "import json, sys\nprint(sys.modules['copies'].seen['JO' 'B'])\n";
    let Some(warm) = with_package("copies.py", package, program) else {
        return;
    };
    let ask = "import sysconfig; print(sysconfig.get_path('purelib'), end='')";
    let asked = warm.plain(&["venv/bin/python", "-c", ask]).output();
    let installed = String::from_utf8(asked.expect("it starts").stdout).expect("a path");
    fs::write(format!("{installed}/copies.pth"), "import copies\n").expect("it is written");
    let mut number = 0;
    let mut next = || {
        number += 1;
        let value = number.to_string();
        let observed = start(&warm, "JOB", &value);
        assert_eq!(observed.out, format!("{value}\n"), "{}", observed.err);
        observed.err
    };
    while !next().contains("did not match any start") {
        assert!(warm.count() <= 3);
    }
    let before = warm.parents();
    next();
    assert_eq!(warm.parents(), before);
}

#[test]
fn parents_that_are_of_no_use_are_not_made_for_ever() {
    let program = "import os\nprint(os.environ['OMP_NUM' '_THREADS'])\n";
    let Some(warm) = with_package("none.py", "", program) else {
        return;
    };
    let mut number = 0;
    let mut next = || {
        number += 1;
        let value = number.to_string();
        let observed = start(&warm, "OMP_NUM_THREADS", &value);
        assert_eq!(observed.out, format!("{value}\n"));
        assert!(!is_warm(&observed));
        observed
    };
    while !next().err.contains("did not match any start") {
        assert!(warm.count() <= 3);
    }
    let before = warm.parents();
    next();
    assert_eq!(warm.parents(), before);
}

#[test]
fn variables_that_are_read_are_distinguished_from_those_that_are_skipped() {
    let Some(warm) = Warm::new() else { return };
    let path = warm.directory.join("watched.py");
    fs::write(&path, include_str!("start/watched.py")).expect("it is written");
    let watch = concat!(env!("CARGO_MANIFEST_DIR"), "/../start/src/python/watch.py");
    let python = warm.python.to_str().expect("its path is text");
    let output = warm.plain(&[python, "watched.py", watch]).output();
    let observed = Observed::of(output.expect("it starts"));
    assert_eq!((&*observed.out, &*observed.err), ("", ""));
    assert_eq!(observed.status.code(), Some(0));
}
