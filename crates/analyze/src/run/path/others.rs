//! What a program does while the thread that iterates does nothing: another thread may
//! work for it (autograd's, a loader's), or another process, or nobody.

use std::iter::Peekable;

use super::super::Cause;
use super::super::calls;
use super::super::facts::Facts;
use super::super::leaves::{Leaf, Leaves};
use super::super::trace::Thread;
use super::catalogue::{Catalogue, ItemId};
use super::children::{BUSY, Children};
use super::free::Free;
use super::samples::{Reading, Samples};
use super::sink::Piece;

const DISK: &str = "waiting for a disk";
const WAITING: &str = "waiting";
const UNKNOWN: &str = "not looked at";
/// Threads are looked at one after the other: looks that are closer than this are one.
const APART: u64 = 1_000_000;

/// Goes along the other threads and processes. Times must not go back.
pub(super) struct Others<'a> {
    process: usize,
    threads: Vec<Other<'a>>,
    children: Children<'a>,
    reading: Reading<'a>,
    /// What nobody has accounted for yet.
    free: Free,
    found: Vec<Piece>,
}

struct Other<'a> {
    leaves: Peekable<Leaves<'a>>,
    /// Its leaves within the stretch that is asked about.
    held: Vec<Leaf>,
    samples: Samples<'a>,
    item: ItemId,
    busy: Option<f64>,
}

/// What people call a thread.
pub(in crate::run) fn thread_name(pid: u32, thread: &Thread) -> String {
    match thread.name.as_str() {
        _ if thread.id == pid => "main thread".to_owned(),
        "" => format!("thread {}", thread.id),
        name => name.to_owned(),
    }
}

impl<'a> Others<'a> {
    /// Those beside a thread of a process.
    pub(super) fn new(
        facts: &'a [Facts<'a>],
        process: usize,
        thread: usize,
        children: Children<'a>,
        catalogue: &mut Catalogue,
    ) -> Others<'a> {
        let own = &facts[process];
        let all = own.process.threads.iter().enumerate();
        let threads = all
            .filter(|(index, other)| {
                *index != thread && !(other.spans.is_empty() && other.samples.is_empty())
            })
            .map(|(index, other)| Other {
                leaves: Leaves::new(own, index).peekable(),
                held: Vec::new(),
                samples: Samples::new(own.process, other),
                item: catalogue.named(&thread_name(own.process.pid, other)),
                busy: None,
            });
        Others {
            process,
            threads: threads.collect(),
            children,
            reading: Reading::new(own.process),
            free: Free::default(),
            found: Vec::new(),
        }
    }

    /// What accounts for a stretch: pieces in order, without gaps. `looked_at` says
    /// whether the thread that did nothing then was looked at from outside.
    pub(super) fn explain(
        &mut self,
        begin: u64,
        end: u64,
        looked_at: bool,
        catalogue: &mut Catalogue,
    ) -> &[Piece] {
        self.found.clear();
        let mut now = begin;
        while now < end {
            // How busy the others are changes where they were looked at.
            let mut until = end;
            for other in &mut self.threads {
                let stretch = other.samples.at(now);
                other.busy = stretch.busy;
                until = until.min(stretch.end.max(now.saturating_add(APART)));
            }
            self.explain_part(now, until, looked_at, catalogue);
            now = until;
        }
        self.found.sort_unstable_by_key(|piece| piece.begin);
        &self.found
    }

    fn explain_part(&mut self, begin: u64, end: u64, looked_at: bool, catalogue: &mut Catalogue) {
        self.free.reset(begin, end);
        for other in &mut self.threads {
            other.look(begin, end);
        }
        self.by_calls(false, catalogue);
        self.by_busy_threads(begin, end);
        self.by_calls(true, catalogue);
        if self.free.is_empty() {
            return;
        }
        for work in self.children.work(begin, end, catalogue) {
            let stretch = [(work.begin, work.end, ())].into_iter();
            self.free.take(stretch, |begin, end, ()| {
                self.found.push(plain(begin, end, work.cause, work.item));
            });
        }
        if self.free.is_empty() {
            return;
        }
        let looked_at = looked_at || self.threads.iter().any(|other| other.busy.is_some());
        let (cause, name) = match looked_at {
            false => (Cause::Unexplained, UNKNOWN),
            true if self.reading.at(begin) => (Cause::Idle, DISK),
            true => (Cause::Idle, WAITING),
        };
        let item = catalogue.named(name);
        for (begin, end) in self.free.rest() {
            self.found.push(plain(begin, end, cause, item));
        }
    }

    /// Calls of other threads; those that wait for the device come last, because it is
    /// the usual state of a thread that watches it.
    fn by_calls(&mut self, waits: bool, catalogue: &Catalogue) {
        for other in &self.threads {
            if self.free.is_empty() {
                return;
            }
            let held = other.held.iter();
            let held = held.filter(|leaf| calls::waits(leaf.judged.cause) == waits);
            let stretches = held.map(|leaf| (leaf.begin, leaf.end, leaf));
            let mut last = u64::MAX;
            self.free.take(stretches, |begin, end, leaf| {
                let judged = &leaf.judged;
                // Its count and bytes belong to one piece of it.
                let first = leaf.first && last != leaf.begin;
                last = leaf.begin;
                self.found.push(Piece {
                    begin,
                    end,
                    cause: judged.cause,
                    item: catalogue.id(self.process, judged.thing),
                    waiting: judged.waiting,
                    bytes: if first { leaf.bytes } else { 0 },
                    first,
                });
            });
        }
    }

    /// Threads that were on a processor outside of any call, the busiest first.
    fn by_busy_threads(&mut self, begin: u64, end: u64) {
        let busy = |other: &Other| other.busy.filter(|busy| *busy >= BUSY);
        let mut tried = f64::INFINITY;
        while !self.free.is_empty() {
            // There are seldom more than two.
            let rest = self.threads.iter().filter_map(|other| {
                let busy = busy(other).filter(|busy| *busy < tried)?;
                Some((busy, other))
            });
            let Some((most, _)) = rest.max_by(|a, b| a.0.total_cmp(&b.0)) else {
                return;
            };
            tried = most;
            for other in self.threads.iter().filter(|o| o.busy == Some(most)) {
                let mut now = begin;
                let borders = other.held.iter().map(|leaf| (leaf.begin, leaf.end));
                let borders = borders.chain([(end, end)]);
                let outside = borders.filter_map(|(from, to)| {
                    let gap = (now, from, ());
                    now = now.max(to);
                    (gap.0 < gap.1).then_some(gap)
                });
                self.free.take(outside, |begin, end, ()| {
                    let piece = plain(begin, end, Cause::OwnCpu, other.item);
                    self.found.push(piece);
                });
            }
        }
    }
}

impl Other<'_> {
    fn look(&mut self, begin: u64, end: u64) {
        self.held.retain_mut(|leaf| {
            // It was looked at before: its count and bytes are told.
            (leaf.first, leaf.bytes) = (false, 0);
            leaf.end > begin
        });
        while let Some(leaf) = self.leaves.next_if(|leaf| leaf.begin < end) {
            if leaf.end > begin {
                self.held.push(leaf);
            }
        }
    }
}

/// A piece about which nothing more is known.
pub(super) fn plain(begin: u64, end: u64, cause: Cause, item: ItemId) -> Piece {
    Piece {
        begin,
        end,
        cause,
        item,
        waiting: 0.0,
        bytes: 0,
        first: false,
    }
}
