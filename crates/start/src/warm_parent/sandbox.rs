//! Checks that a process of the warm parent has the same privileges as this process.
//!
//! The state file of a parent contains its identity, but some restrictions cannot be read and
//! stored: a Landlock domain has no name, the contents of system call filters are hidden, and
//! every process sees its root directory as `/`. Client and child therefore check each other
//! at each start, before anything is sent: the kernel lets a process inspect another one
//! (`/proc/PID/root`) only if that one is at least as restricted. If either check fails or is
//! not possible, the start is a plain one.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, StatxFlags, statx};

use crate::identity::{NAMESPACES, STATUS};
use crate::reason::Reason;

/// The namespace of control groups of the host, which has the same number in every kernel.
const HOST_CGROUPS: &str = "cgroup:[4026531835]";

/// Checks that `process` is in the same sandbox as this one; an error is the reason why not.
pub(crate) fn is_shared_with(process: u32) -> Result<(), Reason> {
    let theirs = PathBuf::from(format!("/proc/{process}"));
    let ours = Path::new("/proc/self");
    let unknown = |what, why: io::Error| Reason::Unreadable(what, why.into());
    let root = root(&theirs.join("root"));
    let root = root.map_err(|why| unknown("the root directory", why))?;
    let own = self::root(Path::new("/")).map_err(|why| unknown("the root directory", why))?;
    if root != own {
        return Err(Reason::OtherRoot);
    }
    for file in ["mountinfo", "attr/current"] {
        match (fs::read(theirs.join(file)), fs::read(ours.join(file))) {
            (Ok(theirs), Ok(ours)) if theirs == ours => {}
            (Ok(_), Ok(_)) => return Err(Reason::Differs(file)),
            // Without a security module a process has no label.
            (Err(_), Err(_)) if file == "attr/current" => {}
            (Err(why), _) | (_, Err(why)) => return Err(unknown(file, why)),
        }
    }
    for link in NAMESPACES {
        match (
            fs::read_link(theirs.join(link)),
            fs::read_link(ours.join(link)),
        ) {
            (Ok(theirs), Ok(ours)) if theirs == ours => {}
            (Ok(_), Ok(_)) => return Err(Reason::OtherNamespace(link)),
            // Older kernels have fewer namespaces.
            (Err(one), Err(other)) if is_absent(&one) && is_absent(&other) => {}
            (Err(why), _) | (_, Err(why)) => return Err(unknown(link, why)),
        }
    }
    let read = |path: &Path| {
        let status = fs::read_to_string(path.join("status"));
        status.map_err(|why| unknown("the status", why))
    };
    let (theirs, ours) = (read(&theirs)?, read(ours)?);
    for name in STATUS {
        if field(&theirs, name) != field(&ours, name) {
            return Err(Reason::Differs(name));
        }
    }
    is_filtered_alike(&ours)
}

/// Checks that other processes can be verified to be in the same sandbox as this one; if
/// not, no parent can be used.
pub(crate) fn is_certain() -> Result<(), Reason> {
    let status = fs::read_to_string("/proc/self/status");
    let status = status.map_err(|why| Reason::Proc(why.into()))?;
    // A tracer may show other files, or change system calls. It would not follow the program.
    if field(&status, "TracerPid") != Some("0") {
        return Err(Reason::Traced);
    }
    is_filtered_alike(&status)
}

fn is_absent(why: &io::Error) -> bool {
    why.kind() == io::ErrorKind::NotFound
}

/// Checks that this process has no system call filters, or exactly those of process 1 of its
/// container. The contents of filters cannot be read, but filters are inherited and never
/// removed, so all processes with as many filters as process 1 have the same ones. A parent must
/// have as many filters as this process.
fn is_filtered_alike(status: &str) -> Result<(), Reason> {
    if field(status, "Seccomp") == Some("0") {
        return Ok(());
    }
    let first = fs::read_to_string("/proc/1/status").unwrap_or_default();
    let count = field(status, "Seccomp_filters");
    if count.is_none() || count != field(&first, "Seccomp_filters") {
        return Err(Reason::Filtered);
    }
    if !is_in_container_of_first() {
        return Err(Reason::FirstElsewhere);
    }
    Ok(())
}

/// Returns true if process 1 is in the same container as this process. Containers may share the
/// processes (`--pid=container:…`, `shareProcessNamespace` of a pod): then process 1 has the
/// filters of another container.
///
/// Only processes with the same privileges may see its mounts. Otherwise its control groups show
/// it: they are the same, as in a small container, or below those of a container that has its own
/// namespace of control groups, as with systemd as process 1. Those of another container begin
/// with `/..` there.
fn is_in_container_of_first() -> bool {
    let link = |process: &str, name: &str| fs::read_link(format!("/proc/{process}/ns/{name}")).ok();
    let groups = |process: &str| fs::read_to_string(format!("/proc/{process}/cgroup")).ok();
    let mounts = link("self", "mnt");
    if mounts.is_some() && mounts == link("1", "mnt") {
        return true;
    }
    let Some(of_first) = groups("1") else {
        return false;
    };
    let namespace = link("self", "cgroup");
    let has_namespace = namespace.is_some_and(|name| name != Path::new(HOST_CGROUPS));
    let is_below = |line: &str| {
        !line
            .splitn(3, ':')
            .nth(2)
            .is_none_or(|path| path.starts_with("/.."))
    };
    groups("self").is_some_and(|ours| ours == of_first)
        || has_namespace && of_first.lines().all(is_below)
}

/// The value of a line of `/proc/PID/status`.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = status.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.map(str::trim)
}

/// Identifies a directory by device, inode and mount: two mounts of one directory may have
/// different mounts below them.
pub(crate) fn root(path: &Path) -> io::Result<String> {
    // Opened first, so that statx refers to exactly this directory.
    let directory = File::options()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
        .open(path)?;
    let asked = StatxFlags::INO | StatxFlags::MNT_ID;
    let status = statx(&directory, c"", AtFlags::EMPTY_PATH, asked)?;
    Ok(format!(
        "{}:{} {} {}",
        status.stx_dev_major, status.stx_dev_minor, status.stx_ino, status.stx_mnt_id
    ))
}

// Control groups: a program counts towards the limits of the process that starts it. A
// parent in one control group serves a start in another only if its child, and the
// supervisor of the child, can be moved there.

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

    #[test]
    fn a_process_is_in_its_own_sandbox() {
        let here = is_shared_with(std::process::id());
        // The tests may run under a system call filter.
        assert!(
            here == Ok(())
                || here
                    .as_ref()
                    .is_err_and(|why| why.to_string().contains("filter")),
            "{here:?}"
        );
        assert!(is_shared_with(u32::MAX).is_err());
        assert_ne!(
            root(Path::new("/")).expect("it exists"),
            root(Path::new("/proc")).expect("it exists")
        );
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let status = "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        assert_eq!(field(status, "Seccomp"), Some("2"));
        assert_eq!(field(status, "Seccomp_filters"), Some("1"));
        assert_eq!(field(status, "Sec"), None);
    }

    #[test]
    fn filters_that_process_1_lacks_are_refused() {
        assert_eq!(
            is_filtered_alike("Seccomp:\t0\nSeccomp_filters:\t0\n"),
            Ok(())
        );
        assert!(is_filtered_alike("Seccomp:\t2\nSeccomp_filters:\t9999\n").is_err());
        // Older kernels do not report the number of filters.
        assert!(is_filtered_alike("Seccomp:\t2\n").is_err());
    }

    const MOUNTS: &str = "\
30 20 0:26 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
31 20 0:27 /docker/x /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 20 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
33 20 0:29 / /tmp rw - tmpfs tmpfs rw
";

    #[test]
    fn a_group_is_found_by_its_controllers() {
        let found = |line| directory(line, MOUNTS).map(|path| path.display().to_string());
        let path = |path: &str| Some(path.to_owned());
        assert_eq!(found("8:pids:/a/b"), path("/sys/fs/cgroup/pids/a/b"));
        assert_eq!(found("0::/user"), path("/sys/fs/cgroup/unified/user"));
        assert_eq!(
            found("1:cpu,cpuacct:/docker/x/y"),
            path("/sys/fs/cgroup/cpu/y")
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
