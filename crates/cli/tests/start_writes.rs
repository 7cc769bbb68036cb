//! Programs that write a file before they import a module that reads it: the module must have read
//! what they wrote.

use std::fs;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::run;
use warm::{Observed, Warm, as_is, until};

const PROGRAM: [&str; 2] = ["venv/bin/python", "program.py"];

/// Compares warm starts with other arguments with plain ones. Returns what they print, and what is
/// not imported ahead.
fn same(warm: &Warm) -> (String, String) {
    let with = |argument| [&PROGRAM[..], &[argument]].concat();
    warm.warm_up(&with("11"), &as_is);
    let mut said = String::new();
    for argument in ["12", "13", "13", "14"] {
        // Each start must find what the parent found; otherwise it would be plain.
        warm.plain(&with("11")).output().expect("it starts");
        let plain = warm.plain(&with(argument)).output().expect("it starts");
        warm.plain(&with("11")).output().expect("it starts");
        let started = warm.started(&with(argument)).output().expect("it starts");
        let err = String::from_utf8_lossy(&started.stderr).into_owned();
        assert_eq!(
            String::from_utf8_lossy(&plain.stdout),
            String::from_utf8_lossy(&started.stdout),
            "{err}"
        );
        assert_eq!(plain.status, started.status, "{err}");
        said = String::from_utf8_lossy(&started.stdout).into_owned() + &err;
    }
    (said, run(&mut warm.preheat(&["--list", "-v"])).out)
}

/// A program with installed modules.
fn with_modules(program: &str, modules: &[(&str, &str)]) -> Option<Warm> {
    let (warm, installed) = Warm::with_package("matplotlib", program)?;
    for (name, text) in modules {
        fs::write(installed.join(format!("{name}.py")), text).expect("it is written");
    }
    Some(warm)
}

const READS: (&str, &str) = ("reads", "VALUE = open('settings').read()\n");
const DEPENDS: (&str, &str) = ("depends", "import reads, decimal\nVALUE = reads.VALUE\n");
const LISTS: (&str, &str) = ("lists", "import os\nVALUE = os.path.exists('made/14')\n");

#[test]
fn a_file_is_written_before_the_module_that_reads_it() {
    for (write, import) in [
        (
            "with open('settings', 'w') as file: file.write(sys.argv[1])",
            "reads",
        ),
        (
            "import pathlib; pathlib.Path('settings').write_text(sys.argv[1])",
            "depends",
        ),
        (
            "import subprocess; subprocess.run(['sh', '-c', 'printf %s $0 >settings', sys.argv[1]])",
            "depends",
        ),
        ("os.makedirs('made/' + sys.argv[1], exist_ok=True)", "lists"),
        (
            "open('new', 'w').write(sys.argv[1]); os.replace('new', 'settings')",
            "reads",
        ),
    ] {
        let program = format!(
            "import json, os, shutil, sys\nshutil.rmtree('made', ignore_errors=True)\n{write}\n\
             import {import}, fractions\nprint({import}.VALUE)\n"
        );
        let Some(warm) = with_modules(&program, &[READS, DEPENDS, LISTS]) else {
            return;
        };
        let (said, _) = same(&warm);
        assert!(
            said.starts_with("14\n") || said.starts_with("True\n"),
            "{said}"
        );
    }
}

#[test]
fn the_reason_names_the_line_that_writes() {
    let program = "import json, sys
with open('matplotlibrc', 'w') as file: file.write('font.size: ' + sys.argv[1])
import matplotlib.ft2font
print(matplotlib.rcParams['font.size'])
";
    let Some(warm) = with_modules(program, &[]) else {
        return;
    };
    let (said, listed) = same(&warm);
    assert!(said.starts_with("14.0\n"), "{said}");
    let expected = "program.py:2, which writes a file, and matplotlib may read it";
    assert!(listed.contains(expected), "{listed}");
}

/// Writing what no module reads changes nothing.
#[test]
fn a_log_file_is_written_before_imports() {
    let program = "import json, sys
LOG = 'train.log'
log = open(LOG, 'w')
log.write(sys.argv[1])
import matplotlib.ft2font, reads
print(reads.VALUE, matplotlib.rcParams['font.size'])
";
    let Some(warm) = with_modules(program, &[READS]) else {
        return;
    };
    fs::write(warm.directory.join("settings"), "kept").expect("it is written");
    let (said, listed) = same(&warm);
    assert!(said.starts_with("kept "), "{said}");
    assert!(said.contains("started warm"), "{said}");
    assert!(!listed.contains("not ahead"), "{listed}");
}

/// The trials of an import cannot show an act that only the parent makes. It is stopped there, and
/// the program has no parent.
#[test]
fn an_act_of_the_parent_alone_has_no_effect() {
    let acts = "import os, sys
frame, functions = sys._getframe(), set()
while frame:
    functions.add(frame.f_code.co_name)
    frame = frame.f_back
if 'make_imports' in functions:
    os.mkdir('acted')
";
    let Some(warm) = with_modules("import json, acts\n", &[("acts", acts)]) else {
        return;
    };
    let start = || Observed::of(warm.started(&PROGRAM).output().expect("it starts"));
    start();
    until("there is no parent", || {
        warm.refusal().is_some() || warm.count() > 0
    });
    let started = start();
    let why = "/acted when it is imported";
    assert!(
        started.err.contains("started plainly") && started.err.contains(why),
        "{}",
        started.err
    );
    assert_eq!(warm.count(), 0);
    assert!(!warm.directory.join("acted").exists());
}

/// Each start compares only some lines below the last import outside functions. The paths on other
/// lines may be edited, so the module is not imported ahead in the first place.
#[test]
fn an_edit_changes_the_path_that_is_written() {
    for (head, write, edit) in [
        (
            "",
            "open(PATH, 'w').write('new')",
            ("PATH = 'train.log'", "PATH = 'settings'"),
        ),
        (
            "",
            "shutil.copy(\n        'template',\n        'train.log',\n    )",
            ("        'train.log'", "        'settings'"),
        ),
        (
            "PATH = 'train.log'",
            "open(PATH, 'w').write('new')",
            ("def main(", "def main(PATH='settings'"),
        ),
    ] {
        let below = if head.is_empty() {
            "PATH = 'train.log'"
        } else {
            ""
        };
        let program = format!(
            "{head}\nimport json, shutil, matplotlib.ft2font\n{below}\ndef main():\n    {write}\n    \
             import reads\n    print(reads.VALUE)\nmain()\n"
        );
        let Some(warm) = with_modules(&program, &[READS]) else {
            return;
        };
        let put = |name: &str, text: &str| {
            fs::write(warm.directory.join(name), text).expect("it is written");
        };
        put("settings", "old");
        put("template", "new");
        warm.warm_up(&PROGRAM, &as_is);
        warm.same(&PROGRAM, &as_is);
        let edited = program.replacen(edit.0, edit.1, 1);
        assert_ne!(edited, program);
        put("program.py", &edited);
        let started = run(&mut warm.started(&PROGRAM));
        assert!(
            started.out.contains("new"),
            "{write}: {} {}",
            started.out,
            started.err
        );
    }
}
