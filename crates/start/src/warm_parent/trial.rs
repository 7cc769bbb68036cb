//! Traces the system calls of a warm parent while it starts.
//!
//! The tracer sees every input of the interpreter's start and of the imports, and writes
//! the ledger. It also stops imports before they act: it kills the process (a trial, which is
//! forked from the parent, or the parent itself) as the system call begins, so that the call has
//! no effect.
//! When the parent is ready, the tracer detaches and removes its breakpoint.
//!
//! The parent and its trials send messages to the tracer (`messages`), for example whether imports
//! or preheat's code run next.

mod breakpoints;
mod calls;
mod messages;
mod process;
mod rules;
mod tracee;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use libc::{c_int, pid_t};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process};

use super::ledger::{Ledger, Question};
use breakpoints::Trap;
use calls::{Call, Meaning};
use process::Process;
use tracee::CallStop;

pub(crate) use rules::Rules;

/// Threads of any type, as `ptrace` needs; rustix does not name this option.
const ALL_THREADS: WaitOptions = WaitOptions::from_bits_retain(libc::__WALL as u32);

/// The outcome of tracing a parent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is ready, or it reports the reason itself and exits.
    Detached,
    /// It would have acted. The text is a predicate: `opens a socket when it is imported`.
    Acted(String),
    /// It failed while running the program's first lines.
    Discarded,
}

/// The tracer of one parent.
pub(crate) struct Tracer<'a> {
    rules: Rules<'a>,
    parent: pid_t,
    channel: OwnedFd,
    output: File,
    processes: HashMap<pid_t, Process>,
    threads: HashMap<pid_t, Thread>,
    ledger: Ledger,
    /// Directories outside the installed packages that were listed for another purpose than
    /// searching for modules.
    listed_beyond_search: HashSet<PathBuf>,
    /// The questions that modules of the latest trial have asked outside the installed packages, by
    /// the names of the modules.
    asked_by: BTreeMap<Vec<u8>, BTreeSet<(PathBuf, Question)>>,
    /// The names of all temporary files and directories.
    temporary_paths: HashSet<PathBuf>,
    /// The reason why the last trial was stopped.
    verdict: Option<String>,
    trap: Option<Trap>,
    /// The interpreter has reached preheat's code.
    has_begun: bool,
    /// The parent runs the program's first lines.
    runs_prefix: bool,
}

struct Thread {
    process: pid_t,
    /// The action after its system call has returned.
    pending: AfterCall,
}

enum AfterCall {
    Nothing,
    /// Receives the message that the process has sent.
    Message,
    /// Records the answers as inputs.
    Questions(Vec<(PathBuf, Question)>),
    /// Records whether this standard stream is a terminal.
    Stream(c_int),
    /// Records the host name.
    Host,
    /// Updates the inputs at these paths, which the call has changed.
    Changed(Vec<PathBuf>),
    /// It created a temporary file or directory.
    Created(PathBuf),
}

impl<'a> Tracer<'a> {
    /// Begins to trace a waiting child of this process. It sends messages through `channel`;
    /// its ledger is written to `output`.
    pub(crate) fn attach(
        parent: pid_t,
        channel: OwnedFd,
        output: File,
        rules: Rules<'a>,
    ) -> io::Result<Tracer<'a>> {
        tracee::seize(parent)?;
        // Ignore its calls until it executes the interpreter.
        let before = Process {
            is_ours: true,
            ..Process::default()
        };
        Ok(Tracer {
            rules,
            parent,
            channel,
            output,
            processes: HashMap::from([(parent, before)]),
            threads: HashMap::new(),
            ledger: Ledger::default(),
            listed_beyond_search: HashSet::new(),
            asked_by: BTreeMap::new(),
            temporary_paths: HashSet::new(),
            verdict: None,
            trap: None,
            has_begun: false,
            runs_prefix: false,
        })
    }

    /// Traces until the parent is ready or has exited.
    pub(crate) fn follow(mut self) -> Outcome {
        loop {
            let (thread, status) = match rustix::process::wait(ALL_THREADS) {
                Ok(Some((thread, status))) => (thread.as_raw_pid(), status),
                Err(Errno::INTR) => continue,
                Ok(None) | Err(_) => return self.outcome(),
            };
            let Some(signal) = status.stopping_signal() else {
                self.threads.remove(&thread);
                if let Some(process) = self.processes.remove(&thread) {
                    process.discard_scratch();
                }
                if thread == self.parent {
                    return self.outcome();
                }
                continue;
            };
            let pass_on = match status.as_raw() >> 16 {
                0 if signal == libc::SIGTRAP | 0x80 => {
                    self.register(thread);
                    if self.on_syscall_stop(thread) {
                        self.detach(thread);
                        return Outcome::Detached;
                    }
                    0
                }
                0 if signal == libc::SIGTRAP && self.on_breakpoint(thread) => 0,
                0 => signal,
                libc::PTRACE_EVENT_EXEC => {
                    let new = Process {
                        // If an import started the process, it executes a harmless program, whose
                        // calls are ignored. Otherwise the parent executes the interpreter.
                        is_ours: self
                            .processes
                            .get(&thread)
                            .is_some_and(|it| it.started_by.is_some()),
                        ..Process::default()
                    };
                    self.processes.insert(thread, new);
                    0
                }
                _ => {
                    self.register(thread);
                    0
                }
            };
            tracee::resume(thread, pass_on);
        }
    }

    fn outcome(&mut self) -> Outcome {
        match self.verdict.take() {
            _ if self.runs_prefix => Outcome::Discarded,
            Some(why) => Outcome::Acted(why),
            None => Outcome::Detached,
        }
    }

    /// Registers a new thread, and its process, which inherits the flags of its parent.
    fn register(&mut self, thread: pid_t) {
        if self.threads.contains_key(&thread) {
            return;
        }
        let process = tracee::status(thread, "Tgid").unwrap_or(thread);
        if !self.processes.contains_key(&process) {
            let above = tracee::status(thread, "PPid").unwrap_or(0);
            let mut inherited = self.processes.get(&above).cloned().unwrap_or_default();
            inherited.scratch.clear();
            inherited.started_by = (!inherited.is_ours).then_some(above);
            self.processes.insert(process, inherited);
        }
        let pending = AfterCall::Nothing;
        self.threads.insert(thread, Thread { process, pending });
    }

    /// Handles the beginning or end of a system call; returns true if the parent is ready.
    fn on_syscall_stop(&mut self, thread: pid_t) -> bool {
        let Some(call) = tracee::call_stop(thread) else {
            return false;
        };
        let Some(Thread { process, pending }) = self.threads.get_mut(&thread) else {
            return false;
        };
        let process = *process;
        match call {
            CallStop::Entry(number, arguments) => {
                let pending = self.on_syscall_entry(&Call {
                    process,
                    number,
                    arguments,
                });
                if let Some(thread) = self.threads.get_mut(&thread) {
                    thread.pending = pending;
                }
                false
            }
            CallStop::Exit(result) => {
                let action = std::mem::replace(pending, AfterCall::Nothing);
                self.on_syscall_exit(process, action, result)
            }
        }
    }

    fn on_syscall_entry(&mut self, call: &Call) -> AfterCall {
        let is_message =
            call.number == libc::SYS_write && call.arguments[0] == self.rules.channel as u64;
        if is_message {
            return AfterCall::Message;
        }
        let Some(process) = self.processes.get_mut(&call.process) else {
            return AfterCall::Nothing;
        };
        if process.is_ours {
            return AfterCall::Nothing;
        }
        let meaning = match process.is_program {
            true => call.meaning_in_program(),
            false => call.meaning(),
        };
        if let Some(above) = process.started_by {
            let is_trial = process.is_trial;
            match call.executes() {
                Some(words) if rules::is_harmless_program(&words) => {
                    self.note_program(is_trial, &words[0]);
                    return AfterCall::Nothing;
                }
                // Before it executes the program, it lists descriptors to close them.
                None if matches!(meaning, Meaning::Nothing | Meaning::Asks(_)) => {
                    return AfterCall::Nothing;
                }
                _ => {}
            }
            self.kill(call.process, String::new());
            self.kill(above, "starts a process when it is imported".into());
            return AfterCall::Nothing;
        }
        let acts = match meaning {
            // Python inspects its streams when it starts.
            Meaning::Nothing if self.has_begun && call.reads_stream() => {
                "reads a standard stream when it is imported".into()
            }
            // The new process is judged when it executes a program.
            Meaning::Nothing | Meaning::Starts => return AfterCall::Nothing,
            Meaning::AsksHost => return AfterCall::Host,
            // Python checks its streams when it starts, and each child recreates its stream objects.
            Meaning::AsksTerminal(_) if !self.has_begun => return AfterCall::Nothing,
            Meaning::AsksTerminal(fd) if !self.rules.terminals.contains(&fd) => {
                return AfterCall::Stream(fd);
            }
            Meaning::AsksTerminal(fd) => {
                format!("asks about the terminal at descriptor {fd} when it is imported")
            }
            // Inputs of the interpreter cannot be left out.
            Meaning::Asks(asked) if !process.is_trial => return AfterCall::Questions(asked),
            Meaning::Asks(asked) => match self.rules.varying(&asked) {
                Some(why) => why,
                None => return AfterCall::Questions(asked),
            },
            Meaning::Writes(paths, what) => {
                match &paths[..] {
                    _ if process.is_program => {}
                    [path] if self.rules.is_unnamed(path, call.creates()) => {
                        return AfterCall::Changed(paths);
                    }
                    // A name that two processes use is not random, so the file is not temporary.
                    [path]
                        if self.rules.is_scratch(path, call.creates())
                            && self.temporary_paths.insert(path.clone()) =>
                    {
                        return AfterCall::Created(path.clone());
                    }
                    _ => {}
                }
                let mut harmful = paths.iter().filter(|path| !self.rules.is_harmless(path));
                match harmful.find(|path| !process.is_permitted(path, what, call)) {
                    Some(path) => {
                        call.discard_semaphore(&process.semaphores);
                        rules::writing(path, what)
                    }
                    None => return AfterCall::Changed(paths),
                }
            }
            Meaning::Acts(why) => why,
        };
        self.kill(call.process, acts);
        AfterCall::Nothing
    }

    /// Notes the inputs of a harmless program.
    fn note_program(&mut self, is_trial: bool, program: &Path) {
        if !is_trial {
            for path in [program, Path::new(rules::LIBRARY_CACHE)] {
                self.ledger.record(path.to_owned(), Question::File);
            }
        }
    }

    /// Kills the process before its system call has any effect.
    fn kill(&mut self, process: pid_t, why: String) {
        self.verdict = Some(why);
        // It is traced, so its ID is not reused.
        if let Some(process) = Pid::from_raw(process) {
            let _ = kill_process(process, Signal::KILL);
        }
    }

    fn on_syscall_exit(&mut self, process: pid_t, action: AfterCall, result: i64) -> bool {
        let is_trial = self.processes.get(&process).is_some_and(|it| it.is_trial);
        match action {
            AfterCall::Nothing => {}
            AfterCall::Message => return self.on_message(process),
            AfterCall::Questions(asked) => {
                for (path, question) in asked {
                    if question == Question::Listing && result > 0 {
                        continue; // The listing is not complete yet.
                    }
                    self.note_input(process, is_trial, path, question);
                }
            }
            AfterCall::Stream(fd) => self.ledger.record_stream(fd),
            AfterCall::Host => self.ledger.record_host(),
            AfterCall::Changed(paths) => paths
                .iter()
                .for_each(|path| self.note_change(is_trial, path)),
            AfterCall::Created(path) => {
                self.note_change(is_trial, &path);
                let process = self.processes.get_mut(&process).filter(|_| result >= 0);
                process
                    .into_iter()
                    .for_each(|it| it.scratch.push(path.clone()));
            }
        }
        false
    }

    /// Notes a harmless change. Whether it succeeds in a directory for temporary files depends
    /// on the directory and its file system.
    fn note_change(&mut self, is_trial: bool, path: &Path) {
        self.ledger.refresh(path);
        if !is_trial && let Some(directory) = self.rules.temporary_directory(path) {
            self.ledger.record(directory.to_owned(), Question::Writable);
        }
    }

    fn note_input(&mut self, process: pid_t, is_trial: bool, path: PathBuf, question: Question) {
        let mut is_search = false;
        if question == Question::Listing {
            let searches = self.processes.get_mut(&process);
            let searches = searches.and_then(|it| it.searches.take());
            is_search = searches.as_ref() == Some(&path);
            if is_trial && !is_search && !self.rules.is_installed(&path) {
                self.listed_beyond_search.insert(path.clone());
            }
        }
        if !is_search && self.rules.may_change(&path) {
            self.note_module(process, &path, question);
        }
        if is_trial || self.rules.is_own(&path) {
            return;
        }
        if !path.starts_with("/proc") && !path.starts_with("/sys") {
            self.ledger.record(path, question);
        } else if let Some((path, question)) = calls::kernel_file_question(&path, question, process)
        {
            self.ledger.record(path, question);
        }
    }

    /// Notes that the module that is being imported has asked for a path.
    fn note_module(&mut self, process: pid_t, path: &Path, question: Question) {
        // Temporary files are gone when the module is shown.
        if path
            .ancestors()
            .any(|above| self.temporary_paths.contains(above))
        {
            return;
        }
        let known = self.processes.get(&process);
        if let Some(known) = known.filter(|it| !it.module.is_empty()) {
            let asked = self.asked_by.entry(known.module.clone()).or_default();
            asked.insert((path.to_owned(), question));
        }
    }

    /// Handles a trap in `getenv`; returns false if the thread stopped for another reason.
    fn on_breakpoint(&mut self, thread: pid_t) -> bool {
        self.register(thread);
        let Some(at) = self.trap.as_ref().and_then(|trap| trap.hit(thread)) else {
            return false;
        };
        let process = self.threads.get(&thread).map_or(thread, |it| it.process);
        let Some(known) = self.processes.get(&process) else {
            return true;
        };
        if known.is_ours {
            return true;
        }
        let name = tracee::text(process, at).unwrap_or_default();
        if !known.is_trial {
            self.rules.note_variable(&name, &mut self.ledger);
        } else if let Some(why) = self.rules.varying_variable(&name, !known.is_prefix) {
            self.kill(process, why);
        }
        true
    }

    /// Writes the ledger. Directories in which imports search for modules are omitted: the
    /// names in them are compared elsewhere.
    fn finish(&mut self, searched: &HashSet<PathBuf>) {
        let (rules, strict, names) = (
            &self.rules,
            &self.listed_beyond_search,
            &self.temporary_paths,
        );
        self.ledger.retain(|path, question| {
            let is_search = question == Question::Listing
                && searched.contains(path)
                && !rules.is_installed(path)
                && !strict.contains(path);
            !is_search && !path.ancestors().any(|above| names.contains(above))
        });
        let mut records = self.ledger.records();
        if self.trap.is_none() {
            records.extend_from_slice(b"all-variables\0\0\0");
        }
        // If this fails, the parent notices that its ledger is missing.
        let _ = self.output.write_all(&records);
    }

    /// Detaches from the parent, whose thread `current` is stopped.
    fn detach(&self, current: pid_t) {
        if let Some(trap) = &self.trap {
            trap.remove(self.parent);
        }
        for (&thread, known) in &self.threads {
            if known.process == self.parent && thread != current {
                tracee::release_running(thread);
            }
        }
        tracee::release(current);
    }
}
