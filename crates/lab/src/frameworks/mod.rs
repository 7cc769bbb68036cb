//! The frameworks of a Python installation, and the experiments that each can run.
//!
//! Each script here runs one experiment in a fresh Python process and writes the same lines
//! as a native start. `common.py` is prepended to each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use preheat_host::Scratch;
use preheat_model::doctor::BytecodeFound;
use preheat_model::lab::{ExperimentId, names};
use serde::Deserialize;

use crate::experiments;
use crate::process::{Ended, last_lines, run_limited};

/// A framework that the lab supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framework {
    /// PyTorch.
    Torch,
    /// TensorFlow with Keras.
    Tensorflow,
    /// JAX.
    Jax,
}

impl Framework {
    /// All frameworks.
    pub const ALL: [Framework; 3] = [Framework::Torch, Framework::Tensorflow, Framework::Jax];

    /// The name on the command line and in JSON, and the Python module.
    pub fn id(self) -> &'static str {
        match self {
            Framework::Torch => "torch",
            Framework::Tensorflow => "tensorflow",
            Framework::Jax => "jax",
        }
    }

    /// A hint on how to install it.
    pub fn install_hint(self) -> &'static str {
        match self {
            Framework::Torch => {
                "`pip install torch`, or the Debian package python3-torch with --python /usr/bin/python3"
            }
            Framework::Tensorflow => "`pip install tensorflow`, or tensorflow-cpu without a GPU",
            Framework::Jax => "`pip install jax`, or `pip install jax[cuda13]` for a GPU",
        }
    }

    fn script(self) -> &'static str {
        match self {
            Framework::Torch => include_str!("torch.py"),
            Framework::Tensorflow => include_str!("tensorflow.py"),
            Framework::Jax => include_str!("jax.py"),
        }
    }

    /// Writes the script into `directory`. Its name must differ from the module's, or
    /// Python would import the script instead of the framework.
    pub fn write_script(self, directory: &Path) -> io::Result<PathBuf> {
        let path = directory.join(format!("preheat_lab_{}.py", self.id()));
        fs::write(&path, [include_str!("common.py"), self.script()].concat())?;
        Ok(path)
    }

    /// The variants of `experiment` that it can run on `device`; empty if it cannot run the
    /// experiment at all.
    pub fn variants(self, experiment: ExperimentId, device: &str) -> &'static [&'static str] {
        use ExperimentId::{
            Alloc, Infer, Prealloc, Train, TrainInitialized, TrainNoOptimizer, Transfer,
        };
        let runs = match (self, experiment) {
            (Framework::Torch, Alloc | Train | TrainInitialized | TrainNoOptimizer | Infer) => true,
            // On the CPU, tensors need no copies, and PyTorch has no pool.
            (Framework::Torch, Transfer | Prealloc) => device == "cuda",
            (Framework::Tensorflow, Train | Infer) | (Framework::Jax, Infer) => true,
            _ => false,
        };
        match experiment {
            _ if !runs => &[],
            // A sweep on the CPU would measure malloc, not the framework.
            Alloc if device == "cpu" => &["", names::RANDN],
            Alloc => &["", names::RANDN, names::SWEEP],
            Transfer => &["", names::PINNED_OR_RANDN, names::SWEEP],
            // On the CPU there is nothing to initialize or move: one variant of each is
            // enough.
            TrainInitialized if device == "cpu" => &[names::MODEL_ON_DEVICE],
            TrainNoOptimizer if device == "cpu" => &[names::NO_OPTIMIZER, names::FORWARD_ONLY],
            Infer if device == "cpu" => &[
                names::MLP,
                names::CONV,
                names::MLP_LARGE,
                names::UNET,
                names::MLP_ON_DEVICE,
            ],
            Infer => &[
                names::MLP,
                names::CONV,
                names::MLP_LARGE,
                names::UNET,
                names::MLP_ON_DEVICE,
                names::MLP_LARGE_ON_DEVICE,
                names::UNET_ON_DEVICE,
            ],
            _ => experiments::variants(experiment),
        }
    }

    /// Returns true if it can compute on the CUDA device. The only way to know is to import
    /// it.
    pub fn computes_on_cuda(self, python: &Path) -> bool {
        let script = match self {
            Framework::Torch => "import torch; ok = torch.cuda.is_available()",
            Framework::Tensorflow => {
                "import tensorflow as tf; ok = bool(tf.config.list_physical_devices('GPU'))"
            }
            Framework::Jax => "import jax; ok = jax.default_backend() == 'gpu'",
        };
        let script = format!("{script}\nraise SystemExit(0 if ok else 1)");
        ask(python, &script, IMPORT_LIMIT).is_ok()
    }
}

/// A Python installation and its frameworks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonFound {
    /// The executable.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// Frameworks with their versions.
    pub frameworks: Vec<(Framework, String)>,
}

#[derive(Deserialize)]
struct Answer {
    version: String,
    frameworks: Vec<(String, String)>,
}

/// Finds modules without importing them, which takes milliseconds instead of seconds.
const FIND_FRAMEWORKS: &str = r#"
import importlib.metadata, importlib.util, json, platform
found = []
for name in ("torch", "tensorflow", "jax"):
    if importlib.util.find_spec(name) is None:
        continue
    version = "of unknown version"
    for distribution in (name, name + "-cpu", name + "_cpu"):
        try:
            version = importlib.metadata.version(distribution)
            break
        except importlib.metadata.PackageNotFoundError:
            pass
    found.append((name, version))
print(json.dumps({"version": platform.python_version(), "frameworks": found}))
"#;

/// Inspects a Python installation: `named`, else the active virtual environment's, else
/// `python3`.
pub fn find_python(named: Option<&Path>) -> Result<PythonFound, String> {
    let path = named.map_or_else(
        || match std::env::var_os("VIRTUAL_ENV") {
            Some(venv) => Path::new(&venv).join("bin/python"),
            None => PathBuf::from("python3"),
        },
        // Starts run in their own directories, so a relative path would not be found. A
        // bare name is looked up in PATH and kept unchanged.
        |named| match named.components().count() {
            1 => named.to_path_buf(),
            _ => std::path::absolute(named).unwrap_or_else(|_| named.to_path_buf()),
        },
    );
    let text = ask(&path, FIND_FRAMEWORKS, PROBE_LIMIT)?;
    let answer: Answer = text
        .lines()
        .last()
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| {
            format!(
                "{} does not seem to be Python 3.8 or later; choose another with --python PATH",
                path.display()
            )
        })?;
    let frameworks = Framework::ALL
        .into_iter()
        .filter_map(|known| {
            let (_, version) = answer
                .frameworks
                .iter()
                .find(|(name, _)| name == known.id())?;
            Some((known, version.clone()))
        })
        .collect();
    Ok(PythonFound {
        path,
        version: answer.version,
        frameworks,
    })
}

/// A Python that does not report its version within this time is considered hung.
const PROBE_LIMIT: Duration = Duration::from_secs(20);
/// A framework that is not imported within this time is considered hung.
const IMPORT_LIMIT: Duration = Duration::from_secs(120);

/// Runs a short script and returns its output.
fn ask(python: &Path, script: &str, limit: Duration) -> Result<String, String> {
    let shown = python.display();
    let scratch = Scratch::new("lab").map_err(|why| why.to_string())?;
    let printed = scratch.path().join("printed");
    let mut command = Command::new(python);
    // Not in the user's directory, whose files Python could import as modules.
    command.arg("-c").arg(script).current_dir(scratch.path());
    match run_limited(&mut command, &printed, limit) {
        Ok(Ended::Exited(status)) if status.success() => {
            fs::read_to_string(&printed).map_err(|why| why.to_string())
        }
        Ok(Ended::Exited(status)) => Err(format!(
            "{shown} exited with {status} while listing its frameworks; last output: {}",
            last_lines(&printed)
        )),
        Ok(Ended::TimedOut) => Err(format!(
            "{shown} did not answer within {} s",
            limit.as_secs()
        )),
        Ok(Ended::Interrupted) => Err("interrupted".to_owned()),
        Err(why) => Err(format!(
            "cannot start the Python {shown}: {why}; choose another with --python PATH"
        )),
    }
}

/// Series names that the scripts use too, so that a test notices a change on one side only.
#[cfg(test)]
const SHARED_NAMES: &[&str] = &[
    names::IMPORT,
    names::BUILD_MODEL,
    names::BUILD_OPTIMIZER,
    names::INITIALIZE,
    names::FROM_NOTHING,
    names::MOVE_MODEL,
    names::RANDN_FROM_NOTHING,
    names::RANDN_CONTEXT_READY,
    names::D2D,
    names::MOVE_PINNED,
    names::FORWARD_BACKWARD,
    names::NEW_WEIGHTS,
    names::ARRAY_MEMORY,
    names::FIRST_INITIALIZE,
    names::FIRST_BUILD,
    names::FIRST_MOVE,
    names::FIRST_FORWARD,
    names::FIRST_TRACE,
    names::RANDN,
    names::PINNED_OR_RANDN,
    names::MODEL_ON_DEVICE,
    names::FORWARD_ONLY,
    names::UNET,
    names::CONTEXT_READY,
    names::FREE_AND_AGAIN,
    names::FROM_POOL,
    names::AFTER_TRIM,
    names::ALLOCATE,
    names::PIN,
    names::H2D_PAGEABLE,
    names::H2D_PINNED,
    names::D2H_PAGEABLE,
    names::D2H_PINNED,
    names::BIG_BLOCK,
    names::ALLOCATE_4_MIB,
    names::ITERATION,
    names::FORWARD_RECORDING,
    names::FORWARD_PLAIN,
    names::RECORDINGS,
    names::FRESH_INPUT,
    names::RESIDENT_INPUT,
    names::DEVICE_MEMORY,
    names::HOST_MEMORY,
    names::LONG_LAUNCH,
    names::LONG_LAUNCH_NAIVE,
    names::SWEEP,
    names::AFTER_NOTHING,
    names::AFTER_HELD,
    names::CONV,
    names::MLP_LARGE,
];

// Checks whether the packages of a Python have bytecode.

/// Lists files without reading them; 20,000 modules are enough.
const FIND_BYTECODE: &str = r#"
import importlib.util, json, os, sys, sysconfig
packages = sysconfig.get_paths()["purelib"]
found = importlib.util.find_spec("torch") or importlib.util.find_spec("numpy")
if found and found.submodule_search_locations:
    packages = os.path.dirname(list(found.submodule_search_locations)[0])
modules = missing = 0
for directory, inner, files in os.walk(packages):
    inner[:] = [name for name in inner if name not in ("__pycache__", "test", "tests")]
    if "site-packages" not in directory and "dist-packages" not in directory:
        continue
    kept = {}
    for name in files:
        if name.endswith(".py"):
            cached = importlib.util.cache_from_source(os.path.join(directory, name))
            place, entry = os.path.split(cached)
            if place not in kept:
                kept[place] = set(os.listdir(place)) if os.path.isdir(place) else set()
            modules += 1
            missing += entry not in kept[place]
    if modules >= 20000:
        break
print(json.dumps({
    "modules": modules,
    "missing": missing,
    "writes": not sys.dont_write_bytecode,
    "writable": os.access(packages, os.W_OK),
    "packages": packages,
}))
"#;

/// Listing many small directories on a cold disk is slow.
const LIMIT: Duration = Duration::from_secs(60);

/// Inspects the packages of a Python; the error is a message.
pub fn find_bytecode(python: &Path) -> Result<BytecodeFound, String> {
    let text = ask(python, FIND_BYTECODE, LIMIT)?;
    let answer = text.lines().last();
    answer
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| {
            format!(
                "{} does not say whether its packages have bytecode",
                python.display()
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_claims_use_the_same_names() {
        let all: String = Framework::ALL.iter().map(|f| f.script()).collect();
        let all = [include_str!("common.py"), &all].concat();
        for name in SHARED_NAMES {
            assert!(
                all.contains(&format!("\"{name}\"")),
                "no script contains \"{name}\""
            );
        }
    }

    #[test]
    fn a_missing_python_is_an_error_with_its_path() {
        let why = find_python(Some(Path::new("/nowhere/python"))).expect_err("it does not exist");
        assert!(
            why.contains("/nowhere/python") && why.contains("--python"),
            "{why}"
        );
    }

    #[test]
    fn a_program_that_is_not_python_is_an_error_with_its_path() {
        let why = find_python(Some(Path::new("/bin/true"))).expect_err("it is not Python");
        assert!(why.contains("/bin/true"), "{why}");
    }
}
