//! The machine properties that matter to a cold start.

use std::fs;
use std::time::SystemTime;

use preheat_model::Machine;

/// Describes this machine.
pub fn machine() -> Machine {
    let os = read("/etc/os-release");
    let os = field(&os, "PRETTY_NAME=").map(|name| name.trim_matches('"').to_owned());
    let cpu = read("/proc/cpuinfo");
    let cpu =
        field(&cpu, "model name").map(|name| name.trim_start_matches([':', ' ', '\t']).to_owned());
    let memory = read("/proc/meminfo");
    let memory = field(&memory, "MemTotal:")
        .and_then(|rest| {
            rest.trim()
                .trim_end_matches("kB")
                .trim()
                .parse::<u64>()
                .ok()
        })
        .map_or(0, |kib| kib * 1024);
    Machine {
        os: os.unwrap_or_else(|| std::env::consts::OS.to_owned()),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        cpu: cpu.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory,
    }
}

/// This process's resident memory in bytes; 0 if the system does not report it.
pub fn resident_bytes() -> f64 {
    let status = read("/proc/self/status");
    field(&status, "VmRSS:")
        .and_then(|rest| {
            rest.trim()
                .trim_end_matches("kB")
                .trim()
                .parse::<f64>()
                .ok()
        })
        .map_or(0.0, |kib| kib * 1024.0)
}

/// The current time in UTC, formatted as RFC 3339.
pub fn now_rfc3339() -> String {
    let seconds = SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |since| since.as_secs());
    rfc3339(seconds)
}

fn rfc3339(unix_seconds: u64) -> String {
    let (days, rest) = (unix_seconds / 86_400, unix_seconds % 86_400);
    // Days to a Gregorian date: counts years and months from 1 March 0000, so that the leap
    // day is the last day of its year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
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
    fn dates() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(rfc3339(1_798_761_599), "2026-12-31T23:59:59Z");
    }

    #[test]
    fn this_machine_has_memory_and_a_name() {
        let machine = machine();
        assert!(machine.memory > 0);
        assert!(!machine.cpu.is_empty());
        assert!(resident_bytes() > 0.0);
    }
}
