//! The memory of the machine and of this process.

use std::fs;

/// The memory of the machine, in bytes; `None` if the system does not report it.
pub fn total() -> Option<u64> {
    meminfo("MemTotal:")
}

/// The memory that can be allocated without swapping, in bytes; `None` if the system does
/// not report it. Limits of control groups are not included.
pub fn available() -> Option<u64> {
    meminfo("MemAvailable:")
}

/// The resident memory of this process, in bytes; `None` if the system does not report it.
pub fn resident() -> Option<u64> {
    let table = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = table.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_size() as u64)
}

/// Returns freed memory to the system, so that this process and its forks get smaller.
pub fn release_free() {
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
    fn lines_are_parsed() {
        let table = "MemTotal:       24682416 kB\nMemFree: 1 kB\n";
        assert_eq!(line(table, "MemTotal:"), Some(24_682_416 * 1024));
        assert_eq!(line(table, "MemAvailable:"), None);
        assert_eq!(line("MemTotal: 99999999999999999999 kB", "MemTotal:"), None);
    }

    #[test]
    fn this_machine_reports_its_memory() {
        let total = total().expect("Linux reports it");
        assert!(available().is_some_and(|bytes| bytes > 0 && bytes <= total));
        assert!(resident().is_some_and(|bytes| bytes > 0 && bytes < total));
        assert!(page_size().is_power_of_two());
    }
}
