//! Overlapped init: the shim initializes the driver and retains the primary context in a
//! separate thread while the program imports (`crates/shim/src/ahead.rs`).
//!
//! - Applies to Python programs that were observed creating the context of one GPU in their
//!   main process, if this start is like the observed one: the same arguments, the same
//!   values of the variables that the driver or the program may read, no forked child that
//!   uses the GPU, and no sign that the program sets variables of the driver, which would
//!   come too late.
//! - Apply: set a variable, and for a plain start preload the shim, which removes both from
//!   the environment. A child of a warm parent begins when it becomes the program.
//! - Verify: a recording shows the calls of that thread separately; those of the program are
//!   then fast.
//! - Undo: do not apply it; nothing is stored.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use preheat_wire::variables::AHEAD;

use crate::context::{Changes, Environment, StartContext};
use crate::identity;
use crate::invocation::{self, Invocation};
use crate::observations::Observations;
use crate::reason::Reason;
use crate::warm_parent::{Ahead, Learned};

const PRELOAD: &str = "LD_PRELOAD";

/// The name of the arguments among the conditions of a start.
const ARGUMENTS: &str = "arguments";

/// Prefixes of the variables that the driver reads when it is initialized.
const DRIVERS: [&str; 2] = ["CUDA_", "NVIDIA_"];

/// Variables with which launchers assign GPUs to processes, and the library search path.
const DEVICE_VARIABLES: [&str; 5] = [
    "LD_LIBRARY_PATH",
    "LOCAL_RANK",
    "RANK",
    "SLURM_LOCALID",
    "SLURM_PROCID",
];

/// Sets the variable that makes the shim initialize the driver ahead of the program.
pub(crate) fn apply(context: &StartContext<'_>, changes: &mut Changes) -> Result<(), Reason> {
    let (device, driver, program) = applies(context)?;
    let shim = preheat_launch::kept_recorder()?;
    let fields = [
        device.to_string().into(),
        shim.into_os_string(),
        driver.into_os_string(),
        program.into_os_string(),
    ];
    if fields.iter().any(|field| field.as_bytes().contains(&b'\n')) {
        return Err(Reason::LineBreak);
    }
    changes.set(AHEAD, fields.join(OsStr::new("\n")));
    Ok(())
}

/// The device, the driver library and the executable; an error is the reason why the remedy
/// does not apply.
fn applies(context: &StartContext<'_>) -> Result<(u32, PathBuf, PathBuf), Reason> {
    let observed = context.observations.ok_or(Reason::Unmeasured)?;
    let device = observed.device.ok_or(Reason::NotOneGpu)?;
    if observed.forks_use_device {
        return Err(Reason::ForksUseGpu);
    }
    let invocation = invocation::read(context.command, context.program)?;
    let spoken = spoken_of(&invocation, observed)?;
    let changed = changed(context, &invocation)?;
    let is_drivers = |name: &&Vec<u8>| {
        DRIVERS
            .iter()
            .any(|drivers| name.starts_with(drivers.as_bytes()))
    };
    if let Some(name) = spoken.union(&changed).find(is_drivers) {
        let name = String::from_utf8_lossy(name).into_owned();
        return Err(Reason::MaySet(name));
    }
    let now = conditions(context.command, context.environment, &spoken);
    if let Some(why) = difference(&observed.conditions, &now) {
        return Err(why);
    }
    let is_driver = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_bytes().starts_with(b"libcuda.so") && path.is_absolute() && path.exists()
    };
    let driver = observed.files.iter().find(is_driver);
    let driver = driver.ok_or(Reason::NoDriver)?;
    let interpreter = invocation.interpreter;
    let program = fs::canonicalize(&interpreter);
    let program = program.map_err(|why| Reason::Path {
        path: interpreter,
        why: why.into(),
    })?;
    Ok((device, driver.clone(), program))
}

/// The conditions of an observed start: everything that may decide which GPU the program uses.
pub(crate) fn observed_with(context: &StartContext<'_>, observed: &Observations) -> String {
    let spoken = invocation::read(context.command, context.program)
        .and_then(|invocation| spoken_of(&invocation, observed));
    match spoken {
        Ok(spoken) => conditions(context.command, context.environment, &spoken),
        Err(_) => String::new(),
    }
}

/// One line for the arguments and one for each relevant variable, with a hash of the value.
fn conditions(
    command: &[OsString],
    environment: &Environment,
    spoken: &BTreeSet<Vec<u8>>,
) -> String {
    let words = command.iter().skip(1).map(|word| word.as_bytes());
    let words: Vec<&[u8]> = words.collect();
    let mut lines = vec![format!("{ARGUMENTS} {}", identity::name(&words.join(&0)))];
    let matters = |name: &[u8]| {
        DRIVERS
            .iter()
            .any(|known| name.starts_with(known.as_bytes()))
            || DEVICE_VARIABLES
                .iter()
                .any(|known| name == known.as_bytes())
            || spoken.contains(name) && !preheat_launch::is_set_by_recording(name)
    };
    let variables = environment.iter().filter(|(name, _)| matters(name));
    lines.extend(variables.map(|(name, value)| {
        let name = String::from_utf8_lossy(name).replace(['\n', ' '], "?");
        format!("{name} {}", identity::name(value))
    }));
    lines.sort();
    lines.join("\n")
}

/// The first difference between two conditions.
fn difference(observed: &str, now: &str) -> Option<Reason> {
    let [observed, now] = [observed, now].map(|text| text.lines().collect::<BTreeSet<_>>());
    let line = observed.symmetric_difference(&now).next()?;
    Some(match line.split(' ').next().unwrap_or(line) {
        ARGUMENTS => Reason::OtherArguments,
        name => Reason::OtherValue(name.to_owned()),
    })
}

/// Variables that the program's source files mention.
pub(crate) fn spoken_of(
    invocation: &Invocation,
    observed: &Observations,
) -> Result<BTreeSet<Vec<u8>>, Reason> {
    Ok(Learned::of(&observed.modules).ahead(&invocation.main)?.sets)
}

/// Variables that the program changed while it ran, or that are mentioned in files that did
/// not exist when it was measured.
fn changed(
    context: &StartContext<'_>,
    invocation: &Invocation,
) -> Result<BTreeSet<Vec<u8>>, Reason> {
    let name = identity::name_of(&Ok(invocation.clone()), context.program);
    let Some(learned) = Learned::read(&Learned::file(&context.directories.kept, &name)) else {
        return Ok(BTreeSet::new());
    };
    let Ahead {
        mut changed, sets, ..
    } = learned.ahead(&invocation.main)?;
    changed.extend(sets);
    Ok(changed)
}

/// The LD_PRELOAD value for a plain start with overlapped init.
pub(crate) fn preloaded() -> Option<(&'static str, OsString)> {
    let asked = std::env::var_os(AHEAD)?.into_vec();
    let shim = asked.split(|&byte| byte == b'\n').nth(1)?;
    preload(OsStr::from_bytes(shim), std::env::var_os(PRELOAD))
}

/// Puts the shim first. A trailing colon stands for a variable that was set but empty.
pub(crate) fn preload(shim: &OsStr, theirs: Option<OsString>) -> Option<(&'static str, OsString)> {
    let mut value = shim.to_owned();
    if let Some(theirs) = theirs {
        let is_separator = |byte: &u8| b" :".contains(byte);
        if theirs.as_bytes().split(is_separator).next() == Some(shim.as_bytes()) {
            return None; // A recording has already preloaded it.
        }
        value.push(":");
        value.push(theirs);
    }
    Some((PRELOAD, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::context::tests::{Sample, sample};

    /// A start of a Python program that exists, with observations modified by `change`.
    fn observed(
        environment: &[(&str, &str)],
        code: &str,
        change: impl FnOnce(&mut Observations),
    ) -> Sample {
        let mut observed = Observations {
            device: Some(1),
            uses_cuda: true,
            // Any existing file will do.
            files: vec!["/nowhere/libcuda.so.1".into(), driver()],
            ..Observations::default()
        };
        let mut sample = sample(environment, None);
        sample.program = "/usr/bin/python3".into();
        sample.command = ["python3", "-c", code].map(OsString::from).to_vec();
        observed.conditions = observed_with(&sample.context(), &observed);
        change(&mut observed);
        sample.observations = Some(observed);
        sample
    }

    fn driver() -> PathBuf {
        let path = std::env::temp_dir().join("libcuda.so.preheat-test");
        fs::write(&path, "").expect("a file for the test");
        path
    }

    fn why(sample: &Sample) -> String {
        applies(&sample.context())
            .expect_err("it does not apply")
            .to_string()
    }

    #[test]
    fn it_applies_only_to_starts_like_the_observed_one() {
        if !Path::new("/usr/bin/python3").exists() {
            return;
        }
        let plain = |_: &mut Observations| {};
        let sample = observed(&[("PATH", "/bin")], "import torch", plain);
        let (device, path, program) = applies(&sample.context()).expect("it applies");
        assert_eq!((device, path), (1, driver()));
        assert!(program.is_absolute() && !program.is_symlink());

        let of = |change: fn(&mut Observations)| why(&observed(&[], "import torch", change));
        assert!(of(|observed| observed.device = None).contains("exactly one GPU"));
        assert!(of(|observed| observed.forks_use_device = true).contains("forked"));
        assert!(of(|observed| observed.files.clear()).contains("library"));
        let other = of(|observed| observed.conditions = format!("{ARGUMENTS} 0"));
        assert!(other.contains("other arguments"), "{other}");
        let other = of(|observed| observed.conditions.push_str("\nRANK 0"));
        assert!(other.contains("another value of RANK"), "{other}");
    }

    #[test]
    fn it_does_not_apply_to_programs_that_mention_driver_variables() {
        if !Path::new("/usr/bin/python3").exists() {
            return;
        }
        let code = "os.environ['CUDA_VISIBLE_DEVICES'] = '1'";
        assert!(why(&observed(&[], code, |_| {})).contains("CUDA_VISIBLE_DEVICES"));
    }

    #[test]
    fn conditions_depend_on_arguments_and_relevant_variables() {
        let none = BTreeSet::new();
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let environment = |pairs: &[(&str, &str)]| {
            let bytes = |text: &str| text.as_bytes().to_vec();
            let pairs = pairs.iter();
            pairs.map(|(n, v)| (bytes(n), bytes(v))).collect::<Vec<_>>()
        };
        let of = |line: &str, pairs: &[(&str, &str)], spoken: &BTreeSet<Vec<u8>>| {
            conditions(&words(line), &environment(pairs), spoken)
        };
        let plain = of("python x.py", &[("TERM", "a")], &none);
        assert_eq!(plain, of("python x.py", &[("TERM", "b")], &none));
        assert_ne!(plain, of("python x.py --gpu 1", &[], &none));
        for name in ["CUDA_VISIBLE_DEVICES", "LOCAL_RANK", "LD_LIBRARY_PATH"] {
            assert_ne!(plain, of("python x.py", &[(name, "1")], &none), "{name}");
        }
        let spoken = BTreeSet::from([b"GPU".to_vec()]);
        assert_eq!(plain, of("python x.py", &[("GPU", "1")], &none));
        assert_ne!(plain, of("python x.py", &[("GPU", "1")], &spoken));
    }

    #[test]
    fn libraries_that_the_user_preloads_come_after_the_shim() {
        let of = |theirs: Option<&str>| {
            let set = preload(OsStr::new("/s.so"), theirs.map(OsString::from));
            set.map(|(_, value)| value.into_string().expect("it is UTF-8"))
        };
        assert_eq!(of(None).as_deref(), Some("/s.so"));
        assert_eq!(of(Some("")).as_deref(), Some("/s.so:"));
        assert_eq!(of(Some("/a.so b.so")).as_deref(), Some("/s.so:/a.so b.so"));
        assert_eq!(of(Some("/s.so:/a.so")), None);
    }
}
