//! Environment variables that may save time: how kernels are loaded, by how many threads,
//! and how frameworks allocate device memory. They affect when code is loaded and memory
//! allocated, not what a program computes.
//!
//! A setting applies if the user has not set it, or has set it to a value that makes the
//! start slow. To undo it, do not set it: nothing is stored.

use std::collections::BTreeSet;

use crate::context::{Changes, StartContext};
use crate::invocation::{self};
use crate::overlapped_init::spoken_of;
use crate::reason::Reason;

/// Kernels are loaded at their first use (LAZY) or with their module (EAGER).
const LOADING: &str = "CUDA_MODULE_LOADING";

/// The number of threads that load machine code.
const THREADS: &str = "CUDA_BINARY_LOADER_THREAD_COUNT";
const MAX_THREADS: usize = 8;

/// Loads kernels at their first use.
pub(crate) fn lazy_loading(
    context: &StartContext<'_>,
    changes: &mut Changes,
) -> Result<(), Reason> {
    uses_cuda(context)?;
    match context.variable(LOADING) {
        // Lazy is the driver's default since CUDA 12.2.
        Some(value) if value == "EAGER" => {
            changes.set(LOADING, "LAZY");
            Ok(())
        }
        Some(_) => Err(Reason::AlreadySet(LOADING)),
        None => Err(Reason::AlreadyLazy),
    }
}

/// Loads machine code with several threads.
pub(crate) fn loader_threads(
    context: &StartContext<'_>,
    changes: &mut Changes,
) -> Result<(), Reason> {
    uses_cuda(context)?;
    if context.variable(THREADS).is_some() {
        return Err(Reason::AlreadySet(THREADS));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return Err(Reason::OneCore);
    }
    changes.set(THREADS, cores.min(MAX_THREADS).to_string());
    Ok(())
}

/// A framework, the setting that makes it allocate device memory on demand, and other
/// settings by which the user may have chosen something else.
struct Allocates {
    module: &'static str,
    setting: (&'static str, &'static str),
    others: &'static [&'static str],
}

const FRAMEWORKS: [Allocates; 3] = [
    Allocates {
        module: "jax",
        setting: ("XLA_PYTHON_CLIENT_PREALLOCATE", "false"),
        others: &[
            "XLA_PYTHON_CLIENT_ALLOCATOR",
            "XLA_PYTHON_CLIENT_MEM_FRACTION",
            "XLA_CLIENT_MEM_FRACTION",
        ],
    },
    Allocates {
        module: "tensorflow",
        setting: ("TF_FORCE_GPU_ALLOW_GROWTH", "true"),
        others: &["TF_GPU_ALLOCATOR"],
    },
    // New versions warn about the older name of the variable; old ones ignore this one.
    Allocates {
        module: "torch",
        setting: ("PYTORCH_ALLOC_CONF", "expandable_segments:True"),
        others: &["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"],
    },
];

/// Makes frameworks allocate device memory on demand, instead of all of it at first.
pub(crate) fn allocator(context: &StartContext<'_>, changes: &mut Changes) -> Result<(), Reason> {
    uses_cuda(context)?;
    let modules = context
        .observations
        .map_or(&[][..], |observed| &observed.modules);
    let imports = |of: &&Allocates| modules.iter().any(|(name, _)| name == of.module);
    let frameworks: Vec<&Allocates> = FRAMEWORKS.iter().filter(imports).collect();
    if frameworks.is_empty() {
        return Err(Reason::NoFramework);
    }
    let invocation = invocation::read(context.command, context.program)?;
    let spoken = match context.observations {
        Some(observed) => spoken_of(&invocation, observed)?,
        None => BTreeSet::new(),
    };
    for framework in &frameworks {
        for name in framework.others.iter().chain([&framework.setting.0]) {
            if context.variable(name).is_some() {
                return Err(Reason::AlreadySet(name));
            }
            if spoken.contains(name.as_bytes()) {
                return Err(Reason::SourcesMention(name));
            }
        }
    }
    for framework in frameworks {
        changes.set(framework.setting.0, framework.setting.1);
    }
    Ok(())
}

/// An error if the program was not seen to use CUDA.
pub(crate) fn uses_cuda(context: &StartContext<'_>) -> Result<(), Reason> {
    match context.observations {
        Some(observed) if observed.uses_cuda => Ok(()),
        Some(_) => Err(Reason::UsesNoCuda),
        None => Err(Reason::Unmeasured),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::tests::{Sample, sample};
    use crate::observations::Observations;
    use std::ffi::OsString;

    fn cuda(environment: &[(&str, &str)]) -> Sample {
        sample(
            environment,
            Some(Observations {
                uses_cuda: true,
                ..Observations::default()
            }),
        )
    }

    #[test]
    fn only_eager_loading_is_made_lazy() {
        let mut changes = Changes::default();
        assert!(lazy_loading(&cuda(&[]).context(), &mut changes).is_err());
        assert!(lazy_loading(&cuda(&[(LOADING, "LAZY")]).context(), &mut changes).is_err());
        assert!(changes.variables.is_empty());
        let eager = cuda(&[(LOADING, "EAGER")]);
        assert_eq!(lazy_loading(&eager.context(), &mut changes), Ok(()));
        assert_eq!(changes.variables, [(LOADING, "LAZY".into())]);
    }

    #[test]
    fn allocator_settings_respect_the_users_choice() {
        let with_code = |module: &str, environment: &[(&str, &str)], code: &str| {
            let observed = Observations {
                uses_cuda: true,
                modules: vec![
                    ("numpy".into(), String::new()),
                    (module.into(), String::new()),
                ],
                ..Observations::default()
            };
            let mut changes = Changes::default();
            let mut sample = sample(environment, Some(observed));
            sample.program = "/usr/bin/python3".into();
            sample.command = ["python3", "-c", code].map(OsString::from).to_vec();
            allocator(&sample.context(), &mut changes).map(|()| changes.variables)
        };
        let with = |module: &str, environment: &[_]| with_code(module, environment, "pass");
        for of in FRAMEWORKS {
            let (name, value) = of.setting;
            assert_eq!(with(of.module, &[]), Ok(vec![(name, value.into())]));
            for set in of.others.iter().chain([&name]) {
                let why = with(of.module, &[(set, "1")]);
                assert_eq!(why, Err(Reason::AlreadySet(set)));
            }
        }
        assert!(with("cupy", &[]).is_err());
        let code = "import os; os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'x'";
        let why = with_code("torch", &[], code);
        assert!(why.is_err_and(|why| why.to_string().contains("mention PYTORCH_CUDA")));
        let mut changes = Changes::default();
        assert!(allocator(&sample(&[], None).context(), &mut changes).is_err());
    }

    #[test]
    fn the_users_thread_count_is_respected() {
        let mut changes = Changes::default();
        let why = loader_threads(&cuda(&[(THREADS, "1")]).context(), &mut changes);
        assert!(why.is_err_and(|why| why.to_string().contains("already set")));
        let unseen = sample(&[], None);
        assert!(loader_threads(&unseen.context(), &mut changes).is_err());
        let other = sample(&[], Some(Observations::default()));
        assert!(loader_threads(&other.context(), &mut changes).is_err());
        assert!(changes.variables.is_empty());
    }
}
