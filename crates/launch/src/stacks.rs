//! Samples the running command from outside: the stacks of its Python threads, and the
//! instructions that its native code executes.
//!
//! Python stacks are read from the memory of the process while it runs ([`python`]); native
//! code is sampled with perf events, where they are permitted ([`native`]). Neither stops the
//! command or runs code in it. docs/recording.md explains the design and its cost.

mod collected;
mod line_tables;
mod native;
mod offsets;
mod python;
mod remote_memory;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use collected::{NodeId, Table};
use native::Native;
use python::Python;

/// More samples would not change the result.
const MAX_SAMPLES: usize = 100_000;
/// If a process has no interpreter yet, it is searched again after this many samples; each
/// further pause is a quarter longer.
const FIRST_PAUSE: u32 = 2;
const MAX_PAUSE: u32 = 1024;

/// Collects the samples of one start.
pub(crate) struct Collector {
    native: Option<Native>,
    /// The reason that native code, or a part of it, is not sampled.
    note: Option<String>,
    processes: HashMap<u32, Interpreter>,
    /// The last stack of each thread.
    stacks: HashMap<(u32, u32), NodeId>,
    table: Table,
}

/// The interpreter of a process.
enum Interpreter {
    Found(Box<Python>),
    /// Not found yet: the number of samples until the next search, and the pause after it.
    Missing {
        left: u32,
        pause: u32,
    },
}

impl Collector {
    /// A collector for the command that the calling thread starts next.
    pub(crate) fn of_next_child() -> Collector {
        let native = Native::of_next_child();
        let note = match &native {
            Ok(native) => native.without_kernel(),
            Err(why) => Some(native::refused(why)),
        };
        Collector {
            native: native.ok(),
            note,
            processes: HashMap::new(),
            stacks: HashMap::new(),
            table: Table::default(),
        }
    }

    /// Samples threads that have run since the last call: their process and number.
    pub(crate) fn sample(&mut self, time: u64, ran: &[(u32, u32)]) {
        if self.table.len() >= MAX_SAMPLES {
            self.native = None;
            return;
        }
        let mut threads: Vec<u32> = Vec::new();
        for group in ran.chunk_by(|a, b| a.0 == b.0) {
            threads.clear();
            threads.extend(group.iter().map(|(_, thread)| *thread));
            self.read_python(group[0].0, &threads);
        }
        let Some(native) = &mut self.native else {
            for key in ran {
                if let Some(stack) = self.stacks.get(key)
                    && is_running(*key)
                {
                    self.table.add(time, *key, Some(*stack), None);
                }
            }
            return;
        };
        for sampled in native.take(&mut self.table) {
            let key = (sampled.process, sampled.thread);
            let stack = self.stacks.get(&key).copied();
            self.table.add(sampled.time, key, stack, sampled.native);
        }
    }

    /// Reads the stacks of a process's threads.
    fn read_python(&mut self, pid: u32, threads: &[u32]) {
        let interpreter = self.processes.entry(pid).or_insert(Interpreter::Missing {
            left: 0,
            pause: FIRST_PAUSE,
        });
        if let Interpreter::Missing { left, pause } = interpreter {
            if *left > 0 {
                *left -= 1;
                return;
            }
            (*left, *pause) = (*pause, longer(*pause));
            match Python::find(pid) {
                Some(found) => *interpreter = Interpreter::Found(Box::new(found)),
                None => return,
            }
        }
        let Interpreter::Found(python) = interpreter else {
            return;
        };
        for thread in threads {
            self.stacks.remove(&(pid, *thread));
        }
        let Some(stacks) = python.stacks(threads, &mut self.table) else {
            // It has ended, or has become another program.
            *interpreter = Interpreter::Missing {
                left: FIRST_PAUSE,
                pause: FIRST_PAUSE,
            };
            return;
        };
        for stack in stacks {
            let thread = stack.thread.filter(|thread| threads.contains(thread));
            if let (Some(thread), Some(node)) = (thread, self.table.stack(&stack.frames)) {
                self.stacks.insert((pid, thread), node);
            }
        }
    }

    /// A sentence about code that is not sampled.
    pub(crate) fn note(&mut self) -> Option<String> {
        self.note.take()
    }

    /// Writes the samples to a file, if there are any.
    pub(crate) fn finish(self, path: &Path) -> io::Result<()> {
        if self.table.len() == 0 {
            return Ok(());
        }
        let stacks = self.table.finish();
        let mut file = BufWriter::new(File::create_new(path)?);
        serde_json::to_writer(&mut file, &stacks)?;
        file.flush()
    }
}

/// Returns the next pause. Pauses grow by only a quarter, so that an interpreter that takes long
/// to start, as on a busy machine, is found soon after it is up.
fn longer(pause: u32) -> u32 {
    (pause + pause / 4 + 1).min(MAX_PAUSE)
}

/// Returns true if a thread is on a processor, or waits for one.
fn is_running((pid, thread): (u32, u32)) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat"));
    let text = text.unwrap_or_default();
    let state = text.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|rest| rest.starts_with('R'))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    const PROGRAM: &str = "\
def inner():
    print('here', flush=True)
    while True:
        pass

def outer():
    inner()

outer()
";

    /// Ends with the test, however that ends.
    struct Running(Child);

    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn python_is_read_without_perf_events() {
        let python = Path::new("/usr/bin/python3");
        if !python.exists() {
            return;
        }
        let child = Command::new(python)
            .args(["-c", PROGRAM])
            .stdout(Stdio::piped())
            .spawn();
        let mut child = Running(child.expect("python starts"));
        let pid = child.0.id();
        let mut line = String::new();
        let out = child.0.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let mut collector = Collector {
            native: None,
            note: None,
            processes: HashMap::new(),
            stacks: HashMap::new(),
            table: Table::default(),
        };
        let deadline = Instant::now() + Duration::from_secs(60);
        while collector.table.len() < 5 && Instant::now() < deadline {
            collector.sample(1, &[(pid, pid)]);
        }
        let stacks = collector.table.finish();
        assert!(stacks.is_valid() && stacks.samples.len() == 5, "{stacks:?}");
        let frames: Vec<(&str, u32)> = (stacks.frames_of(stacks.samples[4].node))
            .map(|frame| (frame.function.as_str(), frame.line))
            .collect();
        assert!((2..=4).contains(&frames[0].1), "{frames:?}");
        assert_eq!(frames[0].0, "inner");
        assert_eq!(frames[1..], [("outer", 7), ("<module>", 9)]);
    }

    #[test]
    fn a_process_without_python_has_no_stacks() {
        assert!(Python::find(std::process::id()).is_none());
    }
}
