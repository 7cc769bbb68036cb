//! The messages of a parent and its trials, and the answers. Fields are separated by zero bytes;
//! the first one is the word.
//!
//! | word | sender | effect |
//! |---|---|---|
//! | `begin` | parent | preheat's code begins; the tracer sets the breakpoint on `getenv` |
//! | `ours` | any | preheat's code runs next; an import must not have left temporary files |
//! | `theirs` | any | preheat imports installed modules next |
//! | `program` | any | the program's own code runs next, with stricter rules; checks as `ours` does |
//! | `library` | any | the program's first lines import an installed module next; same effect as `theirs` |
//! | `prefix` | any | the program's first lines run next |
//! | `trial` | trial | the process is a trial |
//! | `module` | trial | the module that is imported next |
//! | `searches` | any | the directory that the import system lists next |
//! | `permit` | any | the process may leave one more temporary file behind |
//! | `asked` | parent | asks for the questions of the modules in the last trial; answered in parts |
//! | `verdict` | parent | asks why the last trial was stopped; the answer is empty if it was not |
//! | `done` | parent | ends the tracing and writes the ledger; the fields are searched directories |

use std::collections::{BTreeSet, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use libc::pid_t;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::breakpoints::Trap;
use super::{Tracer, rules};

/// The longest message.
const MAX_MESSAGE_BYTES: usize = 1 << 16;

/// The length after which an answer ends. The longest path still fits into a message.
const MAX_ANSWER_BYTES: usize = 1 << 15;

impl Tracer<'_> {
    /// Handles a message from the parent or a trial; returns true after `done`.
    pub(super) fn on_message(&mut self, process: pid_t) -> bool {
        let mut bytes = vec![0u8; MAX_MESSAGE_BYTES];
        let received = recv(&self.channel, &mut bytes[..], RecvFlags::DONTWAIT);
        bytes.truncate(received.map_or(0, |(length, _)| length));
        let mut fields = bytes.split(|&byte| byte == 0);
        let word = fields.next().unwrap_or_default();
        let Some(known) = self.processes.get_mut(&process) else {
            return false;
        };
        match word {
            b"begin" => {
                known.is_ours = true;
                self.has_begun = true;
                self.trap = Trap::set(process);
            }
            b"ours" | b"program" => {
                known.is_ours = word == b"ours";
                known.is_program |= !known.is_ours;
                if let Some(path) = known.leaves_behind() {
                    let why = format!("leaves {} behind when it is imported", path.display());
                    self.kill(process, why);
                }
            }
            b"theirs" | b"library" => (known.is_ours, known.is_program) = (false, false),
            b"trial" => {
                (known.is_trial, known.is_prefix) = (true, false);
                known.module.clear();
                self.asked_by.clear();
            }
            b"module" => known.module = fields.next().unwrap_or_default().to_vec(),
            b"asked" => {
                let answer = self.take_asked();
                self.answer(&answer);
            }
            b"prefix" => {
                known.is_prefix = true;
                self.runs_prefix |= process == self.parent;
            }
            b"searches" => known.searches = fields.next().map(rules::path),
            b"permit" => known.permits += 1,
            b"verdict" => {
                let verdict = self.verdict.take().unwrap_or_default();
                self.answer(verdict.as_bytes());
            }
            b"done" => {
                let searched: HashSet<PathBuf> = fields.map(rules::path).collect();
                self.finish(&searched);
                return true;
            }
            _ => {}
        }
        false
    }

    /// Removes and returns what modules have asked for, as many records as fit into a message.
    fn take_asked(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some((module, asked)) = self.asked_by.pop_first() {
            let mut left = asked.into_iter();
            for (path, question) in left.by_ref() {
                let path = path.as_os_str().as_bytes();
                for field in [&module, &question.word()[..], path] {
                    bytes.extend_from_slice(field);
                    bytes.push(0);
                }
                if bytes.len() > MAX_ANSWER_BYTES {
                    break;
                }
            }
            let left: BTreeSet<_> = left.collect();
            if !left.is_empty() {
                self.asked_by.insert(module, left);
            }
            if bytes.len() > MAX_ANSWER_BYTES {
                break;
            }
        }
        bytes
    }

    /// Answers a message of a process that waits for it.
    fn answer(&self, bytes: &[u8]) {
        let answer = [b"=", bytes].concat();
        // A process that has gone needs no answer.
        let _ = send(&self.channel, &answer, SendFlags::DONTWAIT);
    }
}
