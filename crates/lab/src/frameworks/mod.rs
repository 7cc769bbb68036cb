//! The frameworks that a Python has, and the experiments that each can run.
//!
//! Each script here runs one experiment in one fresh Python and writes the same
//! lines as a native start. `common.py` is put before each of them.

mod bytecode;

pub use bytecode::{BytecodeFound, find_bytecode};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use preheat_analyze::lab::{ExperimentId, names};
use serde::Deserialize;

use crate::experiments;
use crate::process::{Ended, last_lines, run_limited};
use crate::scratch::Scratch;

/// A framework that the lab knows.
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
    /// All of them.
    pub const ALL: [Framework; 3] = [Framework::Torch, Framework::Tensorflow, Framework::Jax];

    /// The word for it on the command line and in JSON, and its module's name.
    pub fn id(self) -> &'static str {
        match self {
            Framework::Torch => "torch",
            Framework::Tensorflow => "tensorflow",
            Framework::Jax => "jax",
        }
    }

    /// How a user gets it.
    pub fn install_hint(self) -> &'static str {
        match self {
            Framework::Torch => {
                "`pip install torch`, or Debian's python3-torch with --python /usr/bin/python3"
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

    /// Put the script into `directory`. Its name must not be the module's own, or
    /// Python would import the script instead of the framework.
    pub fn write_script(self, directory: &Path) -> io::Result<PathBuf> {
        let path = directory.join(format!("preheat_lab_{}.py", self.id()));
        fs::write(&path, [include_str!("common.py"), self.script()].concat())?;
        Ok(path)
    }

    /// The variants of `experiment` that it can run on `device`; none if it cannot
    /// run the experiment at all.
    pub fn variants(self, experiment: ExperimentId, device: &str) -> &'static [&'static str] {
        use ExperimentId::{
            Alloc, Infer, Prealloc, Train, TrainInitialized, TrainNoOptimizer, Transfer,
        };
        let runs = match (self, experiment) {
            (Framework::Torch, Alloc | Train | TrainInitialized | TrainNoOptimizer | Infer) => true,
            // On the CPU a tensor needs no copy, and there is no pool.
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
            // On the CPU there is nothing to initialize or to move: one of each is enough.
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

    /// Whether it can compute on the CUDA device. Importing it is the only way to know.
    pub fn computes_on_cuda(self, python: &Path) -> bool {
        let script = match self {
            Framework::Torch => "import torch; ok = torch.cuda.is_available()",
            Framework::Tensorflow => {
                "import tensorflow as tf; ok = bool(tf.config.list_physical_devices('GPU'))"
            }
            Framework::Jax => "import jax; ok = jax.default_backend() == 'gpu'",
        };
        let script = format!("{script}\nraise SystemExit(0 if ok else 1)");
        ask(python, &script, IMPORTS).is_ok()
    }
}

/// A Python and the frameworks that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonFound {
    /// What to execute.
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

/// Looks for modules without importing them: that takes milliseconds instead of seconds.
const QUESTION: &str = r#"
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

/// Look at a Python: the one that was named, else the active virtual environment's,
/// else `python3`.
pub fn find_python(named: Option<&Path>) -> Result<PythonFound, String> {
    let path = named.map_or_else(
        || match std::env::var_os("VIRTUAL_ENV") {
            Some(venv) => Path::new(&venv).join("bin/python"),
            None => PathBuf::from("python3"),
        },
        // Starts run in a directory of their own: a relative path would not be found.
        // A bare name is looked up in PATH and stays as it is.
        |named| match named.components().count() {
            1 => named.to_path_buf(),
            _ => std::path::absolute(named).unwrap_or_else(|_| named.to_path_buf()),
        },
    );
    let text = ask(&path, QUESTION, ANSWERS)?;
    let answer: Answer = text
        .lines()
        .last()
        .and_then(|line| serde_json::from_str(line).ok())
        .ok_or_else(|| {
            format!(
                "{} does not answer like a Python 3.8 or later; name another with --python PATH",
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

/// A Python that has not told its version by then will not.
const ANSWERS: Duration = Duration::from_secs(20);
/// A framework that is not imported by then will not be.
const IMPORTS: Duration = Duration::from_secs(120);

/// What a short script prints.
fn ask(python: &Path, script: &str, limit: Duration) -> Result<String, String> {
    let place = python.display();
    let scratch = Scratch::new().map_err(|why| why.to_string())?;
    let printed = scratch.path().join("printed");
    let mut command = Command::new(python);
    // Away from the user's directory, whose files Python would take for modules.
    command.arg("-c").arg(script).current_dir(scratch.path());
    match run_limited(&mut command, &printed, limit) {
        Ok(Ended::Exited(status)) if status.success() => {
            fs::read_to_string(&printed).map_err(|why| why.to_string())
        }
        Ok(Ended::Exited(status)) => Err(format!(
            "{place} ended with {status} when it was asked for its frameworks; it printed last: {}",
            last_lines(&printed)
        )),
        Ok(Ended::TimedOut) => Err(format!(
            "{place} did not answer within {} s",
            limit.as_secs()
        )),
        Ok(Ended::Interrupted) => Err("interrupted".to_owned()),
        Err(why) => Err(format!(
            "the Python {place} cannot be started: {why}; name one that is there with --python PATH"
        )),
    }
}

/// The names of series that scripts use as well: kept here so that a change of one
/// is noticed in the other.
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
                "no script says \"{name}\""
            );
        }
    }

    #[test]
    fn a_python_that_is_not_there_is_a_sentence() {
        let why = find_python(Some(Path::new("/nowhere/python"))).expect_err("it is not there");
        assert!(
            why.contains("/nowhere/python") && why.contains("--python"),
            "{why}"
        );
    }

    #[test]
    fn a_program_that_is_no_python_is_a_sentence() {
        let why = find_python(Some(Path::new("/bin/true"))).expect_err("it is no Python");
        assert!(why.contains("/bin/true"), "{why}");
    }
}
