//! A control group of a test.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::require;
use crate::warm::Warm;

/// A control group for the test, removed at its end.
pub struct Group(pub PathBuf);

impl Group {
    pub fn new(name: &str) -> Option<Group> {
        let roots = [
            "/sys/fs/cgroup/unified",
            "/sys/fs/cgroup",
            "/sys/fs/cgroup/pids",
        ];
        let name = format!("preheat-{name}-{}", std::process::id());
        let made = roots
            .iter()
            .map(|root| Path::new(root).join(&name))
            .find(|path| {
                let is_group = path
                    .parent()
                    .is_some_and(|root| root.join("cgroup.procs").exists());
                is_group && fs::create_dir(path).is_ok()
            });
        require("control groups", made.map(Group))
    }

    /// Have a command begin in it.
    pub fn command(&self, warm: &Warm, words: &[&str]) -> Command {
        let script = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
        let path = self.0.to_str().expect("it is text");
        let mut all = vec!["sh", "-c", script, path];
        all.extend(words);
        warm.plain(&all)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Parents that were made in it have to leave it first.
        let others = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        let above = self.0.parent().map(|root| root.join("cgroup.procs"));
        for process in others.lines() {
            let _ = above.as_ref().map(|above| fs::write(above, process));
        }
        let _ = fs::remove_dir(&self.0);
    }
}
