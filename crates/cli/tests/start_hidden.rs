//! Modules that the warm parent has imported ahead are hidden until the program imports them.

use std::fs;

mod support;
#[path = "start/warm.rs"]
mod warm;
use support::{python_with, pythons_with_torch, run};
use warm::{Observed, Warm, as_is};

/// Prints everything that an import changes, at the points at which a program calls it.
const SHOW: &str = "import sys
def show(where, *packages):
    print(where, len(sys.modules), list(sys.modules))
    for name in packages:
        print(name, sorted(vars(sys.modules[name])))
    filters = getattr(sys.modules.get('warnings'), 'filters', [])
    print([repr(each) for each in filters])
    logging = sys.modules.get('logging')
    if logging:
        loggers = logging.root.manager.loggerDict.items()
        print([(n, type(l).__name__, getattr(getattr(l, 'parent', 0), 'name', 0)) for n, l in loggers])
    copyreg = sys.modules.get('copyreg')
    print([of.__qualname__ for of in getattr(copyreg, 'dispatch_table', ())])
";

/// The program, whose warm starts must print the same as plain ones.
fn hides(warm: &Warm, python: &str, program: &str, arguments: &[&[&str]]) {
    // Sets of names are ordered by their hashes.
    let how = |command: &mut std::process::Command| {
        command.env("PYTHONHASHSEED", "0").env_remove("_");
    };
    fs::write(warm.directory.join("show.py"), SHOW).expect("it is written");
    fs::write(warm.directory.join("program.py"), program).expect("it is written");
    warm.warm_up(&[python, "program.py"], &how);
    for words in arguments {
        warm.same(&[&[python, "program.py"], *words].concat(), &how);
    }
}

#[test]
fn pytorch() {
    for python in pythons_with_torch() {
        let warm = Warm::with(python).expect("a directory");
        let python = warm.python.to_str().expect("its path is text").to_owned();
        let program = "from show import show
show('first')
import argparse
import torch
show('torch', 'torch')
model = torch.nn.Linear(2, 2)
torch.optim.SGD(model.parameters(), lr=0.1)
show('optimizer', 'torch')
";
        hides(&warm, &python, program, &[&[]]);
    }
}

#[test]
fn matplotlib_and_scipy() {
    let Some(python) = python_with("matplotlib") else {
        return;
    };
    let warm = Warm::with(python).expect("a directory");
    let python = warm.python.to_str().expect("its path is text").to_owned();
    let program = "import sys
from show import show
show('first')
if sys.argv[1:] == ['other']:
    import PIL.Image, matplotlib.dates
    show('dates first')
    import decimal
import numpy
show('numpy', 'numpy')
import matplotlib
show('matplotlib', 'matplotlib')
from matplotlib import pyplot
show('pyplot', 'matplotlib', 'numpy')
import scipy.stats
show('scipy', 'scipy', 'numpy')
";
    hides(&warm, &python, program, &[&[], &["other"], &[]]);
}

/// A package whose modules each change something.
const PARTS: [(&str, &str); 6] = [
    (
        "parts/__init__.py",
        "NAME = 'parts'\nTABLE = {}\nclass Base:\n    known = []\n",
    ),
    (
        "parts/one.py",
        "import atexit, logging, os, sys, warnings\nimport parts\n\
         warnings.filterwarnings('ignore', message='one')\n\
         log = logging.getLogger('parts.one.inner')\nlogging.getLogger('parts').addHandler(logging.NullHandler())\n\
         os.environ['PARTS_ONE'] = '1'\nparts.TABLE['one'] = 1\nparts.Base.known.append('one')\n\
         sys.modules['parts_made_by_one'] = parts\nEXITS = []\natexit.register(EXITS.append, 1)\n",
    ),
    (
        "parts/two.py",
        "from . import one\nimport decimal, parts\nparts.NAME = 'two'\nparts.TABLE['two'] = 2\n\
         parts.Base.later = True\ntry:\n    import parts.missing\nexcept ImportError:\n    pass\n\
         try:\n    import parts.fails\nexcept ValueError:\n    pass\n",
    ),
    (
        "parts/three.py",
        "import colorsys\nvalue = colorsys.rgb_to_hsv(1, 0, 0)\n",
    ),
    ("parts/fails.py", "import quopri\nraise ValueError\n"),
    (
        "parts/lazy.py",
        "def get():\n    import parts.three\n    return parts.three.value\n",
    ),
];

const SEARCHES: &str = "import importlib.util, logging, os, sys, threading
from show import show
def look(where):
    show(where)
    parts = sys.modules.get('parts')
    if parts:
        print(sorted(vars(parts)), parts.NAME, parts.TABLE, parts.Base.known, hasattr(parts.Base, 'later'))
    print(os.environ.get('PARTS_ONE'), 'parts_made_by_one' in sys.modules)
look('first')
if 'logger' in sys.argv:
    mine = logging.getLogger('parts')
    mine.custom = 'mine'
print(importlib.util.find_spec('parts').origin, 'parts' in sys.modules)
if 'other' in sys.argv:
    import parts.lazy
    look('lazy')
    print(parts.lazy.get())
    look('three')
if 'threads' in sys.argv:
    def work(name):
        importlib.import_module(name)
    names = ['parts.two', 'parts.one', 'parts.three', 'parts.two'] * 4
    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for each in threads: each.start()
    for each in threads: each.join()
    print(sorted(name for name in sys.modules if 'parts' in name))
elif 'none' not in sys.argv:
    import parts
    look('parts')
    from parts import one
    look('one')
    import parts.two as two
    look('two')
    from parts import three, lazy
    look('all')
    print(one.log.parent.name, one.log.parent is logging.getLogger('parts'))
    print(vars(logging.getLogger('parts')).get('custom'), logging.getLogger('parts').handlers)
    print(two.one is one is sys.modules['parts.one'], parts.two is two)
    try:
        import parts.fails
    except ValueError:
        print('fails')
    del sys.modules['parts.three']
    import parts.three
    print(parts.three is not three, parts.three.value, importlib.reload(two) is two)
    print(one.EXITS)
if 'threads' not in sys.argv:
    look('last')
";

#[test]
fn a_package_of_which_each_part_changes_something() {
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    fs::create_dir(packages.join("parts")).expect("a directory for the package");
    for (name, text) in PARTS {
        fs::write(packages.join(name), text).expect("it is written");
    }
    let ways: [&[&str]; 7] = [
        &[],
        &["other"],
        &["logger"],
        &["threads"],
        &["none"],
        &["other", "logger"],
        &["other", "none"],
    ];
    hides(&warm, "venv/bin/python", SEARCHES, &ways);
}

/// `from . import y` finds a module that is still being imported, before the package has it.
#[test]
fn modules_that_import_each_other() {
    let Some(warm) = Warm::new() else { return };
    let package = warm.venv().join("ring");
    fs::create_dir(&package).expect("a directory for the package");
    for (name, text) in [
        ("__init__.py", ""),
        ("one.py", "from . import two\n"),
        ("two.py", "from . import one\nVALUE = 2\n"),
        (
            "three.py",
            "import importlib\nfour = importlib.import_module('.four', __package__)\n",
        ),
        (
            "four.py",
            "import importlib\nthree = importlib.import_module('.three', __package__)\n",
        ),
    ] {
        fs::write(package.join(name), text).expect("it is written");
    }
    let program = "import json, sys\nimport ring.one\nprint(ring.one.two.VALUE, ring.two.one is ring.one)\n\
        import ring.three\nprint(ring.four.three is ring.three)\n\
        print([name for name in sys.modules if 'ring' in name], sorted(vars(ring)))\n";
    hides(&warm, "venv/bin/python", program, &[&[], &[]]);
}

/// Changes that an import makes in objects of another module appear with the import.
#[test]
fn changes_in_objects_of_other_modules() {
    const BASE: &str = "import functools, logging
class Application:
    def __init__(self):
        self.commands, self.parts, self.debug = {}, {'inner': [[]]}, False
application = Application()
TABLE = {'inner': {}, 'list': [[]], 'tuple': (set(),)}
class Model:
    metadata = Application()
log = logging.getLogger('quiet')
log.setLevel(30)
@functools.singledispatch
def show(value):
    return 'any'
def decorated(function):
    decorated.all.append(function.__name__)
    return function
decorated.all = []
def look():
    of = application.commands, application.parts, application.debug, vars(application).get('new')
    logger = log.level, log.propagate, log.handlers
    return of, TABLE, Model.metadata.commands, show([]), decorated.all, logger
";
    const MORE: &str = "import base
base.application.commands['more'] = 1
base.application.parts['inner'][0].append('more')
base.application.debug = True
base.application.new = 'new'
base.TABLE['inner']['more'] = 1
base.TABLE['list'][0].append('more')
base.TABLE['tuple'][0].add('more')
base.Model.metadata.commands['more'] = 1
base.show.register(list, lambda value: 'list')
@base.decorated
def more(): pass
import logging
logging.getLogger('quiet').setLevel(50)
logging.getLogger('quiet').propagate = False
logging.getLogger('quiet').addHandler(logging.NullHandler())
";
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    fs::write(packages.join("base.py"), BASE).expect("it is written");
    fs::write(packages.join("more.py"), MORE).expect("it is written");
    let program = "import sys, base\nprint(base.look())\n\
        if 'less' not in sys.argv:\n    import more\nprint(base.look())\n";
    hides(
        &warm,
        "venv/bin/python",
        program,
        &[&[], &["less"], &[], &["less"]],
    );
}

/// A setting of the process cannot be hidden, so a module that changes one is the program's.
#[test]
fn settings_that_an_import_changes() {
    const CHANGES: [(&str, &str, &str); 11] = [
        (
            "decimal",
            "decimal.getcontext().prec = 7",
            "the context of decimal",
        ),
        (
            "socket",
            "socket.setdefaulttimeout(3)",
            "the default timeout of sockets",
        ),
        ("gc", "gc.disable()", "whether garbage is collected"),
        (
            "logging",
            "logging.disable(logging.INFO)",
            "which log messages are disabled",
        ),
        (
            "sys",
            "sys.setdlopenflags(258)",
            "how native libraries are loaded",
        ),
        (
            "locale",
            "locale.setlocale(locale.LC_ALL, 'C')",
            "the locale",
        ),
        (
            "resource",
            "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
            "limits",
        ),
        (
            "observer",
            "observer.VARIABLE.set(2)",
            "the context variable",
        ),
        (
            "codecs",
            "codecs.register(lambda name: codecs.lookup('ascii') if name == 'mine' else None)",
            "registers a codec",
        ),
        (
            "faulthandler",
            "faulthandler.enable()",
            "whether faults are reported",
        ),
        (
            "os",
            "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})",
            "on which processors it runs",
        ),
    ];
    const OBSERVER: &str =
        "import codecs, contextvars, decimal, faulthandler, gc, locale, logging, os, resource, socket, sys
VARIABLE = contextvars.ContextVar('observed', default=1)
def look():
    core = resource.getrlimit(resource.RLIMIT_CORE)[0]
    return decimal.Decimal(1) / 3, socket.getdefaulttimeout(), gc.isenabled(), core, \\
        logging.root.manager.disable, sys.getdlopenflags(), locale.setlocale(locale.LC_ALL), \\
        VARIABLE.get(), has_codec(), faulthandler.is_enabled(), os.sched_getaffinity(0)
def has_codec():
    try:
        return codecs.lookup('mine').name
    except LookupError:
        return None
";
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    fs::write(packages.join("observer.py"), OBSERVER).expect("it is written");
    let mut program = "import json, observer\nprint(observer.look())\n".to_owned();
    for (at, (module, change, _)) in CHANGES.into_iter().enumerate() {
        let text = format!("import {module}\n{change}\n");
        fs::write(packages.join(format!("change_{at}.py")), text).expect("it is written");
        program += &format!("import change_{at}\nprint(observer.look())\n");
    }
    hides(&warm, "venv/bin/python", &program, &[&[], &[]]);
    let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
    for (at, (_, _, setting)) in CHANGES.into_iter().enumerate() {
        let found = listed
            .lines()
            .any(|line| line.contains(&format!("change_{at}")) && line.contains(setting));
        let is_only = std::thread::available_parallelism().is_ok_and(|count| count.get() == 1);
        let is_possible = !is_only || !setting.contains("processors");
        assert!(found || !is_possible, "{setting}: {listed}");
    }
}

/// Hidden modules are also looked up with the program's own finder.
#[test]
fn the_program_changes_where_modules_are_found() {
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    fs::write(packages.join("base_part.py"), "VALUE = 'installed'\n").expect("it is written");
    fs::write(
        packages.join("uses_part.py"),
        "import base_part\nVALUE = base_part.VALUE\n",
    )
    .expect("it is written");
    // Not in the program's files, where it would be seen before anything is imported ahead.
    fs::write(
        packages.join("bends.py"),
        "import sys\ndef bend(path):\n    sys.path.insert(0, path)\n",
    )
    .expect("it is written");
    fs::create_dir(warm.directory.join("other")).expect("a directory");
    fs::write(
        warm.directory.join("other/base_part.py"),
        "VALUE = 'other'\n",
    )
    .expect("written");
    fs::write(
        warm.directory.join("program.py"),
        "import sys, bends\nif sys.argv[1:]: bends.bend('other')\n\
         import uses_part\nprint(uses_part.VALUE, 'colorsys' in sys.modules)\n",
    )
    .expect("it is written");
    let program = ["venv/bin/python", "program.py"];
    warm.warm_up(&program, &as_is);
    warm.same(&program, &as_is);
    let words = [&program[..], &["bend"]].concat();
    assert_eq!(warm.same(&words, &as_is).out, "other False\n");
    assert_eq!(warm.same(&program, &as_is).out, "installed False\n");
}

/// A native module is loaded once per process. If the program may have it found with another module
/// below it, the program imports it.
#[test]
fn a_native_module_is_found_with_another_module() {
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    fs::create_dir(packages.join("bends")).expect("a directory for the package");
    for (name, text) in [
        (
            "__init__.py",
            "from .paths import *\nfrom .paths import Bender\n",
        ),
        (
            "paths.py",
            "import sys\n__all__ = ['bend']\ndef bend(path):\n    change(path)\n\
             def change(path):\n    sys.path.insert(0, path)\n\
             class Bender:\n    def bend(self, path):\n        bend(path)\n",
        ),
    ] {
        fs::write(packages.join("bends").join(name), text).expect("it is written");
    }
    fs::create_dir(warm.directory.join("other")).expect("a directory");
    fs::write(
        warm.directory.join("other/numbers.py"),
        "class Number:\n    register = staticmethod(print)\n",
    )
    .expect("it is written");
    // `_decimal` imports `numbers`.
    for (name, bends) in [
        ("function.py", "bends.bend('other')"),
        ("class.py", "bends.Bender().bend('other')"),
        ("other_name.py", "list(map(way, ['other']))"),
    ] {
        let text = format!(
            "import sys, json, bends\nway = bends.bend\nif sys.argv[1:]: {bends}\n\
             print('begins')\nimport _decimal\n\
             print(_decimal.Decimal(1), sys.modules['numbers'].__file__)\n"
        );
        fs::write(warm.directory.join(name), text).expect("it is written");
        let program = ["venv/bin/python", name];
        let words = [&program[..], &["bend"]].concat();
        warm.warm_up(&program, &as_is);
        for words in [&program[..], &words, &program] {
            warm.same(words, &as_is);
        }
        let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
        let why = "which changes where modules are searched for (paths.py:6)";
        assert!(listed.contains(why), "{listed}");
        warm.preheat(&["--stop", "all"])
            .output()
            .expect("it starts");
    }
}

/// The same if an edit adds the use below the last import, where most edits do not matter.
#[test]
fn a_use_that_an_edit_adds_redirects_imports() {
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    for (name, text) in [
        ("bends.py", "from inner_paths import bend as turn\n"),
        (
            "inner_paths.py",
            "import sys\ndef bend(path):\n    sys.path.insert(0, path)\n",
        ),
    ] {
        fs::write(packages.join(name), text).expect("it is written");
    }
    fs::create_dir(warm.directory.join("other")).expect("a directory");
    fs::write(
        warm.directory.join("other/numbers.py"),
        "class Number:\n    register = staticmethod(lambda _: None)\nRational = Number\n",
    )
    .expect("it is written");
    let text = "import sys, json, bends\nx = 'one'\ndef main():\n    import _decimal\n    \
                print(x, _decimal.Decimal(1), sys.modules['numbers'].__file__)\nmain()\n";
    let write = |x: &str| {
        let text = text.replace("'one'", x);
        fs::write(warm.directory.join("program.py"), text).expect("it is written");
    };
    write("'one'");
    let program = ["venv/bin/python", "program.py"];
    warm.warm_up(&program, &as_is);
    warm.same(&program, &as_is);
    write("'two'");
    warm.same(&program, &as_is);
    write("bends.turn('other')");
    let plain = Observed::of(warm.plain(&program).output().expect("it starts"));
    assert!(plain.out.contains("other/numbers.py"), "{}", plain.out);
    let started = Observed::of(warm.started(&program).output().expect("it starts"));
    let (said, rest) = started.err.split_once('\n').expect("it reports the start");
    assert!(
        said.contains("that imports may depend on has changed"),
        "{said}"
    );
    let same = (&started.out, rest, started.status);
    assert_eq!(same, (&plain.out, &plain.err[..], plain.status));
}

/// As the listeners of numba: an import uses a key of a `defaultdict`, and the program has used it before.
#[test]
fn a_key_that_appears_at_its_first_use() {
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    for (name, text) in [
        (
            "listens.py",
            "import collections\nlisteners = collections.defaultdict(list)\n\
             def listen(key):\n    listeners[key].append(key)\n    return key\n",
        ),
        (
            "compiles.py",
            "import listens\nlistens.listeners['a'].append(1)\nlistens.listeners['a'].pop()\n\
             listens.listeners['b'].append(2)\n",
        ),
    ] {
        fs::write(packages.join(name), text).expect("it is written");
    }
    let text = "import sys, json, listens\ndef main():\n    \
                for key in sys.argv[1:]: print(listens.listen(key))\n    \
                import compiles\n    print(sorted(map(str, listens.listeners.items())))\nmain()\n";
    fs::write(warm.directory.join("program.py"), text).expect("it is written");
    let program = ["venv/bin/python", "program.py"];
    warm.warm_up(&program, &as_is);
    for keys in [&[][..], &["a"], &["b"]] {
        warm.same(&[&program[..], keys].concat(), &as_is);
    }
}

/// The parent has run the imports of the file; what follows changes what they have bound.
#[test]
fn code_after_the_first_lines_influences_later_imports() {
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    for (name, text) in [
        ("base_part.py", "VALUE = 'base'\n"),
        (
            "uses_part.py",
            "import base_part\nVALUE = base_part.VALUE\n",
        ),
    ] {
        fs::write(packages.join(name), text).expect("it is written");
    }
    fs::write(
        warm.directory.join("program.py"),
        "import sys, json, base_part\nwords = sys.argv[1:]\nbase_part.VALUE = str(words)\n\
         import uses_part\nprint(uses_part.VALUE)\n",
    )
    .expect("it is written");
    let program = ["venv/bin/python", "program.py"];
    warm.warm_up(&program, &as_is);
    assert_eq!(warm.same(&program, &as_is).out, "[]\n");
    let words = [&program[..], &["x"]].concat();
    assert_eq!(warm.same(&words, &as_is).out, "['x']\n");
}

/// Other code may change where modules are searched for; then the program is not continued with
/// the wrong module.
#[test]
fn a_native_module_would_have_to_be_loaded_twice() {
    let Some(warm) = Warm::new() else { return };
    let packages = warm.venv();
    for (name, text) in [
        (
            "calls.py",
            "import bends\ndef begin(path):\n    bends.bend(path)\n",
        ),
        (
            "bends.py",
            "import sys\ndef bend(path):\n    sys.path.insert(0, path)\n",
        ),
    ] {
        fs::write(packages.join(name), text).expect("it is written");
    }
    fs::create_dir(warm.directory.join("other")).expect("a directory");
    fs::write(
        warm.directory.join("other/numbers.py"),
        "class Number:\n    register = staticmethod(print)\n",
    )
    .expect("it is written");
    fs::write(
        warm.directory.join("program.py"),
        "import sys, calls\nif sys.argv[1:]: calls.begin('other')\nprint('begins')\n\
         import _decimal\nprint(_decimal.Decimal(1), sys.modules['numbers'].__file__)\n",
    )
    .expect("it is written");
    let program = ["venv/bin/python", "program.py"];
    let words = [&program[..], &["bend"]].concat();
    warm.warm_up(&program, &as_is);
    warm.same(&program, &as_is);
    let ended = warm.started(&words).output().expect("it starts");
    assert_eq!(ended.status.code(), Some(125));
    assert_eq!(ended.stdout, b"begins\n");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        said.contains("_decimal, which was imported ahead"),
        "{said}"
    );
    // From then on less is imported ahead.
    warm.warm_up(&program, &as_is);
    for words in [&words[..], &program] {
        warm.same(words, &as_is);
    }
}
