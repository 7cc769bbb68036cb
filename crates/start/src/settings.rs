//! Settings of the environment that may pay: how kernels are loaded, by how many threads, and
//! how frameworks take device memory. They are for when code is loaded and memory taken,
//! and not for what a program computes.
//!
//! A setting applies where the user has said nothing about it, or where what was said is
//! what makes the start slow. It is undone by not being set: nothing is kept.

use std::collections::BTreeSet;

use crate::case::{Case, Changes};
use crate::invocation::{self, Why};
use crate::overlapped_init::spoken_of;

/// When kernels are loaded: at their first use, or all of a module at once.
const LOADING: &str = "CUDA_MODULE_LOADING";

/// How many threads the driver loads machine code with.
const THREADS: &str = "CUDA_BINARY_LOADER_THREAD_COUNT";
const MOST_THREADS: usize = 8;

/// Load kernels at their first use.
pub(crate) fn lazy_loading(case: &Case<'_>, changes: &mut Changes) -> Result<(), Why> {
    uses_cuda(case)?;
    match case.variable(LOADING) {
        // Lazy is the driver's default since CUDA 12.2.
        Some(value) if value == "EAGER" => {
            changes.set(LOADING, "LAZY");
            Ok(())
        }
        Some(_) => Err(format!("{LOADING} is set already")),
        None => Err("kernels are loaded at their first use already".into()),
    }
}

/// Load machine code with several threads.
pub(crate) fn loader_threads(case: &Case<'_>, changes: &mut Changes) -> Result<(), Why> {
    uses_cuda(case)?;
    if case.variable(THREADS).is_some() {
        return Err(format!("{THREADS} is set already"));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return Err("there is one core only".into());
    }
    changes.set(THREADS, cores.min(MOST_THREADS).to_string());
    Ok(())
}

/// A framework, the setting by which it takes device memory as it needs it, and others by which
/// the user may have said something else.
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
    // The older name of the variable makes new versions warn; old ones leave this one alone.
    Allocates {
        module: "torch",
        setting: ("PYTORCH_ALLOC_CONF", "expandable_segments:True"),
        others: &["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"],
    },
];

/// Have a framework take device memory as it needs it, and not all of it or anew at first.
pub(crate) fn allocator(case: &Case<'_>, changes: &mut Changes) -> Result<(), Why> {
    uses_cuda(case)?;
    let modules = case.seen.map_or(&[][..], |seen| &seen.modules);
    let imports = |of: &&Allocates| modules.iter().any(|(name, _)| name == of.module);
    let frameworks: Vec<&Allocates> = FRAMEWORKS.iter().filter(imports).collect();
    if frameworks.is_empty() {
        return Err("neither JAX, TensorFlow nor PyTorch was seen in it".into());
    }
    let invocation = invocation::read(case.command, case.program)?;
    let spoken = match case.seen {
        Some(seen) => spoken_of(&invocation, seen)?,
        None => BTreeSet::new(),
    };
    for framework in &frameworks {
        for name in framework.others.iter().chain([&framework.setting.0]) {
            if case.variable(name).is_some() {
                return Err(format!("{name} is set already"));
            }
            if spoken.contains(name.as_bytes()) {
                return Err(format!("its own files speak of {name}"));
            }
        }
    }
    for framework in frameworks {
        changes.set(framework.setting.0, framework.setting.1);
    }
    Ok(())
}

fn uses_cuda(case: &Case<'_>) -> Result<(), Why> {
    match case.seen {
        Some(seen) if seen.uses_cuda => Ok(()),
        Some(_) => Err("the program was not seen to use CUDA".into()),
        None => Err("the program was not measured yet".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::tests::{Sample, sample};
    use crate::seen::Seen;
    use std::ffi::OsString;

    fn cuda(environment: &[(&str, &str)]) -> Sample {
        sample(
            environment,
            Some(Seen {
                uses_cuda: true,
                ..Seen::default()
            }),
        )
    }

    #[test]
    fn only_what_the_user_made_slow_is_made_lazy() {
        let mut changes = Changes::default();
        assert!(lazy_loading(&cuda(&[]).case(), &mut changes).is_err());
        assert!(lazy_loading(&cuda(&[(LOADING, "LAZY")]).case(), &mut changes).is_err());
        assert!(changes.variables.is_empty());
        let eager = cuda(&[(LOADING, "EAGER")]);
        assert_eq!(lazy_loading(&eager.case(), &mut changes), Ok(()));
        assert_eq!(changes.variables, [(LOADING, "LAZY".into())]);
    }

    #[test]
    fn memory_is_taken_as_a_framework_can_be_told() {
        let with_code = |module: &str, environment: &[(&str, &str)], code: &str| {
            let seen = Seen {
                uses_cuda: true,
                modules: vec![
                    ("numpy".into(), String::new()),
                    (module.into(), String::new()),
                ],
                ..Seen::default()
            };
            let mut changes = Changes::default();
            let mut sample = sample(environment, Some(seen));
            sample.program = "/usr/bin/python3".into();
            sample.command = ["python3", "-c", code].map(OsString::from).to_vec();
            allocator(&sample.case(), &mut changes).map(|()| changes.variables)
        };
        let with = |module: &str, environment: &[_]| with_code(module, environment, "pass");
        for of in FRAMEWORKS {
            let (name, value) = of.setting;
            assert_eq!(with(of.module, &[]), Ok(vec![(name, value.into())]));
            for said in of.others.iter().chain([&name]) {
                let why = with(of.module, &[(said, "1")]);
                assert_eq!(why, Err(format!("{said} is set already")));
            }
        }
        assert!(with("cupy", &[]).is_err());
        let code = "import os; os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'x'";
        let why = with_code("torch", &[], code);
        assert!(why.is_err_and(|why| why.contains("speak of PYTORCH_CUDA")));
        let mut changes = Changes::default();
        assert!(allocator(&sample(&[], None).case(), &mut changes).is_err());
    }

    #[test]
    fn threads_are_the_users_to_choose() {
        let mut changes = Changes::default();
        let why = loader_threads(&cuda(&[(THREADS, "1")]).case(), &mut changes);
        assert!(why.is_err_and(|why| why.contains("set already")));
        let unseen = sample(&[], None);
        assert!(loader_threads(&unseen.case(), &mut changes).is_err());
        let other = sample(&[], Some(Seen::default()));
        assert!(loader_threads(&other.case(), &mut changes).is_err());
        assert!(changes.variables.is_empty());
    }
}
