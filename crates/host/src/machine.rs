//! The machine properties that matter to a cold start, and the memory of the machine and of
//! this process.

use std::fs;
use std::time::SystemTime;

use preheat_model::Machine;
use rustix::process::{Resource, getrlimit};

/// Describes this machine.
pub fn machine() -> Machine {
    let os = read("/etc/os-release");
    let os = field(&os, "PRETTY_NAME=").map(|name| name.trim_matches('"').to_owned());
    let cpu = read("/proc/cpuinfo");
    let cpu =
        field(&cpu, "model name").map(|name| name.trim_start_matches([':', ' ', '\t']).to_owned());
    Machine {
        os: os.unwrap_or_else(|| std::env::consts::OS.to_owned()),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        cpu: cpu.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory: total_memory().unwrap_or(0),
    }
}

/// The current time in UTC, formatted as RFC 3339.
pub fn now_rfc3339() -> String {
    let seconds = SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs());
    preheat_model::time::rfc3339(seconds)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The rest of the first line that begins with `name`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

/// The memory of the machine, in bytes; `None` if the system does not report it.
pub fn total_memory() -> Option<u64> {
    meminfo("MemTotal:")
}

/// The memory that can be allocated without swapping, in bytes; `None` if the system does
/// not report it. Limits of control groups are not included.
pub fn available_memory() -> Option<u64> {
    meminfo("MemAvailable:")
}

/// The resident memory of this process, in bytes; `None` if the system does not report it.
pub fn resident_memory() -> Option<u64> {
    let table = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = table.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size() as u64)
}

/// Returns freed memory to the system, so that this process and its forks get smaller.
pub fn release_free_memory() {
    // musl has no such function.
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim only releases memory that is not allocated, and takes the locks of
    // the allocator.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The page size, in bytes.
pub fn page_size() -> usize {
    rustix::param::page_size()
}

/// The number of bytes that this process may lock into memory; `None` if there is no limit.
pub fn lock_limit() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

fn meminfo(name: &str) -> Option<u64> {
    line(&fs::read_to_string("/proc/meminfo").ok()?, name)
}

/// The value of a line `Name:   123 kB`, in bytes.
fn line(table: &str, name: &str) -> Option<u64> {
    let rest = table.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory_and_a_name() {
        let machine = machine();
        assert!(machine.memory > 0);
        assert!(!machine.cpu.is_empty());
        assert!(now_rfc3339().starts_with("20"));
    }

    #[test]
    fn lines_are_parsed() {
        let table = "MemTotal:       24682416 kB\nMemFree: 1 kB\n";
        assert_eq!(line(table, "MemTotal:"), Some(24_682_416 * 1024));
        assert_eq!(line(table, "MemAvailable:"), None);
        assert_eq!(line("MemTotal: 99999999999999999999 kB", "MemTotal:"), None);
    }

    #[test]
    fn this_machine_reports_its_memory() {
        let total = total_memory().expect("Linux reports it");
        assert!(available_memory().is_some_and(|bytes| bytes > 0 && bytes <= total));
        assert!(resident_memory().is_some_and(|bytes| bytes > 0 && bytes < total));
        assert!(page_size().is_power_of_two());
    }
}
