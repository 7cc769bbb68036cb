//! Real packages from PyPI: a program of each is the same plainly and started by preheat, before
//! and after a change of its configuration.
//!
//! `./test` tries ten packages of its environment. PREHEAT_TEST_PACKAGES names the environments
//! with all of them (`tests/packages.txt`, `tests/ultralytics.txt`), separated by colons, which
//! `./test --full` makes; PREHEAT_PACKAGES_RESULTS is the file for the table, and
//! PREHEAT_PACKAGES_ONLY names a few packages.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

#[path = "start/files.rs"]
mod files;
mod support;
#[path = "start/warm.rs"]
mod warm;
mod packages {
    pub mod case;
    pub mod configuration;
    pub mod numbers;
    pub mod table;
    pub mod tools;
    pub mod web;
}
use packages::case::{Row, row};
use packages::table::{FEW, Package, all};
use support::{require, run};
use warm::{Observed, Warm, as_is};

/// The Python of an environment, if the environment has a package.
fn python(venv: &Path, package: &str) -> Option<PathBuf> {
    let python = venv.join("bin/python");
    let normal = |name: &str| name.to_lowercase().replace(['-', '.'], "_");
    let packages = fs::read_dir(venv.join("lib")).ok()?.flatten();
    let mut packages = packages.filter_map(|entry| {
        let installed = fs::read_dir(entry.path().join("site-packages")).ok()?;
        let mut names = installed
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let wanted = format!("{}_", normal(package));
        Some(names.any(|name| normal(&name).starts_with(&wanted) && name.contains("-info")))
    });
    packages.any(|has| has).then_some(python)
}

/// The environments to use, and true if they have all packages.
fn environments() -> (Vec<PathBuf>, bool) {
    let named = |name| std::env::var_os(name);
    let full = named("PREHEAT_TEST_PACKAGES");
    let paths = full.clone().or_else(|| named("PREHEAT_TEST_VENV"));
    let paths = paths.iter().flat_map(std::env::split_paths).collect();
    (paths, full.is_some())
}

/// The Python of the first environment that has a package, also of those for all tests.
fn python_with(package: &str) -> Option<PathBuf> {
    let (environments, _) = environments();
    let found = environments.iter().find_map(|venv| python(venv, package));
    found.or_else(|| support::python_with(package))
}

/// A program with this text, in an environment that has a package.
fn with_package(package: &str, text: &str) -> Option<Warm> {
    let warm = Warm::with(require(package, python_with(package))?)?;
    fs::write(warm.directory.join("program.py"), text).expect("it is written");
    Some(warm)
}

#[test]
fn warnings_as_errors_are_not_a_reason() {
    let Some(warm) = with_package(
        "PyYAML",
        "import decimal, numpy, warnings, yaml
print(yaml.safe_load('a: 1'), numpy.arange(3).sum())
warnings.warn('the last line')
",
    ) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let program = [python, "-W", "error", "program.py"];
    warm.warm_up(&program, &as_is);
    assert_eq!(warm.same(&program, &as_is).status.code(), Some(1));
    let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
    assert!(!listed.contains("not ahead"), "{listed}");
}

/// pyarrow contains jemalloc, which has a thread in the background. It is in the small environment
/// too; pandas, which imports it, is not.
#[test]
fn a_thread_that_forks_do_not_need_is_not_a_reason() {
    let Some(warm) = with_package(
        "pyarrow",
        "try: import pandas
except ImportError: pandas = None
import pyarrow, pyarrow.compute, sklearn.linear_model
table = pyarrow.table({'a': [1.0, 2.0], 'b': ['x', None]})
if pandas: print(pyarrow.Table.from_pandas(pandas.DataFrame({'a': [1.0, 2.0]})).to_pydict())
print(table.to_pydict(), pyarrow.compute.sum(table['a']))
for name in ('mimalloc', 'jemalloc', 'system'):
    pool = getattr(pyarrow, name + '_memory_pool')()
    buffers = [pyarrow.allocate_buffer(1 << n, memory_pool=pool) for n in range(24)]
    print(name, pool.bytes_allocated())
    del buffers
    print(pool.bytes_allocated())
print(sklearn.linear_model.LinearRegression().fit([[1.0], [2.0]], [0, 1]).coef_.round(6))
",
    ) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let program = [python, "program.py"];
    warm.warm_up(&program, &as_is);
    warm.same(&program, &as_is);
    let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
    assert!(!listed.contains("starts threads"), "{listed}");
}

/// openai keeps random bytes, and bokeh keeps its process ID.
#[test]
fn values_of_one_process_are_not_those_of_another() {
    for (package, program) in [
        (
            "openai",
            "import json, numpy, openai.lib.bedrock as kept
print(True, kept._LEGACY_SIGNATURE_KEY.hex())
",
        ),
        (
            "bokeh",
            "import json, os, bokeh.server.tornado as kept
print(kept.PID == os.getpid(), kept.PID)
",
        ),
    ] {
        let Some(warm) = with_package(package, program) else {
            continue;
        };
        let python = warm.python.to_str().expect("its path is text");
        let program = [python, "program.py"];
        warm.warm_up(&program, &as_is);
        let mut outs = BTreeSet::new();
        for _ in 0..2 {
            for mut command in [warm.plain(&program), warm.started(&program)] {
                let output = Observed::of(command.output().expect("it starts"));
                let said = output.err.lines().next();
                assert!(
                    said.is_none_or(|said| said.starts_with("preheat: started warm")),
                    "{package}: {said:?}"
                );
                assert!(output.out.starts_with("True "), "{package}: {}", output.out);
                outs.insert(output.out);
            }
        }
        assert_eq!(outs.len(), 4, "{package}: {outs:?}");
    }
}

/// Lists the modules that are executed in the program: others were imported ahead.
const NOTES: &str = "import importlib.machinery
executed, of = [], importlib.machinery.SourceFileLoader
def note(self, module, execute=of.exec_module):
    executed.append(module.__name__)
    execute(self, module)
setattr(of, 'exec_module', note)
";

/// filelock creates a temporary directory when it is imported, and keeps the process ID; a lock
/// that is created in the program works as ever.
#[test]
fn filelock_is_imported_ahead() {
    let Some(warm) = with_package(
        "filelock",
        &format!(
            "{NOTES}import filelock, os
known = not any(name.startswith('filelock') for name in executed)
with filelock.FileLock('a.lock') as lock:
    print(lock.is_locked, filelock.FileLock('a.lock', timeout=0).is_locked)
child = os.fork()
if child == 0:
    with filelock.FileLock('a.lock'):
        os._exit(7)
print(os.waitpid(child, 0)[1] >> 8)
print(known, file=open('known', 'w'))
"
        ),
    ) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let program = [python, "program.py"];
    warm.warm_up(&program, &as_is);
    // The plain start of the two comes first, so this file is the warm one's.
    warm.same(&program, &as_is);
    let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
    let known = fs::read_to_string(warm.directory.join("known")).expect("it was written");
    assert_eq!(known, "True\n", "{listed}");
}

/// JAX imports filelock. Almost nothing is left to import in a warm start of a training step.
#[test]
fn jax_is_imported_ahead() {
    let Some(warm) = with_package(
        "jax",
        &format!(
            "{NOTES}import jax, jax.numpy as jnp
@jax.jit
def train(weights, x):
    gradient = jax.grad(lambda weights: jnp.mean(jax.nn.relu(x @ weights) ** 2))(weights)
    return weights - 0.01 * gradient
weights = jax.random.normal(jax.random.key(0), (16, 16))
for _ in range(3):
    weights = train(weights, jnp.ones((4, 16)))
print(jax.device_get(weights).tobytes().hex())
print(len(executed), *executed[:20], file=open('left', 'w'))
"
        ),
    ) else {
        return;
    };
    let python = warm.python.to_str().expect("its path is text");
    let program = [python, "program.py"];
    let how = |command: &mut std::process::Command| {
        command.env("JAX_PLATFORMS", "cpu");
    };
    warm.warm_up(&program, &how);
    // The plain start of the two comes first, so this file is the warm one's.
    warm.same(&program, &how);
    let left = fs::read_to_string(warm.directory.join("left")).expect("it was written");
    let count = left.split_whitespace().next();
    let count: usize = count.and_then(|it| it.parse().ok()).expect("a number");
    let listed = run(&mut warm.preheat(&["--list", "-v"])).out;
    assert!(count <= 5, "{left}{listed}");
}

#[test]
fn packages_are_the_same_plainly_and_warm() {
    let (environments, has_all) = environments();
    if environments.is_empty() {
        require::<()>("packages", None);
        return;
    }
    let only = std::env::var("PREHEAT_PACKAGES_ONLY").ok();
    let is_chosen = |package: &&Package| match &only {
        Some(names) => names.split(',').any(|name| name == package.name),
        None => has_all || FEW.contains(&package.name),
    };
    let pending: Vec<_> = all().filter(is_chosen).collect();
    let pending = Mutex::new(pending.into_iter());
    let rows = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let next = pending.lock().expect("nobody has failed with it").next();
                    let Some(package) = next else { return };
                    let Some(python) = require(package.name, python_with(package.name)) else {
                        continue;
                    };
                    let warm = Warm::with(python).expect("a directory");
                    let row = row(&warm, package);
                    rows.lock()
                        .expect("nobody has failed with it")
                        .push((row, package));
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("nobody has failed with it");
    rows.sort_by_key(|(row, _)| row.name.to_lowercase());
    let table = table(&rows);
    println!("{table}");
    if let Some(path) = std::env::var_os("PREHEAT_PACKAGES_RESULTS") {
        fs::write(path, &table).expect("the results are written");
    }
    let mut wrong = String::new();
    for (row, package) in &rows {
        let name = row.name;
        if !row.differences.is_empty() {
            let _ = writeln!(wrong, "== {name} differs:\n{}", row.differences);
        }
        if !row.is_visible {
            let _ = writeln!(wrong, "== {name}: the change changes nothing");
        }
        let is_as_expected = match package.plain {
            "" => row.is_warm(),
            reason => row.starts.iter().all(|how| how.contains(reason)),
        };
        if !is_as_expected {
            let _ = writeln!(wrong, "== {name}: {:#?}", row.starts);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The results as a table in Markdown.
fn table(rows: &[(Row, &Package)]) -> String {
    let mut text = String::from(
        "| package | version | changed | first | after the change | later | changed back | equal |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (row, _) in rows {
        let equal = if row.differences.is_empty() {
            "yes"
        } else {
            "no"
        };
        let starts = row.starts.join(" | ");
        let _ = writeln!(
            text,
            "| {} | {} | {} | {starts} | {equal} |",
            row.name, row.version, row.changed
        );
    }
    text
}
