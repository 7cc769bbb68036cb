//! Real Python programs, recorded and not: their output is the same, and the recording
//! shows what they did.

mod support;

use preheat_wire::{BytecodeWrite, Event, Iteration, Kind, NoBytecode};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{Process, Scratch, missing, read, recorded};

const SITECUSTOMIZE: &str = include_str!("../../launch/src/python/sitecustomize.py");

/// A Python to test with.
fn python() -> Option<String> {
    let path = std::env::var("PREHEAT_TEST_TORCH_PYTHON").unwrap_or("/usr/bin/python3".to_owned());
    if Path::new(&path).exists() {
        return Some(path);
    }
    missing("python", &format!("there is no {path}"));
    None
}

struct Place {
    scratch: Scratch,
    ours: PathBuf,
}

impl Place {
    fn new() -> Place {
        let scratch = Scratch::new();
        let ours = scratch.join("ours");
        std::fs::create_dir(&ours).unwrap();
        std::fs::write(ours.join("sitecustomize.py"), SITECUSTOMIZE).unwrap();
        Place { scratch, ours }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.scratch.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs the command recorded, with `path` after ours in PYTHONPATH.
    fn recorded(&self, python: &str, arguments: &[&str], path: &str) -> Command {
        let mut command = recorded(python, &self.scratch.recording());
        let ours = self.ours.to_str().unwrap();
        let whole = if path.is_empty() {
            ours.to_owned()
        } else {
            format!("{ours}:{path}")
        };
        command
            .args(arguments)
            .env("PYTHONPATH", whole)
            .env("PREHEAT_PYTHON", &self.ours)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(self.scratch.path());
        command
    }

    fn plain(&self, python: &str, arguments: &[&str], path: &str) -> Command {
        let mut command = Command::new(python);
        command
            .args(arguments)
            .env_remove("PYTHONPATH")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(self.scratch.path());
        if !path.is_empty() {
            command.env("PYTHONPATH", path);
        }
        command
    }

    /// Runs it both ways; the output must not differ.
    fn both(&self, python: &str, arguments: &[&str], path: &str) -> (Output, Vec<Process>) {
        let with = self.recorded(python, arguments, path).output().unwrap();
        let without = self.plain(python, arguments, path).output().unwrap();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(said(&with.stdout), said(&without.stdout));
        assert_eq!(said(&with.stderr), said(&without.stderr));
        assert_eq!(with.status, without.status);
        (with, read(&self.scratch.recording()))
    }
}

/// The imports of a process: name, importer, function, position in the main program.
fn imports(process: &Process) -> Vec<Vec<String>> {
    process
        .of(Kind::Import)
        .iter()
        .map(|import| import.text(1).split('\0').map(str::to_owned).collect())
        .collect()
}

fn find<'a>(imports: &'a [Vec<String>], name: &str) -> &'a [String] {
    imports
        .iter()
        .find(|import| import[0] == name)
        .unwrap_or_else(|| panic!("{name} is not among {imports:?}"))
}

#[test]
fn imports_have_names_importers_and_positions() {
    let Some(python) = python() else { return };
    let place = Place::new();
    place.write(
        "outer/__init__.py",
        "def load():\n    from outer import inner\n",
    );
    place.write("outer/inner.py", "import colorsys\n");
    place.write(
        "main.py",
        "import outer\n\ndef work():\n    outer.load()\n\nwork()\n",
    );
    let (_, files) = place.both(&python, &["main.py"], "");
    let found = imports(&files[0]);
    assert_eq!(
        find(&found, "outer")[1..],
        ["__main__", "<module>", "main.py:1"].map(whole(&place))
    );
    let inner = find(&found, "outer.inner");
    assert_eq!(inner[1..3], ["outer", "load"]);
    assert!(inner[3].ends_with("main.py:4"), "{inner:?}");
    assert_eq!(find(&found, "colorsys")[1], "outer.inner");
    let process = &files[0];
    assert_eq!(process.events(Event::PythonBegan).len(), 1);
    assert!(process.texts(Event::PythonReady)[0].starts_with('3'));
    let file = place
        .scratch
        .join("outer/inner.py")
        .to_str()
        .unwrap()
        .to_owned();
    assert!(process.texts(Event::File).contains(&file));
}

/// Python reports the absolute path of a script since 3.9.
fn whole(place: &Place) -> impl Fn(&str) -> String {
    move |text| match text {
        "main.py:1" => format!("{}/main.py:1", place.scratch.path().display()),
        other => other.to_owned(),
    }
}

#[test]
fn commands_modules_and_the_path_are_unchanged() {
    let Some(python) = python() else { return };
    let place = Place::new();
    place.write(
        "tool.py",
        "import sys, colorsys\nprint(sys.path, sys.argv[1:], __name__)\n",
    );
    let code = "import sys, os, sitecustomize as s; print(sys.path, s.__file__, \
        sorted(sys.modules), sorted(sys.path_importer_cache), dir(__builtins__))";
    let (_, files) = place.both(&python, &["-c", code], "");
    assert!(!files[0].of(Kind::Import).is_empty());
    let place = Place::new();
    place.write(
        "tool.py",
        "import sys, colorsys\nprint(sys.path, sys.argv[1:], __name__)\n",
    );
    let (_, files) = place.both(&python, &["-m", "tool", "a"], "");
    assert_eq!(
        find(&imports(&files[0]), "colorsys")[1..3],
        ["__main__", "<module>"]
    );
}

#[test]
fn a_failing_import_has_the_same_message() {
    let Some(python) = python() else { return };
    let bad = [
        ("missing", "import not_there_at_all\n"),
        ("name", "from json import not_there_at_all\n"),
        ("syntax", "def (:\n"),
        ("raises", "def f():\n    raise ValueError('no')\nf()\n"),
        ("nested", "import raises\n"),
        (
            "dynamic",
            "import importlib\nimportlib.import_module('raises')\n",
        ),
        ("parent", "import json.not_there\n"),
    ];
    for (name, _) in bad {
        let place = Place::new();
        for (name, text) in bad {
            place.write(&format!("{name}.py"), text);
        }
        let code = format!("print('begin')\nimport {name}");
        let (output, files) = place.both(&python, &["-c", &code], "");
        assert_eq!(output.status.code(), Some(1));
        let failed = files[0].of(Kind::Import);
        assert!(failed.iter().any(|import| import.record.status == 1));
        assert!(failed.iter().all(|import| !import.is_open()));
    }
}

#[test]
fn the_users_own_sitecustomize_is_run() {
    let Some(python) = python() else { return };
    let place = Place::new();
    place.write(
        "own/sitecustomize.py",
        "import sys\nsys.mine = __name__, __file__\n",
    );
    let own = place.scratch.join("own").to_str().unwrap().to_owned();
    let code = "import sys; print(sys.mine, sys.modules['sitecustomize'].__file__, sys.path)";
    let (output, _) = place.both(&python, &["-c", code], &own);
    assert!(String::from_utf8_lossy(&output.stdout).contains("own/sitecustomize.py"));
    place.write(
        "own/sitecustomize.py",
        "raise ValueError('in the user\\'s own')\n",
    );
    let (output, _) = place.both(&python, &["-c", "print(1)"], &own);
    assert!(String::from_utf8_lossy(&output.stderr).contains("in the user's own"));
    place.write("own/sitecustomize.py", "import not_there\n");
    place.both(&python, &["-c", "print(1)"], &own);
}

#[test]
fn multiprocessing_by_fork_and_by_spawn() {
    let Some(python) = python() else { return };
    for method in ["fork", "spawn"] {
        let place = Place::new();
        let main = format!(
            "import multiprocessing\ndef work(n):\n    import colorsys\n    return n * n\n\
             if __name__ == '__main__':\n    with multiprocessing.get_context('{method}').Pool(2) \
             as pool:\n        print(pool.map(work, range(4)))\n"
        );
        place.write("main.py", &main);
        let (output, files) = place.both(&python, &["main.py"], "");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "[0, 1, 4, 9]\n");
        let workers = files
            .iter()
            .filter(|file| imports(file).iter().any(|import| import[0] == "colorsys"))
            .count();
        assert!((1..=2).contains(&workers), "{method}: {workers}");
    }
}

#[test]
fn a_virtual_environment() {
    let Some(python) = python() else { return };
    let place = Place::new();
    let made = place
        .plain(&python, &["-m", "venv", "--without-pip", "venv"], "")
        .output()
        .unwrap();
    if !made.status.success() {
        missing("python", "it has no venv");
        return;
    }
    let inside = place
        .scratch
        .join("venv/bin/python")
        .to_str()
        .unwrap()
        .to_owned();
    let code = "import sys, colorsys; print(sys.prefix, sys.path)";
    let (output, files) = place.both(&inside, &["-c", code], "");
    assert!(String::from_utf8_lossy(&output.stdout).contains("venv"));
    find(&imports(&files[0]), "colorsys");
}

#[test]
fn other_ways_of_starting_python() {
    let Some(python) = python() else { return };
    for arguments in [["-I", "-c"], ["-E", "-c"], ["-O", "-c"]] {
        let place = Place::new();
        let code = [
            &arguments[..],
            &["import sys, json; print(sys.path, json.loads('[1]'))"],
        ];
        place.both(&python, &code.concat(), "");
    }
}

const TRAINING: &str = "
import copy, inspect, pickle, warnings
import torch
warnings.simplefilter('error')
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
class Own(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)
optimizer = Own(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    schedule.step()
print(inspect.signature(torch.nn.Module.__call__), inspect.signature(optimizer.step))
print(inspect.getsource(torch.nn.Module.__call__)[:40], torch.nn.Module.__call__.__qualname__)
pickle.loads(pickle.dumps(model)); copy.deepcopy(optimizer)
";

const TRANSFORMED: &str = "
for made in (torch.jit.script(model), torch.jit.trace(model, torch.ones(2, 4)),
             __import__('torch.fx').fx.symbolic_trace(model)):
    print(made(torch.ones(2, 4)).shape)
";

fn iterations(process: &Process, which: Iteration) -> usize {
    process
        .of(Kind::Iteration)
        .iter()
        .filter(|found| found.record.symbol == which as u16 && !found.is_open())
        .count()
}

#[test]
fn steps_and_model_calls_of_torch() {
    let Some(python) = python() else { return };
    let place = Place::new();
    let has = place
        .plain(&python, &["-c", "import torch"], "")
        .output()
        .unwrap();
    if !has.status.success() {
        missing("torch", &format!("{python} has none"));
        return;
    }
    let (output, files) = place.both(&python, &["-c", TRAINING], "");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(iterations(&files[0], Iteration::OptimizerStep), 3);
    assert_eq!(iterations(&files[0], Iteration::ModelCall), 3);
    let texts: Vec<_> = files[0]
        .of(Kind::Text)
        .iter()
        .map(|text| text.text(0))
        .collect();
    assert!(texts.contains(&"Own".to_owned()) && texts.contains(&"Sequential".to_owned()));
    assert!(files[0].texts(Event::Note).is_empty());
    place.both(&python, &["-c", &format!("{TRAINING}{TRANSFORMED}")], "");
    let place = Place::new();
    place
        .recorded(&python, &["-c", TRAINING], "")
        .env("PREHEAT_OPTIONS", "no-python-iterations")
        .output()
        .unwrap();
    let files = read(&place.scratch.recording());
    assert!(files[0].of(Kind::Iteration).is_empty());
}

const KERAS: &str = "
import keras, numpy
model = keras.Sequential([keras.layers.Dense(2)])
model.compile(optimizer='sgd', loss='mse')
x, y = numpy.ones((32, 3), 'float32'), numpy.ones((32, 2), 'float32')
model.fit(x, y, batch_size=8, verbose=0)
model.predict(x, batch_size=16, verbose=0)
model.train_on_batch(x, y)
model.test_on_batch(x, y)
";

#[test]
fn steps_of_keras() {
    let environment = std::env::var("PREHEAT_TEST_VENV").unwrap_or_default();
    let python = format!("{environment}/bin/python");
    let place = Place::new();
    let has = place.plain(&python, &["-c", "import keras"], "").output();
    if !has.is_ok_and(|has| has.status.success()) {
        missing(
            "tensorflow",
            "PREHEAT_TEST_VENV names no environment with Keras",
        );
        return;
    }
    let output = place
        .recorded(&python, &["-c", KERAS], "")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let files = read(&place.scratch.recording());
    let process = files
        .iter()
        .find(|file| !file.of(Kind::Iteration).is_empty())
        .unwrap();
    assert_eq!(iterations(process, Iteration::TrainStep), 5);
    assert_eq!(iterations(process, Iteration::PredictStep), 2);
    assert_eq!(iterations(process, Iteration::TestStep), 1);
    assert!(process.texts(Event::Note).is_empty());
}

/// The compiled modules of a process: file name, reason, and whether bytecode is written.
fn compiled(process: &Process) -> Vec<(String, NoBytecode, BytecodeWrite)> {
    let all = process.of(Kind::Bytecode).into_iter();
    all.map(|found| {
        let path = found.text(1);
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let why = NoBytecode::from_u16(found.record.symbol).expect("a reason");
        let write = BytecodeWrite::from_i32(found.record.status).expect("written or not");
        (name, why, write)
    })
    .collect()
}

#[test]
fn compiled_modules_have_a_reason() {
    let Some(python) = python() else { return };
    let place = Place::new();
    place.write("missing.py", "");
    place.write("stale.py", "x = 1");
    place.write("unreadable.py", "");
    place.write("kept.py", "");
    place.write("fixed/beside.py", "");
    // A file is in place of the directory for bytecode.
    place.write("fixed/__pycache__", "");
    place.write(
        "main.py",
        "import missing, stale, unreadable, kept, fixed.beside\n",
    );
    let prepare = format!(
        "import os, py_compile, importlib.util as u\n\
         for name in ('stale.py', 'kept.py'): py_compile.compile(name)\n\
         open('stale.py', 'w').write('x = 12345')\n\
         os.symlink('loop', u.cache_from_source({:?}))",
        "unreadable.py"
    );
    let mut command = Command::new(&python);
    let made = command
        .args(["-c", &prepare])
        .current_dir(place.scratch.path());
    let made = made.status().expect("it starts");
    assert!(made.success());
    let loops = place.scratch.join("__pycache__/loop");
    std::os::unix::fs::symlink("loop", &loops).expect("a link to itself");

    let (_, files) = place.both(&python, &["main.py"], "");
    let found = compiled(&files[0]);
    let check = |name: &str, why, write| {
        let all = found.iter().filter(|found| found.0 == name);
        assert_eq!(all.collect::<Vec<_>>(), [&(name.to_owned(), why, write)]);
    };
    check("missing.py", NoBytecode::Missing, BytecodeWrite::TurnedOff);
    check("stale.py", NoBytecode::Stale, BytecodeWrite::TurnedOff);
    check(
        "unreadable.py",
        NoBytecode::Unreadable,
        BytecodeWrite::TurnedOff,
    );
    assert!(!found.iter().any(|found| found.0 == "kept.py"), "{found:?}");

    // Writing is allowed: only files that cannot be written stay without bytecode.
    let recording = Scratch::new();
    let mut command = place.recorded(&python, &["main.py"], "");
    command.env_remove("PYTHONDONTWRITEBYTECODE");
    command.env("PREHEAT_DIRECTORY", recording.path());
    assert!(command.status().expect("it starts").success());
    let found = compiled(&read(recording.path())[0]);
    let of = |name: &str| {
        found
            .iter()
            .find(|found| found.0 == name)
            .map(|found| found.2)
    };
    assert_eq!(of("missing.py"), Some(BytecodeWrite::Writes));
    assert_eq!(of("beside.py"), Some(BytecodeWrite::NotWritable));
}

#[test]
fn only_imports_count_as_compiled_and_errors_look_the_same() {
    let Some(python) = python() else { return };
    let place = Place::new();
    place.write("broken.py", "def f(:\n");
    place.write("other.py", "");
    place.write(
        "main.py",
        "import builtins, py_compile\n\
         py_compile.compile('other.py', cfile='other.bin')\n\
         exec(compile('x = 1', 'text', 'exec'))\n\
         real = compile\n\
         seen = []\n\
         builtins.compile = lambda *a, **k: (seen.append(a[1]), real(*a, **k))[1]\n\
         import other\n\
         print(len(seen))\n\
         builtins.compile = real\n\
         import broken\n",
    );
    let (said, files) = place.both(&python, &["main.py"], "");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "1\n");
    let found = compiled(&files[0]);
    let count = |name: &str| found.iter().filter(|found| found.0 == name).count();
    assert_eq!((count("other.py"), count("broken.py")), (1, 1), "{found:?}");
}
