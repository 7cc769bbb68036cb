//! Control groups: a program counts towards the limits of the process that starts it. A
//! parent in one control group serves a start in another only if its child, and the
//! supervisor of the child, can be moved there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::reason::Reason;

/// Moves processes to the control groups of this process; an error is the reason why that
/// is not possible.
pub(crate) fn join(processes: &[u32]) -> Result<(), Reason> {
    let failed = |why: io::Error| Reason::Groups(why.into());
    let ours = fs::read_to_string("/proc/self/cgroup").map_err(failed)?;
    for &process in processes {
        let of = || fs::read_to_string(format!("/proc/{process}/cgroup"));
        let theirs = of().map_err(failed)?;
        if theirs == ours {
            continue;
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(failed)?;
        for line in ours
            .lines()
            .filter(|line| !theirs.lines().any(|it| it == *line))
        {
            let moved = directory(line, &mounts).and_then(|directory| {
                fs::write(directory.join("cgroup.procs"), process.to_string()).ok()
            });
            if moved.is_none() {
                return Err(Reason::OtherGroup);
            }
        }
        if of().map_err(failed)? != ours {
            return Err(Reason::OtherGroup);
        }
    }
    Ok(())
}

/// The directory of a line of `/proc/self/cgroup`: a number, controllers and a path.
fn directory(line: &str, mounts: &str) -> Option<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    for mount in mounts.lines() {
        let (left, right) = mount.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (root, point) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let (kind, options) = (right.next()?, right.nth(1)?);
        let is_it = match controllers {
            "" => kind == "cgroup2",
            wanted => {
                let has = |one| options.split(',').any(|option| option == one);
                kind == "cgroup" && wanted.split(',').all(has)
            }
        };
        if let (true, Ok(below)) = (is_it, Path::new(path).strip_prefix(root)) {
            return Some(Path::new(point).join(below));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
30 20 0:26 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
31 20 0:27 /docker/x /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 20 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
33 20 0:29 / /tmp rw - tmpfs tmpfs rw
";

    #[test]
    fn a_group_is_found_by_its_controllers() {
        let found = |line| directory(line, MOUNTS).map(|path| path.display().to_string());
        let is = |path: &str| Some(path.to_owned());
        assert_eq!(found("8:pids:/a/b"), is("/sys/fs/cgroup/pids/a/b"));
        assert_eq!(found("0::/user"), is("/sys/fs/cgroup/unified/user"));
        assert_eq!(
            found("1:cpu,cpuacct:/docker/x/y"),
            is("/sys/fs/cgroup/cpu/y")
        );
        // Outside the mounted part, or not mounted.
        assert_eq!(found("1:cpu,cpuacct:/docker/other"), None);
        assert_eq!(found("4:memory:/"), None);
    }

    #[test]
    fn a_process_in_the_same_groups_is_not_moved() {
        assert_eq!(join(&[std::process::id()]), Ok(()));
        assert!(join(&[u32::MAX]).is_err());
    }
}
