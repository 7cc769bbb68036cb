//! Programs that the command started and that the recorder cannot be loaded into.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;

use crate::program;

/// The program that a process executes.
#[derive(Default)]
pub(super) struct Executed {
    code: u64,
    samples: u32,
}

impl Executed {
    /// Returns true once for each program: at its second sample. Programs that end before, such
    /// as `ldconfig`, make no difference.
    pub(super) fn lasts(&mut self, code: u64) -> bool {
        if self.code != code {
            *self = Executed { code, samples: 0 };
        }
        self.samples = self.samples.saturating_add(1);
        code != 0 && self.samples == 2
    }
}

/// The programs and the reasons, by executable file.
#[derive(Default)]
pub(super) struct Unrecorded(BTreeMap<PathBuf, &'static str>);

impl Unrecorded {
    /// Inspects the program of a process.
    pub(super) fn inspect(&mut self, pid: u32) {
        let path = format!("/proc/{pid}/exe");
        let (Ok(name), Ok(file)) = (fs::read_link(&path), File::open(&path)) else {
            return;
        };
        // The loader of glibc, executed as a program, has no loader and loads the recorder.
        let is_loader = name
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"ld-linux"));
        if let Some(why) = program::unrecorded(&file).filter(|_| !is_loader) {
            self.0.insert(name, why);
        }
    }

    pub(super) fn all(self) -> Vec<(PathBuf, &'static str)> {
        self.0.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_inspected_at_its_second_sample() {
        let mut executed = Executed::default();
        let codes = [0, 0, 7, 7, 7, 9, 7, 7];
        let lasts = codes.map(|code| executed.lasts(code));
        let expected = [false, false, false, true, false, false, false, true];
        assert_eq!(lasts, expected);
    }
}
