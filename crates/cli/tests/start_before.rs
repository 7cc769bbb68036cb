//! Code of the program that comes before its imports: what it influences is not imported
//! ahead, and `-v` names the line.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::process::Command;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::{python_with, require, run};
use warm::{Observed, Warm, as_is, until};

const PROGRAM: [&str; 2] = ["venv/bin/python", "program.py"];

fn write(warm: &Warm, name: &str, text: &str) {
    fs::write(warm.directory.join(name), text).expect("it is written");
}

/// Two warm starts are like plain ones; what is not imported ahead.
fn same(warm: &Warm, how: &dyn Fn(&mut Command)) -> String {
    warm.warm_up(&PROGRAM, how);
    for _ in 0..2 {
        warm.same(&PROGRAM, how);
    }
    run(&mut warm.preheat(&["--list", "-v"])).out
}

/// Nothing that PyTorch imports later reads these.
#[test]
fn settings_of_pytorch_are_made_before_an_import() {
    for (head, setting, is_harmless) in [
        (
            "import torch",
            "torch.backends.cudnn.benchmark = True",
            true,
        ),
        (
            "import torch.backends.cudnn as cudnn",
            "cudnn.benchmark = True",
            true,
        ),
        (
            "from torch.backends import cudnn",
            "cudnn.deterministic = True",
            true,
        ),
        (
            "from torch.backends import cudnn",
            "cudnn.version = int",
            false,
        ),
        ("import torch", "torch.benchmark = True", false),
    ] {
        let program = format!("{head}\n{setting}\nimport fractions\nprint(fractions)\n");
        let Some((warm, installed)) = Warm::with_package("matplotlib", &program) else {
            return;
        };
        fs::create_dir_all(installed.join("torch/backends")).expect("a directory");
        for (name, text) in [
            ("__init__", "import torch.backends.cudnn\n"),
            ("backends/__init__", ""),
            ("backends/cudnn", "benchmark = False\n"),
        ] {
            let path = installed.join(format!("torch/{name}.py"));
            fs::write(path, text).expect("it is written");
        }
        let listed = same(&warm, &as_is);
        // Otherwise the first lines run ahead, up to the last.
        assert_eq!(!listed.contains("not ahead"), is_harmless, "{listed}");
    }
}

/// OpenCV changes where modules are searched for while it is imported, and restores that. uvicorn
/// adds a directory only if it gets one.
#[test]
fn libraries_that_rarely_redirect_imports_are_used_before_an_import() {
    const NATIVE: &str = "import sys
def bootstrap():
    before = list(sys.path)
    sys.path.insert(0, 'native')
    globals()['read'] = print
    sys.path = before
bootstrap()
";
    const SERVER: &str = "import sys
def run(app, *, app_dir=None):
    if app_dir is not None:
        sys.path.insert(0, app_dir)
";
    for (call, is_harmless) in [
        ("native.read()", true),
        ("server.run(None)", true),
        ("server.run(None, app_dir='other')", false),
    ] {
        let program = format!(
            "import json, native, server\nif json:\n    {call}\n    import fractions\n    print(fractions)\n"
        );
        let Some((warm, installed)) = Warm::with_package("matplotlib", &program) else {
            return;
        };
        for (name, text) in [("native.py", NATIVE), ("server.py", SERVER)] {
            fs::write(installed.join(name), text).expect("it is written");
        }
        let listed = same(&warm, &as_is);
        let redirects = listed.contains("which changes where modules are searched for");
        let is_ahead = !redirects && !listed.contains("program.py:2");
        assert_eq!(is_ahead, is_harmless, "{call}: {listed}");
    }
}

#[test]
fn log_messages_are_configured_before_an_import() {
    let program = "import json
import logging
logging.basicConfig(level=logging.DEBUG, format='%(name)s')
import matplotlib
";
    let Some((warm, _)) = Warm::with_package("matplotlib", program) else {
        return;
    };
    let home = warm.directory.join("home");
    fs::create_dir(&home).expect("a directory for the test");
    let how = |command: &mut Command| {
        command.env("HOME", &home);
    };
    let listed = same(&warm, &how);
    let expected = "what is imported after program.py:3, which uses basicConfig";
    assert!(listed.contains(expected), "{listed}");
    let started = warm
        .started(&PROGRAM)
        .env("HOME", &home)
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&started.stderr).into_owned();
    assert!(
        said.contains("started warm") && said.contains(expected),
        "{said}"
    );
    assert!(said.contains("\nmatplotlib\n"), "{said}");
}

#[test]
fn warnings_are_errors_before_an_import() {
    let program = "import json, warnings
warnings.simplefilter('error')
import cgi
";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    let listed = same(&warm, &as_is);
    assert!(
        listed.contains("program.py:2, which uses simplefilter"),
        "{listed}"
    );
}

#[test]
fn a_program_that_imports_a_deprecated_module_is_warned() {
    let Some((warm, _)) =
        Warm::with_package("numpy", "import json\nimport cgi\nprint(cgi.__name__)\n")
    else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text").to_owned();
    let has = warm
        .plain(&[&python, "-W", "error", "-c", "import cgi"])
        .output();
    let said = String::from_utf8_lossy(&has.expect("it starts").stderr).into_owned();
    let warns = said.contains("DeprecationWarning");
    if require("a Python with cgi, which warns", warns.then_some(())).is_none() {
        return;
    }
    let listed = same(&warm, &as_is);
    assert!(
        listed.contains("the program after program.py:3, which prints"),
        "{listed}"
    );
}

#[test]
fn variables_come_from_a_file_before_an_import() {
    let program = "import json, sys
if len(sys.argv) > 1:
    from dotenv import load_dotenv
    load_dotenv('settings')
import numpy, os
numpy.ones((64, 64)) @ numpy.ones((64, 64))
print(len(os.listdir('/proc/self/task')), os.environ.get('LIMIT'))
";
    let Some((warm, _)) = Warm::with_package("dotenv", program) else {
        return;
    };
    write(&warm, "settings", "OPENBLAS_NUM_THREADS=1\nLIMIT=1\n");
    // The first start does not read the file; another one does.
    let listed = same(&warm, &as_is);
    assert!(
        listed.contains("program.py:3, which uses load_dotenv"),
        "{listed}"
    );
    let words = [&PROGRAM[..], &["migrate"]].concat();
    assert_eq!(warm.same(&words, &as_is).out, "1 1\n");
}

/// A program, with an installed package that limits the threads of numerical libraries when it is
/// imported (ultralytics does), has as many as in a plain start.
fn counts_threads(all_before: &[&str]) {
    const SETS: &str = "import os\nos.environ.setdefault('OPENBLAS_NUM_THREADS', '1')\n";
    const COUNTS: &str = "import os
def count():
    import numpy
    numpy.ones((512, 512)) @ numpy.ones((512, 512))
    return len(os.listdir('/proc/self/task')), os.environ.get('OPENBLAS_NUM_THREADS')
";
    let Some((warm, installed)) = Warm::with_package("sklearn", "") else {
        return;
    };
    for (name, text) in [
        ("sets.py", SETS.to_owned()),
        ("sets_and_imports.py", format!("{SETS}import numpy\n")),
        ("counts.py", COUNTS.to_owned()),
        ("nested/__init__.py", SETS.to_owned()),
        ("nested/inner/__init__.py", String::new()),
        ("nested/inner/most.py", String::new()),
    ] {
        let path = installed.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a directory");
        fs::write(path, text).expect("it is written");
    }
    let mut wrong = String::new();
    for (at, before) in all_before.iter().enumerate() {
        let file = format!("program_{at}.py");
        let program = format!("import json, sys\n{before}\nimport counts\nprint(counts.count())\n");
        write(&warm, &file, &program);
        let words = ["venv/bin/python", &file];
        let with_argument = [&words[..], &["other"]].concat();
        for limit in [None, Some("2")] {
            let limited = |mut command: Command| {
                limit.map(|limit| command.env("OPENBLAS_NUM_THREADS", limit));
                Observed::of(command.output().expect("it starts"))
            };
            limited(warm.started(&words));
            let mut prepare = warm.preheat(&["--prepare", "--patience", "120", "--"]);
            prepare.args(words);
            let prepared = limited(prepare);
            assert!(prepared.status.success(), "{before}: {}", prepared.err);
            for words in [&words[..], &with_argument] {
                let plain = limited(warm.plain(words));
                let started = limited(warm.started(words)).warm(words);
                if plain != started {
                    let (plain, started) = (plain.out, started.out);
                    wrong += &format!("{before}, {words:?}, {limit:?}: {plain}{started}");
                }
            }
        }
        run(&mut warm.preheat(&["--stop"]));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn an_installed_package_limits_threads() {
    counts_threads(&[
        "import sets",
        "import numpy, sets",
        "import numpy, sets_and_imports",
    ]);
}

#[test]
fn an_installed_package_limits_threads_and_imports_numpy() {
    counts_threads(&["import sets_and_imports"]);
}

#[test]
fn an_installed_package_limits_threads_in_some_starts() {
    counts_threads(&[
        "if not sys.argv[1:]: import sets",
        "if not sys.argv[1:]: import sets_and_imports",
        "if sys.argv[1:]: import sets",
        "if sys.argv[1:]: import sets_and_imports",
        "if sys.argv[1:]: from nested.inner.most import __name__ as most",
    ]);
}

#[test]
fn a_vendored_module_is_found() {
    let program = "import json, sys
sys.path.insert(0, 'vendored')
import yaml
print(yaml.__file__.endswith('vendored/yaml.py'))
";
    let Some((warm, _)) = Warm::with_package("yaml", program) else {
        return;
    };
    fs::create_dir(warm.directory.join("vendored")).expect("a directory for the test");
    write(&warm, "vendored/yaml.py", "");
    let listed = same(&warm, &as_is);
    assert!(
        listed.contains("not ahead: the program after program.py:4, which prints"),
        "{listed}"
    );
}

/// A change made by a function of a library is not visible in the program's source.
#[test]
fn a_library_configures_for_the_program() {
    let program = "import json, configures
configures.quietly()
import noisy
";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    let ask = "import sysconfig; print(sysconfig.get_path('purelib'), end='')";
    let asked = warm.plain(&["venv/bin/python", "-c", ask]).output();
    let installed = String::from_utf8(asked.expect("it starts").stdout).expect("a path");
    let library = "import warnings\ndef quietly():\n    warnings.simplefilter('always')\n";
    fs::write(format!("{installed}/configures.py"), library).expect("it is written");
    let noisy = "import warnings\nwarnings.warn('noise', DeprecationWarning)\n";
    fs::write(format!("{installed}/noisy.py"), noisy).expect("it is written");
    let listed = same(&warm, &as_is);
    assert!(
        listed.contains("changes the filters of warnings"),
        "{listed}"
    );
}

/// Edits of lines that imports cannot depend on keep the parent; other edits replace it.
#[test]
fn an_edit_counts_only_where_imports_could_depend_on_it() {
    let program = "import json\nimport numpy\ndef main():\n    print(numpy.__name__, 1)\nmain()\n";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    let listed = same(&warm, &as_is);
    assert!(!listed.contains("not ahead"), "{listed}");
    write(&warm, "program.py", &program.replace(", 1)", ", 2)"));
    assert_eq!(warm.same(&PROGRAM, &as_is).out, "numpy 2\n");
    let configured = "import logging\nlogging.basicConfig()\nimport numpy";
    write(
        &warm,
        "program.py",
        &program.replace("import numpy", configured),
    );
    let start = || Observed::of(warm.started(&PROGRAM).output().expect("it starts"));
    let first = start();
    assert!(
        first.err.contains("that imports may depend on has changed"),
        "{}",
        first.err
    );
    until("there is another parent", || {
        let next = start();
        assert_eq!(next.out, "numpy 1\n");
        next.err
            .contains("its first lines run ahead, up to program.py:6, which prints")
    });
}

/// `rsync --inplace --times` and archives write a file in place and set its time back.
#[test]
fn an_edit_that_keeps_the_size_and_the_time_is_noticed() {
    let program = "import warnings\n#arnings.simplefilter('error')\nimport old, json, numpy\n";
    let Some((warm, installed)) = Warm::with_package("numpy", program) else {
        return;
    };
    let old = "import warnings\nwarnings.warn('old', DeprecationWarning)\n";
    fs::write(installed.join("old.py"), old).expect("it is written");
    same(&warm, &as_is);
    let file = fs::File::options()
        .write(true)
        .open(warm.directory.join("program.py"))
        .expect("it exists");
    let modified = file.metadata().and_then(|is| is.modified());
    let edited = program.replace('#', "w");
    file.write_all_at(edited.as_bytes(), 0)
        .expect("it is written");
    let modified = modified.expect("it has a time");
    file.set_modified(modified).expect("it is ours");
    let plain = Observed::of(warm.plain(&PROGRAM).output().expect("it starts"));
    assert_eq!(plain.status.code(), Some(1), "{}", plain.err);
    let started = Observed::of(warm.started(&PROGRAM).output().expect("it starts"));
    assert_eq!(started.status.code(), Some(1), "{}", started.err);
    let expected = "that imports may depend on has changed";
    assert!(started.err.contains(expected), "{}", started.err);
}

/// A program for which nothing can be imported ahead has a parent as soon as it is edited.
#[test]
fn a_refusal_ends_with_an_edit() {
    let program = "import sys\nsys.argv[1:]\nsys.path.insert(0, 'x')\nimport numpy\nprint(1)\n";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    let start = || Observed::of(warm.started(&PROGRAM).output().expect("it starts"));
    start();
    until("it is refused", || {
        start()
            .err
            .contains("program.py:3 changes path before it imports")
            || warm.count() > 0
    });
    write(
        &warm,
        "program.py",
        "import sys\nimport numpy\nsys.path.insert(0, 'x')\nprint(1)\n",
    );
    until("it is warm", || start().err.contains("started warm"));
}

/// A start may take a branch that the learning start did not, and import another module of the
/// program's own before an installed one.
#[test]
fn an_own_module_that_was_not_imported_before() {
    let Some(warm) = Warm::new() else { return };
    let reads = "import os\nVALUE = os.environ.get('MODE_OF_READS')\n";
    fs::write(warm.venv().join("reads.py"), reads).expect("it is written");
    let write = |name: &str, text: &str| {
        fs::write(warm.directory.join(name), text).expect("it is written");
    };
    let program = "import sys\n\
        if sys.argv[1:]: import early\n\
        try: import local_settings\n\
        except ImportError: pass\n\
        import json, reads\n\
        print(reads.VALUE)\n";
    write("program.py", program);
    write(
        "early.py",
        "import os\nos.environ['MODE_OF_READS'] = 'early'\n",
    );
    let words = ["venv/bin/python", "program.py"];
    let with_early = ["venv/bin/python", "program.py", "early"];
    warm.warm_up(&words, &as_is);
    assert_eq!(warm.same(&words, &as_is).out, "None\n");
    assert_eq!(warm.same(&with_early, &as_is).out, "early\n");
    // A module that did not exist.
    write(
        "local_settings.py",
        "import os\nos.environ['MODE_OF_READS'] = 'local'\n",
    );
    let said = Observed::of(warm.started(&words).output().expect("it starts"));
    assert_eq!(said.out, "local\n");
    assert!(said.err.contains("local_settings.py"), "{}", said.err);
    warm.wait_for_parent();
    assert_eq!(warm.same(&words, &as_is).out, "local\n");
    // A module that the learning start has not imported was edited.
    write(
        "early.py",
        "import os\nos.environ['MODE_OF_READS'] = 'later'\nimport json\n",
    );
    for words in [&words[..], &with_early[..]] {
        let plain = Observed::of(warm.plain(words).output().expect("it starts"));
        let said = Observed::of(warm.started(words).output().expect("it starts"));
        assert_eq!(said.out, plain.out);
    }
}

/// No file mentions the name of the module, so what it does is not known before.
#[test]
fn an_own_module_whose_name_is_computed() {
    let Some(warm) = Warm::new() else { return };
    let reads = "import os\nVALUE = os.environ.get('MODE_OF_READS')\n";
    fs::write(warm.venv().join("reads.py"), reads).expect("it is written");
    let program = "import statistics, sys\n\
        from importlib import import_module\n\
        if sys.argv[1:]: import_module('ear' + sys.argv[1])\n\
        import reads\n\
        print(reads.VALUE)\n";
    write(&warm, "program.py", program);
    write(
        &warm,
        "early.py",
        "import os\nos.environ['MODE_OF_READS'] = 'early'\n",
    );
    let words = ["venv/bin/python", "program.py"];
    warm.warm_up(&words, &as_is);
    assert_eq!(warm.same(&words, &as_is).out, "None\n");
    let early = [&words[..], &["ly"]].concat();
    assert_eq!(warm.same(&early, &as_is).out, "early\n");
    let said = Observed::of(warm.started(&words).output().expect("it starts"));
    let why = "program.py:3, which computes the name of a module";
    assert!(said.err.contains(why), "{}", said.err);
}

/// A call may change a setting of a library that a later import reads.
#[test]
fn calls_of_libraries_before_an_import() {
    const CASES: [(&str, &str, &str); 7] = [
        (
            "change = getattr(socket, 'setdefault' + 'timeout'); change(7)",
            "import socket\nVALUE = socket.getdefaulttimeout()",
            "7.0",
        ),
        (
            "s = socket\ns.setdefaulttimeout(7)",
            "import socket\nVALUE = socket.getdefaulttimeout()",
            "7.0",
        ),
        (
            "setattr(json, 'MODE', 'changed')",
            "import json\nVALUE = getattr(json, 'MODE', None)",
            "changed",
        ),
        (
            "vars(json).update(MODE='changed')",
            "import json\nVALUE = getattr(json, 'MODE', None)",
            "changed",
        ),
        (
            "registry.register('mine')",
            "import registry\nVALUE = list(registry.ALL)",
            "['mine']",
        ),
        (
            "class Mine(registry.Base): pass",
            "import registry\nVALUE = [each.__name__ for each in registry.Base.__subclasses__()]",
            "['Mine']",
        ),
        (
            "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
            "import signal\nVALUE = int(signal.getsignal(signal.SIGUSR1))",
            "1",
        ),
    ];
    let registry = "ALL = []\nregister = ALL.append\nclass Base: pass\n";
    let Some(warm) = Warm::new() else { return };
    let installed = warm.venv();
    fs::write(installed.join("registry.py"), registry).expect("it is written");
    for (at, (code, module, value)) in CASES.into_iter().enumerate() {
        // In a function, the import is never one of the first lines.
        for in_function in [false, true] {
            let name = format!("reads_{at}_{in_function}");
            fs::write(installed.join(format!("{name}.py")), module).expect("it is written");
            let imports = format!("import {name}\nprint({name}.VALUE)\n");
            let imports = match in_function {
                true => {
                    let body = imports.trim_end().replace('\n', "\n    ");
                    format!("def main():\n    {body}\nprint('begins')\nmain()\n")
                }
                false => imports,
            };
            let program =
                format!("import json, numpy, registry, signal, socket\n{code}\n{imports}");
            let file = format!("program_{at}_{in_function}.py");
            write(&warm, &file, &program);
            let words = ["venv/bin/python", &file];
            warm.warm_up(&words, &as_is);
            let out = warm.same(&words, &as_is).out;
            assert!(out.ends_with(&format!("{value}\n")), "{code}: {out}");
        }
    }
}

/// The code before an import, files with their texts, and the words that start the program.
type Case = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

/// Code that runs before an import, wherever it is: in packages, relative imports, compiled modules
/// and files that the program executes itself.
#[test]
fn code_in_other_files_before_an_import() {
    const SETS: &str = "import json\njson.MODE = 'changed'\n";
    const READS: &str = "import reads\nprint(reads.VALUE)\n";
    let cases: [Case; 6] = [
        (
            "the package of a module that is run",
            &[("a/__init__.py", SETS), ("a/go.py", READS)],
            &["-m", "a.go"],
        ),
        (
            "the package of a module",
            &[
                ("b/__init__.py", SETS),
                ("b/part.py", READS),
                ("run_b.py", "import b.part\n"),
            ],
            &["run_b.py"],
        ),
        (
            "a member that is a module",
            &[
                ("c/__init__.py", ""),
                ("c/part.py", SETS),
                (
                    "run_c.py",
                    "from c import part\nimport reads\nprint(reads.VALUE)\n",
                ),
            ],
            &["run_c.py"],
        ),
        (
            "a relative import",
            &[
                (
                    "d/__init__.py",
                    "from .part import json\nfrom .uses import reads\n",
                ),
                ("d/uses.py", READS),
                ("d/part.py", SETS),
                ("run_d.py", "import d\n"),
            ],
            &["run_d.py"],
        ),
        (
            "a text that is executed",
            &[
                ("e.txt", SETS),
                (
                    "run_e.py",
                    "exec(open('e.txt').read())\nimport reads\nprint(reads.VALUE)\n",
                ),
            ],
            &["run_e.py"],
        ),
        (
            "a compiled module",
            &[
                ("f.py", SETS),
                ("run_f.py", "import f\nimport reads\nprint(reads.VALUE)\n"),
            ],
            &["run_f.py"],
        ),
    ];
    let Some(warm) = Warm::new() else { return };
    let reads = "import json, statistics\nVALUE = getattr(json, 'MODE', None)\n";
    fs::write(warm.venv().join("reads.py"), reads).expect("it is written");
    for (name, files, words) in cases {
        for (path, text) in files {
            let path = warm.directory.join(path);
            fs::create_dir_all(path.parent().expect("it is in a directory")).expect("it is made");
            fs::write(path, text).expect("it is written");
        }
        if name == "a compiled module" {
            let compile = "import py_compile; py_compile.compile('f.py', 'f.pyc')";
            run(&mut warm.plain(&["venv/bin/python", "-c", compile]));
            fs::remove_file(warm.directory.join("f.py")).expect("it goes");
        }
        let words = [&["venv/bin/python"], words].concat();
        let mut first = warm.started(&words);
        let first = first.output().expect("it starts").stdout;
        assert_eq!(first, b"changed\n", "{name}");
        warm.settle();
        for _ in 0..2 {
            let out = Observed::of(warm.started(&words).output().expect("it starts")).out;
            assert_eq!(out, "changed\n", "{name}");
        }
        run(&mut warm.preheat(&["--stop"]));
    }
}

/// An object that a library returns may be one that a later import uses.
#[test]
fn objects_of_libraries_change_before_an_import() {
    const CASES: [(&str, &str, &str); 5] = [
        (
            "log = logging.getLogger('mine')\nlog.disabled = True",
            "import logging\nVALUE = logging.getLogger('mine').isEnabledFor(50)",
            "False",
        ),
        (
            "log = logging.getLogger('mine')\nlog.handlers.append(print)",
            "import logging\nVALUE = len(logging.getLogger('mine').handlers)",
            "1",
        ),
        (
            "context = decimal.getcontext()\ncontext.prec = 3",
            "import decimal\nVALUE = decimal.Decimal(1) / 3",
            "0.333",
        ),
        (
            "names = vars(sys.modules['json'])\nnames['MODE'] = 'changed'",
            "import json\nVALUE = getattr(json, 'MODE', None)",
            "changed",
        ),
        (
            "patcher = patching.Patcher()\npatcher.start()",
            "import json\nVALUE = getattr(json, 'MODE', None)",
            "patched",
        ),
    ];
    let Some(warm) = Warm::new() else { return };
    let installed = warm.venv();
    let patching =
        "import json\nclass Patcher:\n    def start(self):\n        json.MODE = 'patched'\n";
    fs::write(installed.join("patching.py"), patching).expect("it is written");
    for (at, (code, module, value)) in CASES.into_iter().enumerate() {
        let (name, file) = (format!("reads_{at}"), format!("program_{at}.py"));
        fs::write(installed.join(format!("{name}.py")), module).expect("it is written");
        let program = format!(
            "import decimal, json, logging, numpy, patching, sys\n{code}\nimport {name}\nprint({name}.VALUE)\n"
        );
        write(&warm, &file, &program);
        let words = ["venv/bin/python", &file];
        warm.warm_up(&words, &as_is);
        assert_eq!(
            warm.same(&words, &as_is).out,
            format!("{value}\n"),
            "{code}"
        );
    }
}

/// A profile of imports lists the modules that were executed.
#[test]
fn imports_are_measured() {
    let program = "import cProfile, os
profile = cProfile.Profile(); profile.enable(); import decimal, fractions, numpy; profile.disable()
codes = [each.code for each in profile.getstats() if not isinstance(each.code, str)]
print(sorted(os.path.basename(each.co_filename) for each in codes if each.co_name == '<module>'))
";
    let Some((warm, _)) = Warm::with_package("numpy", program) else {
        return;
    };
    let listed = same(&warm, &as_is);
    assert!(listed.contains("which uses cProfile"), "{listed}");
}

/// pytest finds conftest files and plugins at each start, and rewrites the assertions in them.
#[test]
fn tests_are_run_with_what_pytest_finds() {
    let Some(warm) = python_with("torch").and_then(Warm::with) else {
        return;
    };
    let Some(has_pytest) = python_with("pytest") else {
        return;
    };
    let packages = warm.venv();
    let has_pytest = has_pytest.to_str().expect("its path is text");
    let ask = "import pytest, os; print(os.path.dirname(os.path.dirname(pytest.__file__)), end='')";
    let theirs = warm.plain(&[has_pytest, "-c", ask]).output();
    let theirs = String::from_utf8(theirs.expect("it starts").stdout).expect("a path");
    // Without the other packages that are installed there.
    for name in [
        "pytest",
        "_pytest",
        "py.py",
        "pluggy",
        "iniconfig",
        "packaging",
        "pygments",
    ] {
        let linked = symlink(Path::new(&theirs).join(name), packages.join(name));
        linked.expect("pytest is linked");
    }
    fs::create_dir(warm.directory.join("tests")).expect("a directory for the tests");
    write(
        &warm,
        "conftest.py",
        "import pytest
@pytest.fixture
def value():
    return 3
def pytest_runtest_logreport(report):
    if report.when == 'call':
        print(report.nodeid, report.outcome, report.longrepr)
",
    );
    write(
        &warm,
        "plugin.py",
        "def check(left):\n    assert left == [1, 2], 'of the plugin'\n",
    );
    write(
        &warm,
        "tests/test_one.py",
        "import numpy, plugin, torch
def test_fails(value):
    assert {'a': [1, value]} == {'a': [1, 2]}
def test_fails_in_the_plugin(value):
    plugin.check([1, value])
def test_passes():
    print(torch.get_num_threads(), torch.zeros(2).sum().item())
    assert numpy.arange(3).sum() == 3
",
    );
    write(
        &warm,
        "runs.py",
        "import sys\nfrom pytest import console_main\nsys.exit(console_main())\n",
    );
    let options = [
        "-s",
        "-p",
        "no:terminal",
        "-p",
        "no:cacheprovider",
        "-p",
        "plugin",
    ];
    for first in [&["-m", "pytest"][..], &["runs.py"]] {
        let words = [&["venv/bin/python"], first, &options, &["tests"]].concat();
        warm.warm_up(&words, &as_is);
        let many = warm.same(&words, &as_is).out;
        assert!(
            many.contains("assert {'a': [1, 3]} == {'a': [1, 2]}"),
            "{many}"
        );
        assert!(many.contains("AssertionError: of the plugin"), "{many}");
        let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
        assert!(listed.contains("known only then"), "{listed}");
        // No file that an earlier start has executed is changed.
        let sets = "import os\nos.environ['OMP_NUM_THREADS'] = '3'\n";
        write(&warm, "tests/conftest.py", sets);
        let three = warm.same(&words, &as_is).out;
        assert!(three.contains("3 0.0\n"), "{three}");
        fs::remove_file(warm.directory.join("tests/conftest.py")).expect("it goes");
        assert_eq!(warm.same(&words, &as_is).out, many);
    }
}
