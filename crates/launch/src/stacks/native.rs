//! Samples native code with perf events of the kernel, where they are permitted, and looks up
//! the symbols of its libraries when a start has ended.
//!
//! One event per processor counts the CPU time of the command and its descendants, and samples
//! the instruction every few milliseconds of CPU time.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;

use addr2line::Loader;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, ReadCache};
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use preheat_model::run::StackFrame;

use super::collected::{self, Table};
use super::remote_memory::{self, Mapping};

/// CPU time between two samples, in nanoseconds. Not a divisor of common periods.
const PERIOD: u64 = 4_900_000;
/// Pages of a processor's buffer, a power of two: seconds of samples.
const PAGES: usize = 16;
/// Addresses from here on are the kernel's.
const KERNEL: u64 = 1 << 63;
/// The name of the kernel as a library.
const KERNEL_NAME: &str = "[kernel]";
/// Code in memory without a file: of a just-in-time compiler.
const GENERATED: &str = "[generated code]";

pub(super) struct Native {
    processors: Vec<Sampler>,
    /// True if kernel code is sampled too.
    kernel: bool,
    mappings: HashMap<u32, Vec<Mapping>>,
}

/// A sampled instruction.
pub(super) struct Sampled {
    pub time: u64,
    pub process: u32,
    pub thread: u32,
    pub native: Option<collected::Native>,
}

impl Native {
    /// Samples the program that a child of the calling thread executes, and all that it starts.
    /// The child has to be created after this: threads that existed before an event was opened
    /// are not sampled.
    pub(super) fn of_next_child() -> io::Result<Native> {
        // Samples within the kernel are not allowed everywhere.
        let (processors, kernel) = match open(true) {
            Ok(processors) => (processors, true),
            Err(_) => (open(false)?, false),
        };
        Ok(Native {
            processors,
            kernel,
            mappings: HashMap::new(),
        })
    }

    /// A sentence about the kernel, if its code is not sampled.
    pub(super) fn without_kernel(&self) -> Option<String> {
        let limit = paranoid().unwrap_or(2);
        (!self.kernel).then(|| {
            format!(
                "System calls and page faults are not among the functions of the program's own CPU \
                 time: the kernel does not let this user sample them (kernel.perf_event_paranoid is \
                 {limit}); `sysctl kernel.perf_event_paranoid=1` or the capability CAP_PERFMON allows it."
            )
        })
    }

    /// The samples since the last call.
    pub(super) fn take(&mut self, table: &mut Table) -> Vec<Sampled> {
        let mut found = Vec::new();
        for processor in &mut self.processors {
            while let Some(record) = processor.next_record() {
                let Ok(perf_event::data::Record::Sample(sample)) = record.parse_record() else {
                    continue;
                };
                let ids = sample.pid().zip(sample.tid());
                let (Some((process, thread)), Some(time)) = (ids, sample.time()) else {
                    continue;
                };
                found.push((time, process, thread, sample.ip()));
            }
        }
        // Reads the mappings of each process at most once per call.
        let mut asked: Vec<u32> = Vec::new();
        let found = found.into_iter().map(|(time, process, thread, ip)| {
            let native = ip.and_then(|ip| self.place(process, ip, &mut asked, table));
            Sampled {
                time,
                process,
                thread,
                native,
            }
        });
        found.collect()
    }

    /// The file that an address lies in, and where.
    fn place(
        &mut self,
        process: u32,
        address: u64,
        asked: &mut Vec<u32>,
        table: &mut Table,
    ) -> Option<collected::Native> {
        if address >= KERNEL {
            let library = table.library(KERNEL_NAME);
            return Some(collected::Native { library, offset: 0 });
        }
        let known = self.mappings.entry(process).or_default();
        if remote_memory::find(known, address).is_none() && !asked.contains(&process) {
            asked.push(process);
            let mut now = remote_memory::read(process);
            now.retain(|mapping| mapping.executable);
            if !now.is_empty() {
                *known = now;
            }
        }
        let mapping = remote_memory::find(known, address)?;
        let offset = address - mapping.begin + mapping.offset;
        Some(match mapping.path.as_str() {
            "" => collected::Native {
                library: table.library(GENERATED),
                offset: 0,
            },
            path => collected::Native {
                library: table.library(path),
                offset,
            },
        })
    }
}

/// The limit of the kernel on perf events.
fn paranoid() -> Option<i32> {
    let text = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

/// A sentence about native code, which is not sampled for this reason.
pub(super) fn refused(why: &io::Error) -> String {
    describe(why, paranoid())
}

fn describe(why: &io::Error, paranoid: Option<i32>) -> String {
    let refused = matches!(why.raw_os_error(), Some(libc::EACCES | libc::EPERM));
    let reason = match paranoid {
        Some(limit @ 3..) if refused => format!(
            "kernel.perf_event_paranoid is {limit}; `sysctl kernel.perf_event_paranoid=2` or the \
             capability CAP_PERFMON allows it"
        ),
        _ if refused => format!(
            "perf_event_open is refused ({why}), probably by a seccomp filter, as in Docker by \
             default; `docker run --cap-add PERFMON` or a seccomp profile with it allows it"
        ),
        None => "this kernel has no perf events".to_owned(),
        Some(_) => format!("perf events cannot be opened ({why})"),
    };
    format!(
        "Native code in the program's own CPU time is not listed by library and function, only \
         Python functions are: {reason}."
    )
}

/// Opens an event per processor for the calling thread. There, it never counts: it is enabled
/// by `exec`, in the children that inherit it.
fn open(kernel: bool) -> io::Result<Vec<Sampler>> {
    let mut opened = Vec::new();
    for processor in 0..processors() {
        let mut builder = Builder::new(Software::CPU_CLOCK);
        builder
            .observe_self()
            .one_cpu(processor)
            .inherit(true)
            .exclude_kernel(!kernel)
            .exclude_hv(true)
            .sample_period(PERIOD)
            .sample(SampleFlag::IP | SampleFlag::TID | SampleFlag::TIME)
            .clockid(Clock::MONOTONIC)
            .enabled(false)
            .enable_on_exec(true);
        match builder.build().and_then(|event| event.sampled(PAGES)) {
            Ok(sampler) => opened.push(sampler),
            // A processor that is switched off.
            Err(why) if why.raw_os_error() == Some(libc::ENODEV) => {}
            Err(why) => return Err(why),
        }
    }
    match opened.is_empty() {
        true => Err(io::Error::other("no processor could be observed")),
        false => Ok(opened),
    }
}

/// The number of processors of the machine, including those this process may not use.
fn processors() -> usize {
    // rustix does not have this number.
    // SAFETY: sysconf takes a number only.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    usize::try_from(count).unwrap_or(1)
}

/// Lines are only looked up in smaller files: the debug information of a large library
/// takes longer to read than the program took to start.
const MAX_BYTES_WITH_LINES: u64 = 64 << 20;

/// The symbols and lines of a file with machine code.
pub(super) struct Symbols {
    library: String,
    loader: Option<Loader>,
    lines: bool,
    /// The loaded parts of the file: offset, length, address.
    segments: Vec<(u64, u64, u64)>,
}

impl Symbols {
    pub(super) fn of(path: &str) -> Symbols {
        let plain = fs::metadata(path).ok().filter(|file| file.is_file());
        let loader = plain.as_ref().and_then(|_| Loader::new(path).ok());
        Symbols {
            library: path.to_owned(),
            loader,
            lines: plain.is_some_and(|file| file.len() <= MAX_BYTES_WITH_LINES),
            segments: segments(path).unwrap_or_default(),
        }
    }

    /// The function at this offset in the file.
    pub(super) fn frame(&self, offset: u64) -> StackFrame {
        let mut frame = StackFrame {
            library: self.library.clone(),
            ..StackFrame::default()
        };
        let within = |segment: &&(u64, u64, u64)| {
            offset
                .checked_sub(segment.0)
                .is_some_and(|at| at < segment.1)
        };
        let segment = self.segments.iter().find(within);
        let (Some(loader), Some(segment)) = (&self.loader, segment) else {
            return frame;
        };
        let address = segment.2.saturating_add(offset - segment.0);
        if let Some(symbol) = loader.find_symbol(address) {
            frame.function = symbol.to_owned();
        }
        if self.lines
            && let Ok(Some(location)) = loader.find_location(address)
        {
            frame.file = location.file.unwrap_or_default().to_owned();
            frame.line = location.line.unwrap_or(0);
        }
        frame
    }
}

fn segments(path: &str) -> Option<Vec<(u64, u64, u64)>> {
    let cache = ReadCache::new(File::open(path).ok()?);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    let endian = elf.endian();
    let loaded = elf.elf_program_headers().iter();
    let loaded = loaded.filter(|segment| segment.p_type(endian) == object::elf::PT_LOAD);
    let parts = loaded.map(|segment| {
        (
            segment.p_offset(endian),
            segment.p_filesz(endian),
            segment.p_vaddr(endian),
        )
    });
    Some(parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_explained() {
        let because = |code, paranoid| describe(&io::Error::from_raw_os_error(code), paranoid);
        assert!(because(libc::EACCES, Some(3)).contains("perf_event_paranoid is 3"));
        assert!(because(libc::EPERM, Some(2)).contains("seccomp"));
        assert!(because(libc::ENOSYS, None).contains("no perf events"));
        assert!(because(libc::EMFILE, Some(2)).contains("cannot be opened"));
    }

    #[test]
    fn files_that_are_not_libraries_have_no_symbols() {
        let none = Symbols::of("/nonexistent/library.so").frame(64);
        assert_eq!(none.library, "/nonexistent/library.so");
        assert_eq!((none.function.as_str(), none.line), ("", 0));
    }
}
