//! Follows one thread through a phase: explains its spans and the gaps between them.

use super::super::Cause;
use super::super::facts::Facts;
use super::super::nested::{Leaf, Leaves};
use super::super::trace::{Process, Thread};
use super::idle::{Others, Question, plain};
use super::names::Names;
use super::other_thread::waits;
use super::phases::{Phase, starting};
use super::sampled::{ByThread, Cursor};
use super::samples::{Load, LoadInterval, Samples, portion};
use super::sink::{Piece, Sink};
use super::tally::{Catalogue, ItemId};

/// Shorter idle time in a busy thread is not attributed to others, in nanoseconds.
const ATTRIBUTED: f64 = 1000.0;
/// The item for time in which calls are not recorded.
const LEFT_OUT: &str = "iterations not recorded in detail";
/// The number of pieces to buffer until an interval is complete.
const MAX_PENDING: usize = 4096;

/// One phase of the path.
pub(super) struct Sweep<'a, 's> {
    facts: &'a Facts<'a>,
    process: &'a Process,
    samples: Samples<'a>,
    /// Its sampled stacks.
    stacks: Cursor<'a>,
    others: Others<'a>,
    item: ItemId,
    /// The item for intervals without detail.
    left_out: ItemId,
    catalogue: &'s mut Catalogue,
    sink: &'s mut Sink,
    interval: LoadInterval,
    pending: Vec<Pending>,
}

enum Pending {
    Known(Piece),
    /// torch.compile, which may wait for other processes.
    Compiling(Piece),
    Gap(u64, u64),
}

static NO_THREAD: Thread = Thread {
    id: 0,
    name: String::new(),
    spans: Vec::new(),
    samples: Vec::new(),
};

impl<'a, 's> Sweep<'a, 's> {
    pub(super) fn new(
        facts: &'a Facts<'a>,
        phase: &Phase,
        (others, stacks): (Others<'a>, &'a ByThread),
        names: Names,
        (catalogue, sink): (&'s mut Catalogue, &'s mut Sink),
    ) -> Sweep<'a, 's> {
        let process = facts.process;
        let thread = process.threads.get(phase.thread).unwrap_or(&NO_THREAD);
        let mut samples = Samples::new(process, thread);
        let interval = samples.at(phase.from);
        let item = catalogue.named(names.followed(process, thread));
        let left_out = catalogue.named(LEFT_OUT);
        Sweep {
            facts,
            process,
            samples,
            stacks: stacks.cursor(process.pid, thread.id),
            others,
            item,
            left_out,
            catalogue,
            sink,
            interval,
            pending: Vec::with_capacity(MAX_PENDING),
        }
    }

    /// Processes the whole phase.
    pub(super) fn follow(mut self, facts: &'a Facts<'a>, phase: &Phase) {
        let mut now = phase.from;
        for leaf in Leaves::new(facts, phase.thread) {
            if leaf.end <= now {
                continue;
            }
            if leaf.begin >= phase.to {
                break;
            }
            if leaf.begin > now {
                self.gap(now, leaf.begin);
            }
            let (begin, end) = (leaf.begin.max(now), leaf.end.min(phase.to));
            self.piece(&leaf, begin, end, phase.process);
            now = end;
        }
        if now < phase.to {
            self.gap(now, phase.to);
        }
        self.flush();
    }

    fn piece(&mut self, leaf: &Leaf, begin: u64, end: u64, process: usize) {
        if self.sink.needs(begin, end) {
            let item = self.catalogue.id(process, leaf.judged.thing);
            let piece = Piece {
                begin,
                end,
                cause: leaf.judged.cause,
                item,
                waiting: leaf.judged.waiting,
                bytes: leaf.bytes,
                first: leaf.first,
            };
            self.push(match self.facts.is_torch_compile(leaf.judged.thing) {
                true => Pending::Compiling(piece),
                false => Pending::Known(piece),
            });
        }
    }

    fn gap(&mut self, mut begin: u64, end: u64) {
        if !self.sink.needs(begin, end) {
            return;
        }
        while let Some((cause, name, until)) = starting(self.process, begin) {
            let until = until.min(end);
            let item = self.catalogue.named(name);
            self.push(Pending::Known(plain(begin, until, cause, item)));
            begin = until;
            if begin == end {
                return;
            }
        }
        // Cut where detail ends or resumes.
        while let Some(border) = self.border(begin).filter(|border| *border < end) {
            self.push(Pending::Gap(begin, border));
            begin = border;
        }
        self.push(Pending::Gap(begin, end));
    }

    /// The next border of an interval without detail.
    fn border(&self, after: u64) -> Option<u64> {
        let sparse = &self.process.sparse;
        let next = sparse.get(sparse.partition_point(|interval| interval.1 <= after))?;
        Some(if next.0 > after { next.0 } else { next.1 })
    }

    /// Buffers a piece until the load of the thread is known, cut where the load changes.
    fn push(&mut self, pending: Pending) {
        let (mut begin, end) = pending.span();
        let mut first = true;
        while begin < end {
            if begin >= self.interval.end {
                self.flush();
                self.interval = self.samples.at(begin);
            }
            let until = end.min(self.interval.end);
            let part = |piece: Piece| Piece {
                begin,
                end: until,
                bytes: if first { piece.bytes } else { 0 },
                first: first && piece.first,
                ..piece
            };
            self.pending.push(match pending {
                Pending::Gap(..) => Pending::Gap(begin, until),
                Pending::Known(piece) => Pending::Known(part(piece)),
                Pending::Compiling(piece) => Pending::Compiling(part(piece)),
            });
            (begin, first) = (until, false);
        }
        if self.pending.len() >= MAX_PENDING {
            self.flush();
        }
    }

    /// Emits the buffered pieces. The busy time of the thread is divided among gaps and
    /// calls that compute; calls that wait get none of it.
    fn flush(&mut self) {
        let (mut gaps, mut work, mut all) = (0.0, 0.0, 0.0);
        for pending in &self.pending {
            let (begin, end) = pending.span();
            let length = (end - begin) as f64;
            all += length;
            match pending {
                Pending::Gap(..) | Pending::Compiling(_) => gaps += length,
                Pending::Known(piece) if waits(piece.cause) => {}
                Pending::Known(piece) => work += length * f64::from(1.0 - piece.waiting),
            }
        }
        let load = self.interval.load;
        let share = load.map(|load| load.times(all / (gaps + work).max(1.0)));
        let waited = load.map_or(0.0, |load| load.waited);
        if waited > 0.0 {
            for pending in &self.pending {
                let (begin, end) = pending.span();
                self.sink.waited_for_processor(begin, end, waited);
            }
        }
        for at in 0..self.pending.len() {
            match self.pending[at] {
                Pending::Known(piece) => self.sink.add(piece),
                Pending::Compiling(piece) => self.explain_compiling(piece, share),
                Pending::Gap(begin, end) => self.explain(begin, end, share),
            }
        }
        self.pending.clear();
    }

    /// Splits a part of torch.compile in which the thread was busy for a share of the time.
    /// The rest is attributed to other processes, as far as they were busy.
    fn explain_compiling(&mut self, piece: Piece, share: Option<Load>) {
        let (begin, end) = (piece.begin, piece.end);
        let length = end - begin;
        let own = share.map_or(length, |load| portion(length, load.busy()));
        self.sink.add(Piece {
            end: begin + own,
            ..piece
        });
        if own == length {
            return;
        }
        let question = Question {
            begin,
            end,
            share: (length - own) as f64 / length as f64,
            sampled_from_outside: share.is_some(),
        };
        for found in self.others.for_torch_compile(question, self.catalogue) {
            let by_child = found.cause != Cause::Unexplained;
            self.sink.add(Piece {
                begin: scaled(found.begin, (begin, end), own),
                end: scaled(found.end, (begin, end), own),
                bytes: 0,
                first: false,
                item: if by_child { found.item } else { piece.item },
                ..piece
            });
        }
    }

    /// Explains a gap in which the thread was busy for a share of the time. The order of
    /// busy and idle time is unknown, but the sums are correct.
    fn explain(&mut self, begin: u64, end: u64, share: Option<Load>) {
        let length = end - begin;
        let load = share.unwrap_or_default();
        let busy = load.busy();
        let own = if busy >= 0.5 && (1.0 - busy) * (length as f64) < ATTRIBUTED {
            length
        } else {
            portion(length, busy)
        };
        let waited = begin + own - load.waited_of(own);
        let sparse = !self.process.is_in_detail((begin, end));
        // Without detail, the calls within this time are unknown.
        let left_out = self.left_out;
        let judged = |piece: Piece| match sparse && piece.cause == Cause::OwnCpu {
            true => Piece {
                cause: Cause::Unexplained,
                item: left_out,
                ..piece
            },
            false => piece,
        };
        let piece = plain(begin, waited, Cause::OwnCpu, self.item);
        self.sink.add(judged(piece));
        if begin < waited && !sparse {
            for sample in self.stacks.take(begin, end) {
                self.sink.sampled(self.item, *sample);
            }
        }
        let processor = self.others.processor();
        let piece = plain(waited, begin + own, Cause::Idle, processor);
        self.sink.add(piece);
        if own == length {
            return;
        }
        let question = Question {
            begin,
            end,
            share: (length - own) as f64 / length as f64,
            sampled_from_outside: share.is_some(),
        };
        let pieces = self.others.explain(question, self.catalogue);
        for piece in pieces {
            let [begin, end] = [piece.begin, piece.end].map(|time| scaled(time, (begin, end), own));
            self.sink.add(judged(Piece {
                begin,
                end,
                ..*piece
            }));
            if piece.item == processor {
                self.sink.waited_for_processor(begin, end, 1.0);
            }
        }
        if !sparse {
            for (item, sample) in self.others.sampled() {
                self.sink.sampled(*item, *sample);
            }
        }
    }
}

/// Maps a time into an interval whose first part is already used.
fn scaled(time: u64, (begin, end): (u64, u64), first: u64) -> u64 {
    let length = u128::from(end - begin);
    let part = u128::from(time - begin) * (length - u128::from(first)) / length.max(1);
    begin + first + part as u64
}

impl Pending {
    fn span(&self) -> (u64, u64) {
        match self {
            Pending::Known(piece) | Pending::Compiling(piece) => (piece.begin, piece.end),
            Pending::Gap(begin, end) => (*begin, *end),
        }
    }
}
