//! Explains the time in which the followed thread was idle: another thread may have worked
//! for it (autograd, a data loader), or another process, or none.

use super::super::facts::Facts;
use super::super::{Cause, Origin, driver_calls};
use super::Free;
use super::children::Children;
use super::names::Names;
use super::other_thread::Other;
use super::phases::Phase;
use super::sampled::ByThread;
use super::samples::{Load, NOT_BUSY, Reading};
use super::sink::Piece;
use super::tally::{Catalogue, ItemId, Label};

/// There was work to do, but other programs used the processors.
pub(super) const PROCESSOR: &str = "waiting for a processor";
const DISK: &str = "waiting for a disk";
const WAITING: &str = "waiting";
const UNKNOWN: &str = "not sampled";
/// Threads are sampled one after the other: samples closer than this are merged.
const MERGE_WITHIN_NS: u64 = 1_000_000;

/// Iterates over the other threads and processes. Times must not decrease.
pub(super) struct Others<'a> {
    process: usize,
    threads: Vec<Other<'a>>,
    /// The indices of busy threads, busiest first.
    busy: Vec<usize>,
    /// True if any of them was sampled.
    sampled_from_outside: bool,
    children: Children<'a>,
    reading: Reading<'a>,
    /// The time until which all this is valid.
    known_until: u64,
    /// Time that is not accounted for yet.
    free: Free,
    found: Vec<Piece>,
    /// Sampled stacks of the explained time: item, time and node.
    sampled: Vec<(ItemId, (u64, u32))>,
    items: Items,
}

/// Items known only by name.
struct Items {
    processor: ItemId,
    disk: ItemId,
    waiting: ItemId,
    unknown: ItemId,
}

/// An interval to explain.
#[derive(Clone, Copy)]
pub(super) struct Question {
    pub begin: u64,
    pub end: u64,
    /// The share of it in which the followed thread was idle.
    pub share: f64,
    /// True if the followed thread was sampled.
    pub sampled_from_outside: bool,
}

impl<'a> Others<'a> {
    /// The threads and processes next to the one that a phase follows.
    pub(super) fn new(
        facts: &'a [Facts<'a>],
        phase: &Phase,
        (children, stacks): (Children<'a>, &'a ByThread),
        names: Names,
        catalogue: &mut Catalogue,
    ) -> Others<'a> {
        let own = &facts[phase.process];
        let mut threads = Vec::new();
        if let Some(followed) = own.process.threads.get(phase.thread) {
            for (index, other) in own.process.threads.iter().enumerate() {
                if index != phase.thread && !(other.spans.is_empty() && other.samples.is_empty()) {
                    let item = catalogue.named(names.beside(own.process, other, followed));
                    let stacks = stacks.cursor(own.process.pid, other.id);
                    threads.push(Other::new(own, index, item, stacks));
                }
            }
        }
        Others {
            process: phase.process,
            threads,
            busy: Vec::new(),
            sampled_from_outside: false,
            children,
            reading: Reading::new(own.process),
            known_until: 0,
            free: Free::default(),
            found: Vec::new(),
            sampled: Vec::new(),
            items: Items {
                processor: catalogue.named(PROCESSOR),
                disk: catalogue.named(DISK),
                waiting: catalogue.named(Label {
                    name: WAITING.to_owned(),
                    origin: Some(Origin::Waiting),
                }),
                unknown: catalogue.named(UNKNOWN),
            },
        }
    }

    /// The explanation of an interval: pieces in order, without gaps.
    pub(super) fn explain(&mut self, question: Question, catalogue: &mut Catalogue) -> &[Piece] {
        self.found.clear();
        self.sampled.clear();
        let mut now = question.begin;
        while now < question.end {
            // Loads change only between samples.
            if now >= self.known_until {
                self.update(now, catalogue);
            }
            let end = question.end.min(self.known_until);
            let part = Question {
                begin: now,
                end,
                ..question
            };
            self.explain_part(&part, catalogue);
            now = end;
        }
        self.found.sort_unstable_by_key(|piece| piece.begin);
        &self.found
    }

    /// Attributes this time to processes that work for torch.compile; the rest is unexplained.
    pub(super) fn for_torch_compile(
        &mut self,
        question: Question,
        catalogue: &mut Catalogue,
    ) -> &[Piece] {
        self.found.clear();
        let mut now = question.begin;
        while now < question.end {
            if now >= self.known_until {
                self.update(now, catalogue);
            }
            let end = question.end.min(self.known_until);
            self.free.reset(now, end);
            for child in self.children.at_work_mut() {
                let (from, to) = child.within(now, end);
                let item = child.for_torch_compile;
                let interval = [(from, to, ())].into_iter();
                (self.free).take_share(interval, child.load.busy(), |begin, end, ()| {
                    let piece = plain(begin, end, Cause::KernelCompilation, item);
                    self.found.push(piece);
                });
            }
            for (begin, end) in self.free.rest() {
                let piece = plain(begin, end, Cause::Unexplained, self.items.unknown);
                self.found.push(piece);
            }
            now = end;
        }
        self.found.sort_unstable_by_key(|piece| piece.begin);
        &self.found
    }

    fn update(&mut self, now: u64, catalogue: &mut Catalogue) {
        let soonest = now.saturating_add(MERGE_WITHIN_NS);
        let mut until = self.reading.at(now).max(soonest);
        self.sampled_from_outside = false;
        for other in &mut self.threads {
            until = until.min(other.update(now).max(soonest));
            self.sampled_from_outside |= other.load.is_some();
        }
        until = until.min(self.children.update(now, MERGE_WITHIN_NS, catalogue));
        self.known_until = until;
        let threads = &self.threads;
        let load = |index: usize| threads[index].load.map_or(0.0, Load::busy);
        self.busy.clear();
        (self.busy).extend((0..threads.len()).filter(|index| load(*index) >= NOT_BUSY));
        (self.busy).sort_by(|a, b| load(*b).total_cmp(&load(*a)));
    }

    fn explain_part(&mut self, part: &Question, catalogue: &Catalogue) {
        let (begin, end) = (part.begin, part.end);
        self.free.reset(begin, end);
        for other in &mut self.threads {
            other.select(begin, end);
        }
        self.by_calls(false, catalogue);
        self.by_busy_threads(begin, end);
        self.by_calls(true, catalogue);
        for child in self.children.at_work_mut() {
            if self.free.is_empty() {
                return;
            }
            let (from, to) = child.within(begin, end);
            let interval = [(from, to, ())].into_iter();
            let processor = self.items.processor;
            (self.free).take_share(interval, child.load.busy(), |begin, end, ()| {
                let own = (child.cause, child.item);
                split(&mut self.found, (begin, end), child.load, own, processor);
            });
            if child.cause == Cause::OwnCpu {
                let item = child.item;
                (self.sampled).extend(child.samples(from, to).map(|sample| (item, sample)));
            }
        }
        for (begin, end) in self.free.rest() {
            if !(part.sampled_from_outside || self.sampled_from_outside) {
                let piece = plain(begin, end, Cause::Unexplained, self.items.unknown);
                self.found.push(piece);
                continue;
            }
            let disk = begin + self.reading.take(end - begin, part.share);
            for (begin, end, item) in [
                (begin, disk, self.items.disk),
                (disk, end, self.items.waiting),
            ] {
                if begin < end {
                    self.found.push(plain(begin, end, Cause::Idle, item));
                }
            }
        }
    }

    /// Calls of other threads. Those that wait for the device come last, because that is
    /// the normal state of a monitoring thread.
    fn by_calls(&mut self, waits: bool, catalogue: &Catalogue) {
        for other in &self.threads {
            if self.free.is_empty() {
                return;
            }
            let calls = other.calls().iter();
            let calls = calls.filter(|leaf| driver_calls::waits(leaf.judged.cause) == waits);
            let waits_of_thread = calls.map(|leaf| (leaf.begin, leaf.end, leaf));
            let mut last = u64::MAX;
            self.free.take(waits_of_thread, |begin, end, leaf| {
                let judged = &leaf.judged;
                // Count and bytes belong to its first piece only.
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

    /// Threads that were on a processor outside of any call, busiest first. Each gets its
    /// share of the remaining time.
    fn by_busy_threads(&mut self, begin: u64, end: u64) {
        for index in &self.busy {
            let other = &mut self.threads[*index];
            let (false, Some(load)) = (self.free.is_empty(), other.load) else {
                return;
            };
            for (time, node) in other.stacks.take(begin, end) {
                let calls = other.calls().iter();
                if !calls
                    .clone()
                    .any(|leaf| leaf.begin <= *time && *time < leaf.end)
                {
                    self.sampled.push((other.item, (*time, *node)));
                }
            }
            let mut now = begin;
            let borders = other.calls().iter().map(|leaf| (leaf.begin, leaf.end));
            let borders = borders.chain([(end, end)]);
            let outside = borders.filter_map(|(from, to)| {
                let gap = (now, from, ());
                now = now.max(to);
                (gap.0 < gap.1).then_some(gap)
            });
            let own = (Cause::OwnCpu, other.item);
            self.free
                .take_share(outside, load.busy(), |begin, end, ()| {
                    let interval = (begin, end);
                    split(&mut self.found, interval, load, own, self.items.processor);
                });
        }
    }

    /// The sampled stacks of the last explanation.
    pub(super) fn sampled(&self) -> &[(ItemId, (u64, u32))] {
        &self.sampled
    }

    /// The item for waiting for a processor.
    pub(super) fn processor(&self) -> ItemId {
        self.items.processor
    }
}

/// Splits a busy interval into work and waiting for a processor.
fn split(
    found: &mut Vec<Piece>,
    (begin, end): (u64, u64),
    load: Load,
    (cause, item): (Cause, ItemId),
    processor: ItemId,
) {
    let border = end - load.waited_of(end - begin);
    if begin < border {
        found.push(plain(begin, border, cause, item));
    }
    if border < end {
        found.push(plain(border, end, Cause::Idle, processor));
    }
}

/// A piece without further details.
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
