//! Parses the files of `/proc`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// A file of `/proc` that is read repeatedly. It is kept open, because opening costs more
/// than reading.
pub(super) struct Source {
    path: String,
    file: Option<File>,
}

impl Source {
    pub(super) fn new(path: String, keep: bool) -> Source {
        let file = if keep { File::open(&path).ok() } else { None };
        Source { path, file }
    }

    /// The current content; `None` if the process or thread is gone.
    pub(super) fn read<'a>(&self, buffer: &'a mut [u8]) -> Option<&'a str> {
        let length = match &self.file {
            Some(file) => file.read_at(buffer, 0).ok()?,
            None => File::open(&self.path).ok()?.read_at(buffer, 0).ok()?,
        };
        std::str::from_utf8(buffer.get(..length)?).ok()
    }

    /// Returns whether the file is kept open.
    pub(super) fn is_kept(&self) -> bool {
        self.file.is_some()
    }
}

/// From `schedstat`: nanoseconds on a processor, and waiting for one.
pub(super) fn schedstat(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// The nanoseconds for which this thread has waited for a processor; 0 if the kernel does
/// not count them.
pub(crate) fn waited_for_processor() -> u64 {
    let own = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    schedstat(&own).map_or(0, |(_, waited)| waited)
}

/// Returns whether this kernel maintains `schedstat`; otherwise it reads "0 0 0".
pub(super) fn schedstat_counts() -> bool {
    let own = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let slices = own.split_ascii_whitespace().nth(2);
    slices.is_some_and(|slices| slices != "0")
}

/// The content of `stat` for a process or thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stat {
    /// The letter of the state.
    pub state: u32,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Clock ticks on a processor.
    pub ticks: u64,
    /// The creation time, in ticks since boot.
    pub started: u64,
    /// The address of the code, which changes when another program is executed; 0 if it
    /// cannot be read.
    pub code: u64,
}

pub(super) fn stat(text: &str) -> Option<Stat> {
    // The name may contain spaces and parentheses, so the fields start after the last one.
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split_ascii_whitespace();
    let state = u32::from(*fields.next()?.as_bytes().first()?);
    // The next field is number 4 in the manual.
    let major_faults = fields.nth(8)?.parse().ok()?;
    let user: u64 = fields.nth(1)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let started = fields.nth(6)?.parse().ok()?;
    let code = fields.nth(3).and_then(|field| field.parse().ok());
    Some(Stat {
        state,
        major_faults,
        ticks: user + system,
        started,
        code: code.unwrap_or(0),
    })
}

/// From `statm`: resident pages, and those of them that belong to files or shared memory.
pub(super) fn resident_pages(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.split_ascii_whitespace().skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// From `io`: bytes read from disks.
pub(super) fn read_bytes(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes: "));
    line?.trim().parse().ok()
}

/// The numeric entries of a directory, at most `most`.
pub(super) fn numbers(directory: &str, most: usize) -> Vec<u32> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .take(most)
        .collect()
}

/// The name of a thread, if it still exists.
pub(super) fn thread_name(process: u32, thread: u32) -> Option<String> {
    let name = fs::read(format!("/proc/{process}/task/{thread}/comm")).ok()?;
    let name = String::from_utf8_lossy(&name);
    Some(name.trim_end_matches('\n').to_owned())
}

/// The children that a thread has started.
pub(super) fn children(process: u32, thread: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/children"));
    let text = text.unwrap_or_default();
    text.split_ascii_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// The creation time of a process, in ticks since boot; 0 if unknown.
pub(super) fn started_ticks(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat(&text).map_or(0, |stat| stat.started)
}

/// Clock ticks per second.
pub(super) fn ticks_per_second() -> u32 {
    u32::try_from(rustix::param::clock_ticks_per_second())
        .unwrap_or(100)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_anything() {
        let text = "7 (a) b) R 1 7 7 0 -1 4194304 100 0 12 0 30 4 0 0 20 0 1 0 5555 1 1 1 8";
        let stat = stat(text).expect("it is whole");
        assert_eq!(stat.state, u32::from(b'R'));
        assert_eq!((stat.major_faults, stat.ticks), (12, 34));
        assert_eq!((stat.started, stat.code), (5555, 8));
        assert_eq!(super::stat("7 (a) R 1"), None);
    }

    #[test]
    fn this_process_can_be_read() {
        let mut buffer = [0; 1024];
        let own = std::process::id();
        let statm = Source::new(format!("/proc/{own}/statm"), true);
        for _ in 0..2 {
            let text = statm.read(&mut buffer).expect("it exists");
            let (resident, file_backed) = resident_pages(text).expect("two numbers");
            assert!(resident > file_backed && file_backed > 0);
        }
        assert!(thread_name(own, own).is_some_and(|name| !name.is_empty()));
        assert_eq!(thread_name(own, 1), None);
        assert!(started_ticks(own) > 0);
        assert!(numbers(&format!("/proc/{own}/task"), 64).contains(&own));
    }
}
