//! Reads one process file: definitions first, then the records of all its threads.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::mem::offset_of;

use preheat_model::run::trace::{Process, Thread, ThreadSample};
use preheat_wire::{State, Total};

use crate::decoder::{Decoder, LauncherSamples, Malformed};
use crate::definitions::{Definitions, SYMBOLS};
use crate::error::Problems;
use crate::layout::{self, Chunk, Header, Layout};
use crate::nest::nest;
use crate::slots::{BLOCK, each_record, u64_at};
use crate::{ReadError, own_load};

/// A decoded process file whose spans are not sorted yet: the end of the process is only
/// known together with its start.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) header: Header,
    pub(crate) process: Process,
    pub(crate) samples: LauncherSamples,
    pub(crate) problems: Problems,
    /// The latest time of any record, since `exec`.
    pub(crate) last: u64,
    /// The time of an orderly exit.
    pub(crate) exited: Option<u64>,
}

impl Decoded {
    /// The time of the last record in the process file.
    pub(crate) fn last_known(&self) -> u64 {
        self.last.max(self.exited.unwrap_or(0))
    }

    /// The CPU times that the threads have read themselves, by thread.
    fn own_cpu(&mut self) -> Vec<Vec<ThreadSample>> {
        let mut own = vec![Vec::new(); self.process.threads.len()];
        self.samples.threads.sort_by_key(|(_, _, own)| own.time);
        for (_, index, sample) in self.samples.threads.drain(..) {
            if let Some(thread) = own.get_mut(index as usize) {
                thread.push(sample);
            }
        }
        own
    }

    /// Ends the process, and the spans that are open.
    pub(crate) fn close(&mut self, ended: u64) {
        self.process.ended = ended;
        let mut own = self.own_cpu().into_iter();
        for thread in &mut self.process.threads {
            nest(&mut thread.spans, ended);
            thread.samples.sort_by_key(|sample| sample.time);
            let exact = own.next().unwrap_or_default();
            own_load::refine(&mut thread.samples, exact);
        }
        merge(&mut self.process.sparse, ended);
        self.process.memory.sort_by_key(|memory| memory.time);
        self.process.allocator.sort_by_key(|sample| sample.time);
        self.process.samples.sort_by_key(|sample| sample.time);
    }
}

/// Sorts intervals and merges those that touch; cuts them off at `ended`.
fn merge(intervals: &mut Vec<(u64, u64)>, ended: u64) {
    intervals.sort_unstable();
    let mut found: Vec<(u64, u64)> = Vec::new();
    for (begin, end) in intervals.drain(..) {
        let end = end.min(ended);
        match found.last_mut() {
            Some(last) if begin <= last.1 => last.1 = end.max(last.1),
            _ if begin < end => found.push((begin, end)),
            _ => {}
        }
    }
    *intervals = found;
}

/// Reads a process file of a start that began at `exec`.
pub(crate) fn decode<R: Read + Seek>(source: &mut R, exec: u64) -> Result<Decoded, ReadError> {
    let mut problems = Problems::default();
    let layout = layout::read(source, &mut problems)?;
    let header = layout.header;
    let mut buffer = vec![0; BLOCK];
    let definitions = Definitions::read(source, &layout, &mut buffer, &mut problems);
    // Records that a full disk prevented have nothing to do with the limit of the file.
    let reached_limit = header.state != State::NoSpace as u32;
    let process = Process {
        pid: header.pid,
        parent: header.parent,
        began: header.began.saturating_sub(exec),
        symbols: definitions.symbols,
        texts: definitions.texts,
        dropped: if reached_limit { header.dropped } else { 0 },
        full_at: (reached_limit && header.full_at != 0)
            .then(|| header.full_at.saturating_sub(exec)),
        ..Process::default()
    };
    let mut decoder = Decoder::new(process, definitions.shapes, header.began, exec);
    let mut threads = threads(&layout);
    let mut totals = vec![(0, 0); 0];
    for chunk in &layout.chunks {
        if chunk.totals {
            add_totals(source, chunk, &mut buffer, &mut totals, &mut problems);
        } else if let Some((index, thread)) = threads.by_number(chunk.thread) {
            decoder.thread = index;
            let spans = &mut thread.spans;
            each_record(
                source,
                chunk,
                &mut buffer,
                &mut problems,
                |record, more, offset| {
                    decoder.decode(spans, record, more, offset);
                },
            );
        }
    }
    add_count(
        &decoder.empty,
        "slots are empty",
        "slot is empty",
        &mut problems,
    );
    add_count(
        &decoder.impossible,
        "records have impossible times and were left out",
        "record has an impossible time and was left out",
        &mut problems,
    );
    let mut process = decoder.process;
    process.threads = threads.finish();
    process.functions = decoder.functions.into_table();
    process.totals = (0..=u16::MAX)
        .zip(totals)
        .filter(|(_, (calls, _))| *calls > 0)
        .map(|(symbol, (calls, nanoseconds))| (symbol, calls, nanoseconds))
        .collect();
    process.notes.extend(note(&header));
    Ok(Decoded {
        header,
        process,
        samples: decoder.samples,
        problems,
        last: decoder.last,
        exited: decoder.exited,
    })
}

/// A sentence about a recorder that stopped before its process.
fn note(header: &Header) -> Option<String> {
    let pid = header.pid;
    if header.state == State::NoSpace as u32 {
        return Some(format!(
            "The disk was full: process {pid} is not recorded from then on."
        ));
    }
    (header.state == State::Off as u32).then(|| {
        format!(
            "The recorder disabled itself in process {pid}, which is not recorded from then on."
        )
    })
}

/// Reports the number of malformed records, and the offset of the first.
fn add_count(malformed: &Malformed, many: &str, one: &str, problems: &mut Problems) {
    match malformed.count {
        0 => {}
        1 => problems.add(|| format!("1 {one}, at offset {}", malformed.first)),
        count => {
            problems.add(|| format!("{count} {many}, the first at offset {}", malformed.first))
        }
    }
}

/// The threads of a file, by id.
struct Threads {
    threads: Vec<Thread>,
    indices: HashMap<u32, usize>,
}

/// All threads, in the order of their first chunks, with memory reserved for their spans.
fn threads(layout: &Layout) -> Threads {
    let mut threads: Vec<Thread> = Vec::new();
    let mut rooms: Vec<u64> = Vec::new();
    let mut indices = HashMap::new();
    for chunk in layout.chunks.iter().filter(|chunk| !chunk.totals) {
        let index = *indices.entry(chunk.thread).or_insert_with(|| {
            threads.push(Thread {
                id: chunk.thread,
                ..Thread::default()
            });
            rooms.push(0);
            threads.len() - 1
        });
        let name = chunk
            .name
            .split(|byte| *byte == 0)
            .next()
            .unwrap_or_default();
        if let (Some(thread), false) = (threads.get_mut(index), name.is_empty()) {
            thread.name = String::from_utf8_lossy(name).into_owned();
        }
        if let Some(room) = rooms.get_mut(index) {
            *room += chunk.used;
        }
    }
    for (thread, room) in threads.iter_mut().zip(rooms) {
        // Unused memory is never touched, and freed at the end. If none can be reserved,
        // the vector grows as usual.
        let room = usize::try_from(room).unwrap_or(0);
        let _ = thread.spans.try_reserve_exact(room);
    }
    Threads { threads, indices }
}

impl Threads {
    fn by_number(&mut self, number: u32) -> Option<(u32, &mut Thread)> {
        let index = *self.indices.get(&number)?;
        let thread = self.threads.get_mut(index)?;
        Some((u32::try_from(index).ok()?, thread))
    }

    fn finish(mut self) -> Vec<Thread> {
        for thread in &mut self.threads {
            thread.spans.shrink_to_fit();
        }
        self.threads
    }
}

/// Adds the totals of a chunk to the totals by symbol.
fn add_totals<R: Read + Seek>(
    source: &mut R,
    chunk: &Chunk,
    buffer: &mut [u8],
    totals: &mut Vec<(u64, u64)>,
    problems: &mut Problems,
) {
    const UNIT: usize = size_of::<Total>();
    let used = usize::try_from(chunk.used)
        .unwrap_or(usize::MAX)
        .min(SYMBOLS);
    if totals.len() < used {
        totals.resize(used, (0, 0));
    }
    let mut totals = totals.iter_mut().take(used);
    let mut left = used * UNIT;
    let mut read = source.seek(SeekFrom::Start(chunk.offset)).map(|_| ());
    while left > 0 && read.is_ok() {
        let want = left.min(buffer.len() / UNIT * UNIT);
        let block = buffer.get_mut(..want).unwrap_or_default();
        read = source.read_exact(block);
        if read.is_ok() {
            for (bytes, total) in block.chunks_exact(UNIT).zip(&mut totals) {
                let calls = u64_at(bytes, offset_of!(Total, calls));
                let nanoseconds = u64_at(bytes, offset_of!(Total, nanoseconds));
                total.0 = total.0.saturating_add(calls);
                total.1 = total.1.saturating_add(nanoseconds);
            }
        }
        left -= want;
    }
    if let Err(error) = read {
        problems.add(|| {
            format!(
                "the totals at offset {} cannot be read: {error}",
                chunk.offset
            )
        });
    }
}
