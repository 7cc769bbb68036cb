//! The environment variables that matter to a parent, and those that differ now.
//!
//! Imports read some variables by name and some by prefix or suffix; if they have read the
//! whole environment, all variables matter. Variables that libraries read in native code
//! always matter.

use std::collections::{HashMap, HashSet};

use crate::reason::Reason;

/// Prefixes of variables that matter even if no Python code has read them: the interpreter,
/// the loader and libraries read them in native code.
pub(crate) const ALWAYS: [&str; 44] = [
    "PYTHON",
    "LD_",
    "LC_",
    "LANG",
    "LOCPATH",
    "LOCALE_ARCHIVE",
    "GCONV_PATH",
    "NLSPATH",
    "TZ",
    "HOME",
    "PATH",
    "VIRTUAL_ENV",
    "CONDA_",
    "GLIBC_",
    "MALLOC_",
    "TCMALLOC_",
    "HEAPPROFILE",
    "CPUPROFILE",
    "_RJEM_MALLOC_CONF",
    "JE_MALLOC_CONF",
    "MIMALLOC_",
    "SCUDO_OPTIONS",
    "ASAN_OPTIONS",
    "UBSAN_OPTIONS",
    "TSAN_OPTIONS",
    "LSAN_OPTIONS",
    "OMP_",
    "GOMP_",
    "KMP_",
    "MKL_",
    "OPENBLAS_",
    "BLIS_",
    "CUDA_",
    "NVIDIA_",
    "NCCL_",
    "CUDNN_",
    "CUBLAS_",
    "TORCH",
    "PYTORCH_",
    "TF_",
    "XLA_",
    "JAX_",
    "TRITON_",
    "OPENSSL_",
];

/// The ones among these that are read when a device is first used, which no parent does.
const LATER: [&str; 2] = ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"];

/// Variables of shells that do not matter to modules that read the whole environment.
const NEVER: [&str; 6] = ["_", "SHLVL", "OLDPWD", "PWD", "WINDOWID", "COLUMNS"];

/// An environment: names and values.
pub(crate) type Environment = [(Vec<u8>, Vec<u8>)];

/// The variables that the imports of a parent have read, and their values.
#[derive(Debug, Default)]
pub(crate) struct VariablesRead {
    /// Variables read by name, with the value if the variable was set.
    pub variables: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Prefixes of names.
    pub beginnings: Vec<Vec<u8>>,
    /// Suffixes of names.
    pub endings: Vec<Vec<u8>>,
    /// The whole environment was read.
    pub everything: bool,
    /// The environment of the parent, as far as it may matter.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The reason why a variable matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matters {
    /// A module has read it.
    ByName,
    /// A module has read the whole environment.
    Everything,
    /// Libraries may read it when they are loaded.
    Always,
}

impl VariablesRead {
    /// Checks that no variable that matters has changed; an error names the first that has.
    pub(crate) fn suits(&self, environment: &Environment) -> Result<(), Reason> {
        match self.differing(environment).next() {
            Some((name, _)) => {
                let name = String::from_utf8_lossy(name).into_owned();
                Err(Reason::VariableChanged(name))
            }
            None => Ok(()),
        }
    }

    /// Variables that matter and have changed.
    pub(crate) fn differing<'a>(
        &'a self,
        environment: &'a Environment,
    ) -> impl Iterator<Item = (&'a [u8], Matters)> {
        // Maps, since there may be thousands.
        let now = by_name(environment);
        let then = by_name(&self.environment);
        let names: HashSet<&[u8]> = self.variables.iter().map(|(name, _)| &name[..]).collect();
        let mut found = Vec::new();
        for (name, then) in &self.variables {
            if now.get(&name[..]).copied() != then.as_deref() {
                found.push((&name[..], Matters::ByName));
            }
        }
        let changed = self.environment.iter();
        let changed = changed.filter(|(name, then)| now.get(&name[..]) != Some(&&then[..]));
        let new = environment.iter();
        let new = new.filter(|(name, _)| !then.contains_key(&name[..]));
        for (name, _) in changed.chain(new) {
            // Variables read by name were compared above.
            if !names.contains(&name[..]) {
                found.extend(self.matters(name).map(|how| (&name[..], how)));
            }
        }
        found.into_iter()
    }

    /// Returns true if a variable was read by name, prefix or suffix.
    pub(crate) fn asks_for(&self, name: &[u8]) -> bool {
        self.variables.iter().any(|(known, _)| known == name) || self.asks_for_part(name)
    }

    fn asks_for_part(&self, name: &[u8]) -> bool {
        self.beginnings.iter().any(|known| name.starts_with(known))
            || self.endings.iter().any(|known| name.ends_with(known))
    }

    /// The reason why a variable matters that was not read by name.
    fn matters(&self, name: &[u8]) -> Option<Matters> {
        let is_always = |name: &[u8]| {
            ALWAYS
                .iter()
                .any(|known| name.starts_with(known.as_bytes()))
        };
        // Our variables are handled by the child.
        if name.starts_with(b"PREHEAT_") {
            None
        } else if self.asks_for_part(name) {
            Some(Matters::ByName)
        } else if is_always(name) && !is_one_of(&LATER, name) {
            Some(Matters::Always)
        } else {
            (self.everything && !is_one_of(&NEVER, name)).then_some(Matters::Everything)
        }
    }
}

fn by_name(environment: &Environment) -> HashMap<&[u8], &[u8]> {
    let pairs = environment.iter();
    pairs.map(|(name, value)| (&name[..], &value[..])).collect()
}

fn is_one_of(names: &[&str], name: &[u8]) -> bool {
    names.iter().any(|known| known.as_bytes() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(Vec<u8>, Vec<u8>)> {
        pairs
            .iter()
            .map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into()))
            .collect()
    }

    fn differing(asked: &VariablesRead, now: &[(&str, &str)]) -> Vec<(String, Matters)> {
        let now = environment(now);
        let text = |name| String::from_utf8_lossy(name).into_owned();
        let found = asked.differing(&now);
        found.map(|(name, how)| (text(name), how)).collect()
    }

    #[test]
    fn only_variables_that_matter_are_compared() {
        let asked = VariablesRead {
            variables: vec![
                (b"ASKED".into(), Some(b"a".into())),
                (b"ABSENT".into(), None),
            ],
            environment: environment(&[("OMP_NUM_THREADS", "2"), ("ASKED", "a")]),
            ..VariablesRead::default()
        };
        let right = [
            ("OMP_NUM_THREADS", "2"),
            ("ASKED", "a"),
            ("TERM", "xterm"),
            ("CUDA_VISIBLE_DEVICES", "1"),
        ];
        assert_eq!(asked.suits(&environment(&right)), Ok(()));
        for (wrong, name, how) in [
            (&[("ASKED", "a")][..], "OMP_NUM_THREADS", Matters::Always),
            (
                &[("OMP_NUM_THREADS", "2"), ("ASKED", "b")],
                "ASKED",
                Matters::ByName,
            ),
            (
                &[("OMP_NUM_THREADS", "2"), ("ASKED", "a"), ("ABSENT", "")],
                "ABSENT",
                Matters::ByName,
            ),
            (
                &[
                    ("OMP_NUM_THREADS", "2"),
                    ("ASKED", "a"),
                    ("PYTHONHASHSEED", "0"),
                ],
                "PYTHONHASHSEED",
                Matters::Always,
            ),
        ] {
            assert_eq!(differing(&asked, wrong)[0], (name.to_owned(), how));
            let why = asked.suits(&environment(wrong)).expect_err("it differs");
            assert!(why.to_string().starts_with(name), "{why}");
        }
    }

    #[test]
    fn variables_are_matched_by_prefix_and_suffix() {
        let asked = VariablesRead {
            beginnings: vec![b"TQDM_".into()],
            endings: vec![b"_proxy".into()],
            environment: environment(&[("TQDM_ASCII", "1")]),
            ..VariablesRead::default()
        };
        let right = [("TQDM_ASCII", "1"), ("BEGAN", "12")];
        assert_eq!(differing(&asked, &right), []);
        for (name, value) in [
            ("TQDM_ASCII", "0"),
            ("TQDM_NEW", ""),
            ("http_proxy", "there"),
        ] {
            let now = [&right[1..], &[(name, value)]].concat();
            let found = differing(&asked, &now);
            assert!(found.contains(&(name.into(), Matters::ByName)), "{found:?}");
        }
        assert!(!differing(&asked, &[]).is_empty());
    }

    #[test]
    fn variables_of_shells_matter_only_if_read_by_name() {
        let asked = VariablesRead {
            variables: vec![
                (b"COLUMNS".into(), None),
                (b"PWD".into(), Some(b"/".into())),
            ],
            environment: environment(&[("PWD", "/")]),
            everything: true,
            ..VariablesRead::default()
        };
        assert_eq!(differing(&asked, &[("PWD", "/"), ("SHLVL", "2")]), []);
        let now = [("COLUMNS", "80"), ("PWD", "/tmp")];
        let both = ["COLUMNS", "PWD"].map(|name| (name.to_owned(), Matters::ByName));
        assert_eq!(differing(&asked, &now), both);
    }

    #[test]
    fn all_variables_matter_if_the_whole_environment_is_read() {
        let asked = VariablesRead {
            everything: true,
            environment: environment(&[("TERM", "dumb"), ("SHLVL", "1")]),
            ..VariablesRead::default()
        };
        assert_eq!(differing(&asked, &[("TERM", "dumb"), ("SHLVL", "3")]), []);
        let everything = |name: &str| (name.to_owned(), Matters::Everything);
        let other = differing(&asked, &[("TERM", "xterm")]);
        assert_eq!(other, [everything("TERM")]);
        let new = differing(&asked, &[("TERM", "dumb"), ("NEW", "")]);
        assert_eq!(new, [everything("NEW")]);
    }
}
