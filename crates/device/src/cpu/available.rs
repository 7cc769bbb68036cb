//! How much memory this process may still take.
//!
//! Linux promises more memory than it has and ends a process that makes use of the
//! promise. A device says *out of memory* instead, so we look before we map: at the
//! machine's available memory and at the limits of the control groups that this
//! process is in (a container's limit is one).

use std::fs;
use std::path::{Path, PathBuf};

use super::host::table_bytes;

/// Where control groups are found, by custom of all distributions.
const GROUPS: &str = "/sys/fs/cgroup";

/// Bytes that can be taken now; `None` if the system does not tell.
pub(crate) fn available_memory() -> Option<u64> {
    let table = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let machine = table_bytes(&table, "MemAvailable:");
    let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = group_room(Path::new(GROUPS), &membership);
    machine.into_iter().chain(groups).min()
}

/// The names of one version's files.
struct Files {
    limit: &'static str,
    usage: &'static str,
    /// The line of `memory.stat` with file pages that are given up before anything
    /// else; they count as usage and yet are in nobody's way.
    reclaimable: &'static str,
}

const VERSION_1: Files = Files {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file ",
};

const VERSION_2: Files = Files {
    limit: "memory.max",
    usage: "memory.current",
    reclaimable: "inactive_file ",
};

/// The least room that any control group of this process leaves.
fn group_room(root: &Path, membership: &str) -> Option<u64> {
    let mut least = None;
    for line in membership.lines() {
        // `0::/a/b` is version 2, `4:memory:/a/b` is version 1.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (root, files) = match controllers {
            "" => (root.to_owned(), &VERSION_2),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), &VERSION_1)
            }
            _ => continue,
        };
        // A limit of any group above holds too. In a container the path may be the
        // host's and lead nowhere; its own limit is then at the root.
        let path: PathBuf = root.join(path.trim_start_matches('/'));
        for group in path
            .ancestors()
            .take_while(|group| group.starts_with(&root))
        {
            let room = room(group, files);
            least = least.into_iter().chain(room).min();
        }
    }
    least
}

/// What one group leaves; `None` if it has no limit.
fn room(group: &Path, files: &Files) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let limit: u64 = read(files.limit)?.trim().parse().ok()?;
    let usage: u64 = read(files.usage)?.trim().parse().ok()?;
    let reclaimable = read("memory.stat")
        .and_then(|stat| {
            let line = stat
                .lines()
                .find_map(|l| l.strip_prefix(files.reclaimable))?;
            line.trim().parse().ok()
        })
        .unwrap_or(0);
    Some(limit.saturating_sub(usage.saturating_sub(reclaimable)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::tests::Scratch;

    fn group(root: &Path, path: &str, files: &[(&str, &str)]) {
        let group = root.join(path);
        fs::create_dir_all(&group).expect("a directory can be made");
        for (name, content) in files {
            fs::write(group.join(name), content).expect("a file can be written");
        }
    }

    #[test]
    fn this_machine_has_some_memory() {
        assert!(available_memory().is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn the_tightest_group_counts_and_file_pages_do_not() {
        let root = Scratch::new();
        let stat = "anon 1\ninactive_file 100\n";
        let limit = |max| {
            [
                ("memory.max", max),
                ("memory.current", "400"),
                ("memory.stat", stat),
            ]
        };
        group(root.path(), "a/b", &limit("5000\n"));
        group(root.path(), "a", &limit("1000\n"));
        assert_eq!(group_room(root.path(), "0::/a/b\n"), Some(700));
        assert_eq!(group_room(root.path(), "0::/elsewhere\n"), None);
        group(root.path(), "a", &limit("max\n"));
        assert_eq!(group_room(root.path(), "0::/a/b\n"), Some(4700));
    }

    #[test]
    fn the_first_version_is_read_too() {
        let root = Scratch::new();
        let files = [
            ("memory.limit_in_bytes", "900"),
            ("memory.usage_in_bytes", "1000"),
        ];
        group(root.path(), "memory", &files);
        let membership = "9:name=systemd:/x\n4:cpu,memory:/not/there\n0::/\n";
        assert_eq!(group_room(root.path(), membership), Some(0));
    }
}
