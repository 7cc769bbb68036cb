//! Properties of this machine: processor, memory, settings.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable, Flags};

use crate::{Error, Info, Kind, Result};

/// This processor as a compilation target, with all its instruction set extensions.
pub(crate) fn target() -> Result<OwnedTargetIsa> {
    let unavailable = |because: String| Error::Unavailable {
        kind: Kind::Cpu,
        because: format!("its compiler does not support this processor: {because}"),
        hint: "it needs x86-64 or aarch64".to_owned(),
    };
    // Cranelift supports more architectures, but the layout of argument slots and the
    // instruction cache handling are written for these two.
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Err(unavailable("unsupported architecture".to_owned()));
    }
    let mut flags = settings::builder();
    // IR verification is for our tests; it costs a third of the compile time.
    let verify = cfg!(debug_assertions).to_string();
    for (name, value) in [("opt_level", "speed"), ("enable_verifier", verify.as_str())] {
        flags
            .set(name, value)
            .map_err(|error| unavailable(error.to_string()))?;
    }
    cranelift_native::builder()
        .map_err(|error| unavailable(error.to_owned()))?
        .finish(Flags::new(flags))
        .map_err(|error| unavailable(error.to_string()))
}

/// The number of threads that can run at once, subject to the container's limit.
pub(crate) fn cores() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// Describes this machine as a device.
pub(crate) fn info(isa: &dyn TargetIsa) -> Info {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut facts = vec![
        fact("target", isa.triple().to_string()),
        fact("cores", cores().to_string()),
        fact("page size", format!("{} bytes", preheat_host::page_size())),
    ];
    let huge_pages = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if let Some(chosen) = huge_pages.ok().as_deref().and_then(chosen) {
        facts.push(fact("transparent huge pages", chosen.to_owned()));
    }
    let extensions = extensions(isa);
    if !extensions.is_empty() {
        facts.push(fact("instruction set extensions", extensions));
    }
    Info {
        name: processor_name(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
            .unwrap_or_else(|| format!("{} processor", isa.triple().architecture)),
        driver: format!("embedded, Cranelift {}", cranelift_codegen::VERSION),
        memory: preheat_host::total_memory().unwrap_or(0),
        is_gpu: false,
        facts,
    }
}

fn processor_name(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    let name = line.split_once(':')?.1.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The word in brackets of `always [madvise] never`.
fn chosen(setting: &str) -> Option<&str> {
    Some(setting.split_once('[')?.1.split_once(']')?.0)
}

/// The extensions that the compiler will use, space-separated.
fn extensions(isa: &dyn TargetIsa) -> String {
    let flags = isa.isa_flags();
    let has: Vec<&str> = flags
        .iter()
        .filter(|flag| flag.as_bool() == Some(true))
        .filter_map(|flag| flag.name.strip_prefix("has_"))
        .collect();
    has.join(" ")
}

// How much memory this process may still allocate.
//
// Linux overcommits memory and kills processes that use too much of it. A device reports
// *out of memory* instead, so we check before mapping: the machine's available memory, and
// the limits of the control groups this process is in (a container's limit is one).

/// The mount point of control groups on all common distributions.
const GROUPS: &str = "/sys/fs/cgroup";

/// Bytes that can be allocated now; `None` if the system does not report it.
pub(crate) fn available_memory() -> Option<u64> {
    let machine = preheat_host::available_memory();
    let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = group_headroom(Path::new(GROUPS), &membership);
    machine.into_iter().chain(groups).min()
}

/// The file names of one cgroup version.
struct Files {
    limit: &'static str,
    usage: &'static str,
    /// The `memory.stat` line with file pages that are reclaimed before anything else;
    /// they count as usage, but do not limit an allocation.
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

/// The smallest headroom that any control group of this process leaves.
fn group_headroom(root: &Path, membership: &str) -> Option<u64> {
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
        // The limits of all ancestor groups apply too. In a container, the path may be the
        // host's and not exist here; the container's limit is then at the root.
        let path: PathBuf = root.join(path.trim_start_matches('/'));
        for group in path
            .ancestors()
            .take_while(|group| group.starts_with(&root))
        {
            let headroom = headroom(group, files);
            least = least.into_iter().chain(headroom).min();
        }
    }
    least
}

/// The headroom of one group; `None` if it has no limit.
fn headroom(group: &Path, files: &Files) -> Option<u64> {
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
    use crate::cpu::tests::scratch;

    #[test]
    fn tables_are_read() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some: Processor @ 2 GHz\n";
        let name = processor_name(cpuinfo);
        assert_eq!(name.as_deref(), Some("Some: Processor @ 2 GHz"));
        assert_eq!(processor_name("processor\t: 0\n"), None);
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("nothing"), None);
    }

    #[test]
    fn this_machine_is_described() {
        let info = info(&*target().expect("this processor is supported"));
        assert!(!info.name.is_empty());
        assert!(info.driver.starts_with("embedded, Cranelift 0."));
        assert!(info.memory > 0);
    }

    fn group(root: &Path, path: &str, files: &[(&str, &str)]) {
        let group = root.join(path);
        fs::create_dir_all(&group).expect("the directory can be created");
        for (name, content) in files {
            fs::write(group.join(name), content).expect("the file can be written");
        }
    }

    #[test]
    fn this_machine_has_some_memory() {
        assert!(available_memory().is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn the_tightest_group_counts_and_file_pages_do_not() {
        let root = scratch();
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
        assert_eq!(group_headroom(root.path(), "0::/a/b\n"), Some(700));
        assert_eq!(group_headroom(root.path(), "0::/elsewhere\n"), None);
        group(root.path(), "a", &limit("max\n"));
        assert_eq!(group_headroom(root.path(), "0::/a/b\n"), Some(4700));
    }

    #[test]
    fn version_1_limits_apply_too() {
        let root = scratch();
        let files = [
            ("memory.limit_in_bytes", "900"),
            ("memory.usage_in_bytes", "1000"),
        ];
        group(root.path(), "memory", &files);
        let membership = "9:name=systemd:/x\n4:cpu,memory:/not/there\n0::/\n";
        assert_eq!(group_headroom(root.path(), membership), Some(0));
    }
}
