//! Overlapped init: the recorder's library initializes the driver and makes the primary
//! context in a thread of its own, while the program imports. What it does there is in
//! `crates/shim/src/ahead.rs`.
//!
//! It applies to Python programs that were seen to make the context of one GPU
//! themselves, if nothing speaks against a start like the one that was seen: the same
//! arguments, the same variables as far as the driver or the program may look at them, no
//! forked child that uses the GPU, and no sign that the program sets the driver's
//! variables itself: that would come too late.
//!
//! It is applied by a variable, and where the program is started plainly by preloading;
//! the library takes both out of the environment again. A child of a warm parent begins it
//! when it becomes the program. It is verified by a recording, which has the calls of that
//! thread apart: the program's own are quick then. It is undone by not being asked for:
//! nothing is kept.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use preheat_wire::variables::AHEAD;

use crate::case::{Case, Changes, Environment};
use crate::identity;
use crate::invocation::{self, Invocation, Why};
use crate::seen::Seen;
use crate::warm_parent::{Ahead, Learned};

const PRELOAD: &str = "LD_PRELOAD";

/// Beginnings of variables that the driver reads when it is initialized.
const DRIVERS: [&str; 2] = ["CUDA_", "NVIDIA_"];

/// Variables by which launchers tell a process which GPU is its own, and where libraries
/// are found.
const PLACES: [&str; 5] = [
    "LD_LIBRARY_PATH",
    "LOCAL_RANK",
    "RANK",
    "SLURM_LOCALID",
    "SLURM_PROCID",
];

/// Have the driver initialized ahead.
pub(crate) fn apply(case: &Case<'_>, changes: &mut Changes) -> Result<(), Why> {
    let (device, driver, program) = applies(case)?;
    let shim = preheat_launch::kept_recorder().map_err(|why| why.to_string())?;
    let fields = [
        device.to_string().into(),
        shim.into_os_string(),
        driver.into_os_string(),
        program.into_os_string(),
    ];
    if fields.iter().any(|field| field.as_bytes().contains(&b'\n')) {
        return Err("a path with a line break in it cannot be told".into());
    }
    changes.set(AHEAD, fields.join(OsStr::new("\n")));
    Ok(())
}

/// The device, the driver's library and the program's file; or why not.
fn applies(case: &Case<'_>) -> Result<(u32, PathBuf, PathBuf), Why> {
    let seen = case.seen.ok_or("the program was not measured yet")?;
    let device = seen
        .device
        .ok_or("the program was not seen to make the context of one GPU")?;
    if seen.forks_use_device {
        return Err("processes that it forks use the GPU, which they could not any more".into());
    }
    let invocation = invocation::read(case.command, case.program)?;
    let spoken = spoken_of(&invocation, seen)?;
    let changed = changed(case, &invocation)?;
    let is_drivers = |name: &&Vec<u8>| {
        DRIVERS
            .iter()
            .any(|drivers| name.starts_with(drivers.as_bytes()))
    };
    if let Some(name) = spoken.union(&changed).find(is_drivers) {
        return Err(format!(
            "the program speaks of {}, and may set it before it initializes the driver",
            String::from_utf8_lossy(name)
        ));
    }
    if seen.conditions != conditions(case.command, case.environment, &spoken) {
        return Err("the program was seen with other arguments or other variables".into());
    }
    let is_driver = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_bytes().starts_with(b"libcuda.so") && path.is_absolute() && path.exists()
    };
    let driver = seen.files.iter().find(is_driver);
    let driver = driver.ok_or("the driver's library that it has loaded is not there")?;
    let program = fs::canonicalize(&invocation.interpreter).map_err(|why| why.to_string())?;
    Ok((device, driver.clone(), program))
}

/// What makes a start like another: whatever may decide which GPU the program uses.
pub(crate) fn seen_with(case: &Case<'_>, seen: &Seen) -> String {
    let spoken = invocation::read(case.command, case.program)
        .and_then(|invocation| spoken_of(&invocation, seen));
    match spoken {
        Ok(spoken) => conditions(case.command, case.environment, &spoken),
        Err(_) => String::new(),
    }
}

fn conditions(
    command: &[OsString],
    environment: &Environment,
    spoken: &BTreeSet<Vec<u8>>,
) -> String {
    let mut text = Vec::new();
    let mut put = |kind: &[u8], field: &[u8]| {
        text.extend_from_slice(kind);
        text.extend_from_slice(field);
        text.push(0);
    };
    for word in command.iter().skip(1) {
        put(b"word ", word.as_bytes());
    }
    let matters = |name: &Vec<u8>| {
        DRIVERS
            .iter()
            .any(|known| name.starts_with(known.as_bytes()))
            || PLACES.iter().any(|known| name == known.as_bytes())
            || spoken.contains(name) && !preheat_launch::is_set_by_recording(name)
    };
    let mut variables: Vec<_> = environment
        .iter()
        .filter(|(name, _)| matters(name))
        .collect();
    variables.sort();
    for (name, value) in variables {
        put(b"name ", name);
        put(b"value ", value);
    }
    identity::name(&text)
}

/// Variables that the program's own files speak of.
pub(crate) fn spoken_of(invocation: &Invocation, seen: &Seen) -> Result<BTreeSet<Vec<u8>>, Why> {
    Ok(Learned::of(&seen.modules).ahead(&invocation.main)?.sets)
}

/// Variables that were changed while it ran, or that files speak of which were not there
/// when it was seen.
fn changed(case: &Case<'_>, invocation: &Invocation) -> Result<BTreeSet<Vec<u8>>, Why> {
    let name = identity::name_of(&Ok(invocation.clone()), case.program);
    let Some(learned) = Learned::read(&Learned::file(&case.places.kept, &name)) else {
        return Ok(BTreeSet::new());
    };
    let Ahead {
        mut changed, sets, ..
    } = learned.ahead(&invocation.main)?;
    changed.extend(sets);
    Ok(changed)
}

/// What else is set where the program is started plainly, if it was asked for.
pub(crate) fn preloaded() -> Option<(&'static str, OsString)> {
    let asked = std::env::var_os(AHEAD)?.into_vec();
    let shim = asked.split(|&byte| byte == b'\n').nth(1)?;
    preload(OsStr::from_bytes(shim), std::env::var_os(PRELOAD))
}

/// Ours first. An empty value behind a colon is one that was set.
pub(crate) fn preload(shim: &OsStr, theirs: Option<OsString>) -> Option<(&'static str, OsString)> {
    let mut value = shim.to_owned();
    if let Some(theirs) = theirs {
        let is_separator = |byte: &u8| b" :".contains(byte);
        if theirs.as_bytes().split(is_separator).next() == Some(shim.as_bytes()) {
            return None; // A recording has it there.
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

    use crate::case::tests::{Sample, sample};

    /// A start of a Python program that exists, and was seen as `change` has it.
    fn seen(environment: &[(&str, &str)], code: &str, change: impl FnOnce(&mut Seen)) -> Sample {
        let mut seen = Seen {
            device: Some(1),
            uses_cuda: true,
            // Any file will do that is there.
            files: vec!["/nowhere/libcuda.so.1".into(), driver()],
            ..Seen::default()
        };
        let mut sample = sample(environment, None);
        sample.program = "/usr/bin/python3".into();
        sample.command = ["python3", "-c", code].map(OsString::from).to_vec();
        seen.conditions = seen_with(&sample.case(), &seen);
        change(&mut seen);
        sample.seen = Some(seen);
        sample
    }

    fn driver() -> PathBuf {
        let path = std::env::temp_dir().join("libcuda.so.preheat-test");
        fs::write(&path, "").expect("a file for the test");
        path
    }

    fn why(sample: &Sample) -> String {
        applies(&sample.case()).expect_err("it does not apply")
    }

    #[test]
    fn only_what_was_seen_is_done() {
        if !Path::new("/usr/bin/python3").exists() {
            return;
        }
        let plain = |_: &mut Seen| {};
        let sample = seen(&[("PATH", "/bin")], "import torch", plain);
        let (device, path, program) = applies(&sample.case()).expect("it applies");
        assert_eq!((device, path), (1, driver()));
        assert!(program.is_absolute() && !program.is_symlink());

        let of = |change: fn(&mut Seen)| why(&seen(&[], "import torch", change));
        assert!(of(|seen| seen.device = None).contains("context of one GPU"));
        assert!(of(|seen| seen.forks_use_device = true).contains("forks"));
        assert!(of(|seen| seen.files.clear()).contains("library"));
        assert!(of(|seen| seen.conditions.push('x')).contains("other arguments"));
    }

    #[test]
    fn who_speaks_of_the_drivers_variables_is_left_alone() {
        if !Path::new("/usr/bin/python3").exists() {
            return;
        }
        let code = "os.environ['CUDA_VISIBLE_DEVICES'] = '1'";
        assert!(why(&seen(&[], code, |_| {})).contains("CUDA_VISIBLE_DEVICES"));
    }

    #[test]
    fn other_arguments_or_variables_are_another_start() {
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
    fn what_the_user_preloads_stays_behind_ours() {
        let of = |theirs: Option<&str>| {
            let set = preload(OsStr::new("/s.so"), theirs.map(OsString::from));
            set.map(|(_, value)| value.into_string().expect("it is text"))
        };
        assert_eq!(of(None).as_deref(), Some("/s.so"));
        assert_eq!(of(Some("")).as_deref(), Some("/s.so:"));
        assert_eq!(of(Some("/a.so b.so")).as_deref(), Some("/s.so:/a.so b.so"));
        assert_eq!(of(Some("/s.so:/a.so")), None);
    }
}
