//! The machine properties that matter to a cold start.

use std::fs;
use std::time::SystemTime;

use preheat_model::Machine;

use crate::memory;

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
        memory: memory::total().unwrap_or(0),
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
}
