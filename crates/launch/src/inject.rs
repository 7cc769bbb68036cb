//! Sets the environment variables that load the recorder into the command. The user's own
//! values are kept, after ours.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use preheat_wire::variables;

use crate::install::Installed;

/// The settings of the recorder.
pub(crate) struct Options<'a> {
    /// The directory for its process files.
    pub directory: &'a Path,
    /// The maximum size of each, in bytes.
    pub limit: u64,
    /// Wait for the device at the end of each iteration.
    pub synchronize: bool,
    /// The user's definition of an iteration.
    pub iterations: &'a str,
    /// Detect iterations of Python frameworks.
    pub python_iterations: bool,
    /// Have Python write each line immediately, because its output goes through our pipe.
    pub unbuffered: bool,
}

/// Variables to set, by name.
pub(crate) type Variables = Vec<(OsString, OsString)>;

/// The NVTX variable for a library that receives its ranges.
const NVTX: &str = "NVTX_INJECTION64_PATH";

/// Returns whether recording sets a variable, so that it may differ in a recorded start.
pub fn is_set_by_recording(name: &[u8]) -> bool {
    const NAMES: [&str; 5] = [
        "LD_PRELOAD",
        "PYTHONPATH",
        "OPENCL_LAYERS",
        "PYTHONUNBUFFERED",
        NVTX,
    ];
    name.starts_with(b"PREHEAT_") || NAMES.iter().any(|known| name == known.as_bytes())
}

/// The variables to set for a start; `user` returns the user's values.
pub(crate) fn variables(
    installed: &Installed,
    options: &Options<'_>,
    user: impl Fn(&str) -> Option<OsString>,
) -> Variables {
    let shim = installed.shim.as_os_str();
    let python = installed.python.as_os_str();
    let mut words = Vec::new();
    if options.synchronize {
        words.push("synchronize");
    }
    if !options.python_iterations {
        words.push("no-python-iterations");
    }
    let mut set: Variables = Vec::new();
    let mut put = |name: &str, value: OsString| set.push((name.into(), value));
    // Both OpenCL loaders separate entries with colons, like the other two variables.
    let preload = installed.preload.as_os_str();
    put("LD_PRELOAD", before(preload, user("LD_PRELOAD")));
    put("PYTHONPATH", before(python, user("PYTHONPATH")));
    put("OPENCL_LAYERS", before(shim, user("OPENCL_LAYERS")));
    if user(NVTX).is_none() {
        put(NVTX, shim.into());
    }
    if options.unbuffered && user("PYTHONUNBUFFERED").is_none() {
        put("PYTHONUNBUFFERED", "1".into());
    }
    put(variables::DIRECTORY, options.directory.into());
    put(variables::LIMIT, options.limit.to_string().into());
    put(variables::ITERATIONS, options.iterations.into());
    put(variables::SHIM, shim.into());
    put(variables::PYTHON, python.into());
    put(variables::OPTIONS, words.join(",").into());
    set
}

/// Notes on data that cannot be recorded because of the user's settings.
pub(crate) fn notes(user: impl Fn(&str) -> Option<OsString>) -> Vec<String> {
    let nvtx = user(NVTX).map(|theirs| {
        format!(
            "NVTX ranges are not recorded: {NVTX} is set to {}, and NVTX accepts only one library",
            theirs.to_string_lossy()
        )
    });
    nvtx.into_iter().collect()
}

/// Our value, then the user's. An empty value counts as unset: a trailing colon would add
/// the current directory.
fn before(ours: &OsStr, theirs: Option<OsString>) -> OsString {
    let mut value = ours.to_owned();
    if let Some(theirs) = theirs.filter(|theirs| !theirs.is_empty()) {
        value.push(":");
        value.push(theirs);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(user: &[(&str, &str)], unbuffered: bool, name: &str) -> Option<String> {
        let installed = Installed::at("/installed".into(), None);
        let options = Options {
            directory: Path::new("/recording/start-1"),
            limit: 7,
            synchronize: true,
            iterations: "nvtx:step",
            python_iterations: false,
            unbuffered,
        };
        let theirs = |name: &str| {
            let found = user.iter().find(|(theirs, _)| *theirs == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let set = variables(&installed, &options, theirs);
        let found = set.into_iter().find(|(ours, _)| ours == name);
        found.map(|(_, value)| {
            let value = value.into_string().expect("it is text");
            value
                .replace(installed.shim.to_str().expect("it is text"), "SHIM")
                .replace(installed.python.to_str().expect("it is text"), "PYTHON")
        })
    }

    #[test]
    fn is_set_by_recording_covers_all_variables() {
        let installed = Installed::at("/installed".into(), None);
        let options = Options {
            directory: Path::new("/recording/start-1"),
            limit: 7,
            synchronize: true,
            python_iterations: false,
            unbuffered: true,
            iterations: "auto",
        };
        for (name, _) in variables(&installed, &options, |_| None) {
            assert!(is_set_by_recording(name.as_encoded_bytes()), "{name:?}");
        }
        assert!(!is_set_by_recording(b"PATH"));
    }

    #[test]
    fn the_users_values_stay_behind_ours() {
        let user = [
            ("LD_PRELOAD", "/a.so /b.so"),
            ("PYTHONPATH", "x::y"),
            ("OPENCL_LAYERS", "/layer.so"),
        ];
        let variable = |name| value(&user, false, name);
        assert_eq!(variable("LD_PRELOAD").as_deref(), Some("SHIM:/a.so /b.so"));
        assert_eq!(variable("PYTHONPATH").as_deref(), Some("PYTHON:x::y"));
        assert_eq!(variable("OPENCL_LAYERS").as_deref(), Some("SHIM:/layer.so"));
    }

    #[test]
    fn an_empty_value_adds_no_empty_element() {
        let user = [("LD_PRELOAD", ""), ("PYTHONPATH", "")];
        assert_eq!(value(&user, false, "LD_PRELOAD").as_deref(), Some("SHIM"));
        assert_eq!(value(&user, false, "PYTHONPATH").as_deref(), Some("PYTHON"));
        assert_eq!(value(&[], false, "PYTHONPATH").as_deref(), Some("PYTHON"));
    }

    #[test]
    fn nvtx_accepts_one_library_and_the_users_is_kept() {
        assert_eq!(value(&[], false, NVTX).as_deref(), Some("SHIM"));
        assert_eq!(value(&[(NVTX, "/theirs.so")], false, NVTX), None);
        let notes = notes(|name| (name == NVTX).then(|| "/theirs.so".into()));
        assert!(notes[0].contains("/theirs.so"), "{notes:?}");
    }

    #[test]
    fn the_settings_are_passed_to_the_recorder() {
        let variable = |name| value(&[], false, name);
        assert_eq!(
            variable(variables::DIRECTORY).as_deref(),
            Some("/recording/start-1")
        );
        assert_eq!(variable(variables::LIMIT).as_deref(), Some("7"));
        assert_eq!(
            variable(variables::ITERATIONS).as_deref(),
            Some("nvtx:step")
        );
        assert_eq!(
            variable(variables::OPTIONS).as_deref(),
            Some("synchronize,no-python-iterations")
        );
        assert_eq!(variable(variables::SHIM).as_deref(), Some("SHIM"));
        assert_eq!(variable(variables::PYTHON).as_deref(), Some("PYTHON"));
    }

    #[test]
    fn python_is_unbuffered_only_for_a_pipe() {
        let name = "PYTHONUNBUFFERED";
        assert_eq!(value(&[], false, name), None);
        assert_eq!(value(&[], true, name).as_deref(), Some("1"));
        assert_eq!(value(&[(name, "")], true, name), None);
    }
}
