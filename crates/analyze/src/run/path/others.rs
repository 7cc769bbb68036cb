//! What a program does while the thread that iterates does nothing: another thread may
//! work for it (autograd's, a loader's), or another process, or nobody.

use super::super::Cause;
use super::super::calls;
use super::super::facts::Facts;
use super::catalogue::{Catalogue, ItemId};
use super::children::Children;
use super::free::Free;
use super::names::Names;
use super::other::Other;
use super::phases::Phase;
use super::sampled::ByThread;
use super::samples::{Load, NOT_BUSY, Reading};
use super::sink::Piece;

/// Something had to be done, but other programs had the processors.
pub(super) const PROCESSOR: &str = "waiting for a processor";
const DISK: &str = "waiting for a disk";
const WAITING: &str = "waiting";
const UNKNOWN: &str = "not looked at";
/// Threads are looked at one after the other: looks that are closer than this are one.
const APART: u64 = 1_000_000;

/// Goes along the other threads and processes. Times must not go back.
pub(super) struct Others<'a> {
    process: usize,
    threads: Vec<Other<'a>>,
    /// Those of them that are busy, the busiest first.
    busy: Vec<usize>,
    /// Whether any of them was looked at.
    looked_at: bool,
    children: Children<'a>,
    reading: Reading<'a>,
    /// Until when all this is so.
    known_until: u64,
    /// What nobody has accounted for yet.
    free: Free,
    found: Vec<Piece>,
    /// Sampled stacks of what was found: of which item, when, and the node.
    sampled: Vec<(ItemId, (u64, u32))>,
    items: Items,
}

/// What has but a name.
struct Items {
    processor: ItemId,
    disk: ItemId,
    waiting: ItemId,
    unknown: ItemId,
}

/// A stretch that is to be accounted for.
#[derive(Clone, Copy)]
pub(super) struct Question {
    pub begin: u64,
    pub end: u64,
    /// The part of it in which the thread that is followed did nothing.
    pub share: f64,
    /// Whether that thread was looked at from outside.
    pub looked_at: bool,
}

impl<'a> Others<'a> {
    /// Those beside the thread that a phase follows.
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
                    let item = catalogue.named(&names.beside(own.process, other, followed));
                    let stacks = stacks.cursor(own.process.pid, other.id);
                    threads.push(Other::new(own, index, item, stacks));
                }
            }
        }
        Others {
            process: phase.process,
            threads,
            busy: Vec::new(),
            looked_at: false,
            children,
            reading: Reading::new(own.process),
            known_until: 0,
            free: Free::default(),
            found: Vec::new(),
            sampled: Vec::new(),
            items: Items {
                processor: catalogue.named(PROCESSOR),
                disk: catalogue.named(DISK),
                waiting: catalogue.named(WAITING),
                unknown: catalogue.named(UNKNOWN),
            },
        }
    }

    /// What accounts for a stretch: pieces in order, without gaps.
    pub(super) fn explain(&mut self, asked: Question, catalogue: &mut Catalogue) -> &[Piece] {
        self.found.clear();
        self.sampled.clear();
        let mut now = asked.begin;
        while now < asked.end {
            // How busy the others are changes where they were looked at.
            if now >= self.known_until {
                self.look(now, catalogue);
            }
            let end = asked.end.min(self.known_until);
            let part = Question {
                begin: now,
                end,
                ..asked
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
        asked: Question,
        catalogue: &mut Catalogue,
    ) -> &[Piece] {
        self.found.clear();
        let mut now = asked.begin;
        while now < asked.end {
            if now >= self.known_until {
                self.look(now, catalogue);
            }
            let end = asked.end.min(self.known_until);
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

    fn look(&mut self, now: u64, catalogue: &mut Catalogue) {
        let soonest = now.saturating_add(APART);
        let mut until = self.reading.at(now).max(soonest);
        self.looked_at = false;
        for other in &mut self.threads {
            until = until.min(other.look(now).max(soonest));
            self.looked_at |= other.load.is_some();
        }
        until = until.min(self.children.look(now, APART, catalogue));
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
            other.ask(begin, end);
        }
        self.by_calls(false, catalogue);
        self.by_busy_threads(begin, end);
        self.by_calls(true, catalogue);
        for child in self.children.at_work_mut() {
            if self.free.is_empty() {
                return;
            }
            let (from, to) = child.within(begin, end);
            let stretch = [(from, to, ())].into_iter();
            let processor = self.items.processor;
            (self.free).take_share(stretch, child.load.busy(), |begin, end, ()| {
                let own = (child.cause, child.item);
                split(&mut self.found, (begin, end), child.load, own, processor);
            });
            if child.cause == Cause::OwnCpu {
                let item = child.item;
                (self.sampled).extend(child.samples(from, to).map(|sample| (item, sample)));
            }
        }
        for (begin, end) in self.free.rest() {
            if !(part.looked_at || self.looked_at) {
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

    /// Calls of other threads; those that wait for the device come last, because it is
    /// the usual state of a thread that watches it.
    fn by_calls(&mut self, waits: bool, catalogue: &Catalogue) {
        for other in &self.threads {
            if self.free.is_empty() {
                return;
            }
            let calls = other.calls().iter();
            let calls = calls.filter(|leaf| calls::waits(leaf.judged.cause) == waits);
            let stretches = calls.map(|leaf| (leaf.begin, leaf.end, leaf));
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

    /// Threads that were on a processor outside of any call, the busiest first: each
    /// takes its share of what those before it left.
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
                    let stretch = (begin, end);
                    split(&mut self.found, stretch, load, own, self.items.processor);
                });
        }
    }

    /// The sampled stacks of the last explanation.
    pub(super) fn sampled(&self) -> &[(ItemId, (u64, u32))] {
        &self.sampled
    }

    /// The item of time in which another had the processor.
    pub(super) fn processor(&self) -> ItemId {
        self.items.processor
    }
}

/// A busy stretch as what was done and what was waited for a processor.
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
