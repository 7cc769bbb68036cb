//! A traced process (the parent or a trial): the code that it runs, and the temporary files that it may create.

use std::fs;
use std::path::{Component, Path, PathBuf};

use libc::pid_t;

use super::calls::{Call, Creates};
use super::rules;

/// A traced process.
#[derive(Clone, Default)]
pub(super) struct Process {
    pub is_trial: bool,
    /// It runs preheat's code.
    pub is_ours: bool,
    /// It runs the program's first lines.
    pub is_prefix: bool,
    /// The program's code runs, rather than an import of an installed module.
    pub is_program: bool,
    /// The module that is being imported.
    pub module: Vec<u8>,
    /// The directory that the import system will list next, to search it for modules.
    pub searches: Option<PathBuf>,
    /// Files and directories with random names that it has created for temporary files. An
    /// import has to remove them again.
    pub scratch: Vec<PathBuf>,
    /// The number of them that it may leave behind.
    pub permits: usize,
    /// The process that has started it, until it executes a program.
    pub started_by: Option<pid_t>,
    /// The files of semaphores that it has created and not named.
    pub semaphores: Vec<PathBuf>,
}

impl Process {
    /// Returns true for paths in its temporary directories, and for the file of a semaphore
    /// before it is named: the C library creates it exclusively, under a random name, and
    /// removes it afterwards.
    pub fn is_permitted(&mut self, path: &Path, what: &str, call: &Call) -> bool {
        if rules::is_unnamed_semaphore(path) {
            let is_new = call.creates() == Creates::File;
            if is_new {
                self.semaphores.push(path.to_owned());
            }
            return is_new || what == "removes" && self.semaphores.iter().any(|it| it == path);
        }
        // A link could lead out of the directory.
        self.has_created(path)
            && !call.links_symbolically()
            && call.linked().is_none_or(|file| self.has_created(&file))
    }

    fn has_created(&self, path: &Path) -> bool {
        let is_direct = path.components().all(|part| part != Component::ParentDir);
        is_direct && self.scratch.iter().any(|above| path.starts_with(above))
    }

    /// A temporary file or directory that an import has not removed, if there are more than it
    /// may leave behind.
    pub fn leaves_behind(&self) -> Option<&Path> {
        let mut left = self
            .scratch
            .iter()
            .filter(|path| path.symlink_metadata().is_ok());
        left.nth(self.permits).map(PathBuf::as_path)
    }

    /// Removes its temporary files and directories, most of which are gone, after it has exited.
    pub fn discard_scratch(&self) {
        for path in &self.scratch {
            let _ = match path.is_dir() {
                true => fs::remove_dir_all(path),
                false => fs::remove_file(path),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use preheat_host::Scratch;

    use super::*;

    #[test]
    fn temporary_files_have_to_be_removed() {
        let scratch = Scratch::new("trial").expect("a directory for the test");
        let (first, second) = (scratch.path().join("first"), scratch.path().join("second"));
        fs::create_dir(&first).expect("it is created");
        fs::write(&second, "").expect("it is written");
        let mut process = Process {
            scratch: vec![first.clone(), second.clone()],
            ..Process::default()
        };
        assert!(process.has_created(&first.join("file")));
        assert!(!process.has_created(&first.join("../file")));
        assert!(!process.has_created(scratch.path()));
        assert_eq!(process.leaves_behind(), Some(&*first));
        process.permits = 1;
        assert_eq!(process.leaves_behind(), Some(&*second));
        process.discard_scratch();
        process.permits = 0;
        assert_eq!(process.leaves_behind(), None);
    }
}
