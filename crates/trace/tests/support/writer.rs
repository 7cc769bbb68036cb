//! Builds process files in the recorder's layout.
//!
//! ```ignore
//! let mut file = ProcessFile::new(100, 1_000);
//! file.on(100, "python")
//!     .symbol(1, Shape::Launch, "cuLaunchKernel", "libcuda.so.1")
//!     .call(1, 2_000, 2_010, 0, 0xabc, &[])
//!     .event(Event::Exit, 9_000, "");
//! file.save(&directory.join("start-1/100-0.process"));
//! ```
//!
//! Times are those of the file: nanoseconds of its clock, not since `exec`.

#![allow(dead_code)]

use std::fs;
use std::mem::offset_of;
use std::path::Path;

use preheat_wire::{
    Allocator, BytecodeWrite, ChunkKind, DeviceMemory, Event, FileHeader, Iteration, Kind,
    NoBytecode, Record, SLOT_BYTES, Sampled, Shape, Slot, State, Total, Usage,
};

#[path = "raw.rs"]
mod raw;
#[path = "slots.rs"]
mod slots;

use raw::{CHUNK_HEAD, Raw};
#[allow(unused_imports, reason = "not every test needs all of them")]
pub use slots::{
    allocation_slot, allocator_slot, copied_slot, device_memory_slot, image_slot, record_slot,
    sampled_slot, text_slots, usage_slot,
};

/// A process file that is being written.
#[derive(Clone)]
pub struct ProcessFile {
    raw: Raw,
    thread: u32,
    name: String,
}

impl ProcessFile {
    /// A file of a process whose recorder started at `began`.
    pub fn new(pid: u32, began: u64) -> ProcessFile {
        let mut file = ProcessFile {
            raw: Raw::new(),
            thread: pid,
            name: String::new(),
        };
        file.put(offset_of!(FileHeader, pid), &pid.to_le_bytes());
        file.put(offset_of!(FileHeader, began), &began.to_le_bytes());
        file.put(offset_of!(FileHeader, limit), &(256u64 << 20).to_le_bytes());
        file.put(
            offset_of!(FileHeader, ticks_per_second),
            &100u32.to_le_bytes(),
        );
        file
    }

    /// Sets the parent.
    pub fn parent(&mut self, pid: u32) -> &mut Self {
        self.put(offset_of!(FileHeader, parent), &pid.to_le_bytes());
        self
    }

    /// Sets the creation time, in hundredths of a second of a clock that is `offset`
    /// nanoseconds ahead of the file's.
    pub fn made(&mut self, ticks: u64, offset: u64) -> &mut Self {
        self.put(offset_of!(FileHeader, started_ticks), &ticks.to_le_bytes());
        self.put(offset_of!(FileHeader, boot_offset), &offset.to_le_bytes());
        self
    }

    /// Sets the state of the recorder, the number of dropped records, and since when.
    pub fn state(&mut self, state: State, dropped: u64, full_at: u64) -> &mut Self {
        self.put(offset_of!(FileHeader, state), &(state as u32).to_le_bytes());
        self.put(offset_of!(FileHeader, dropped), &dropped.to_le_bytes());
        self.put(offset_of!(FileHeader, full_at), &full_at.to_le_bytes());
        self
    }

    /// Sets the size of all following chunks.
    pub fn chunks_of(&mut self, bytes: usize) -> &mut Self {
        self.raw.fixed = Some(bytes);
        self
    }

    /// Selects the thread that writes the following records.
    pub fn on(&mut self, thread: u32, name: &str) -> &mut Self {
        self.thread = thread;
        self.name = name.to_owned();
        self
    }

    /// Ends the current thread; the next new one continues in its chunk.
    pub fn ended(&mut self) -> &mut Self {
        self.raw.ended(self.thread, &self.name);
        self
    }

    /// Adds any record; its `more` is filled in.
    pub fn record(&mut self, record: Record, more: &[Slot]) -> &mut Self {
        let at = self.raw.room(self.thread, &self.name, 1 + more.len());
        let record = Record {
            more: u8::try_from(more.len()).expect("a record has at most 255 further slots"),
            ..record
        };
        self.put(at, &record_slot(&record));
        self.put(at + SLOT_BYTES, more.as_flattened());
        self
    }

    fn spanning(
        &mut self,
        kind: Kind,
        begin: u64,
        end: u64,
        rest: Record,
        more: &[Slot],
    ) -> &mut Self {
        let kind = kind as u8;
        self.record(
            Record {
                begin,
                end,
                kind,
                ..rest
            },
            more,
        )
    }

    /// Defines a text.
    pub fn text(&mut self, number: u64, text: &str) -> &mut Self {
        let rest = Record {
            value: number,
            ..Record::default()
        };
        self.spanning(Kind::Text, 0, 0, rest, &text_slots(text.as_bytes()))
    }

    /// Defines a symbol.
    pub fn symbol(&mut self, number: u16, shape: Shape, name: &str, library: &str) -> &mut Self {
        let rest = Record {
            value: u64::from(number),
            status: shape as i32,
            ..Record::default()
        };
        let text = format!("{name}\0{library}");
        self.spanning(Kind::Symbol, 0, 0, rest, &text_slots(text.as_bytes()))
    }

    /// Adds a call; the shape of the symbol defines `value` and the further slots.
    pub fn call(
        &mut self,
        symbol: u16,
        begin: u64,
        end: u64,
        status: i32,
        value: u64,
        more: &[Slot],
    ) -> &mut Self {
        let rest = Record {
            symbol,
            status,
            value,
            ..Record::default()
        };
        self.spanning(Kind::Call, begin, end, rest, more)
    }

    /// Adds an import: name, importer, function, `file:line` of the main program; its line.
    pub fn import(
        &mut self,
        begin: u64,
        end: u64,
        usage: &Usage,
        names: [&str; 4],
        line: u64,
    ) -> &mut Self {
        let rest = Record {
            value: line,
            ..Record::default()
        };
        let mut more = vec![usage_slot(usage)];
        more.extend(text_slots(names.join("\0").as_bytes()));
        self.spanning(Kind::Import, begin, end, rest, &more)
    }

    /// Adds a library load.
    pub fn load(&mut self, begin: u64, end: u64, usage: &Usage, path: &str) -> &mut Self {
        let mut more = vec![usage_slot(usage)];
        more.extend(text_slots(path.as_bytes()));
        self.spanning(Kind::Load, begin, end, Record::default(), &more)
    }

    /// Adds a module that was compiled from source.
    pub fn bytecode(
        &mut self,
        begin: u64,
        end: u64,
        (why, write): (NoBytecode, BytecodeWrite),
        path: &str,
    ) -> &mut Self {
        let rest = Record {
            symbol: why as u16,
            status: write as i32,
            ..Record::default()
        };
        let mut more = vec![usage_slot(&Usage::default())];
        more.extend(text_slots(path.as_bytes()));
        self.spanning(Kind::Bytecode, begin, end, rest, &more)
    }

    /// Adds an iteration marked by Python, with the number of its name.
    pub fn iteration(&mut self, which: Iteration, begin: u64, end: u64, text: u64) -> &mut Self {
        let rest = Record {
            symbol: which as u16,
            value: text,
            ..Record::default()
        };
        self.spanning(Kind::Iteration, begin, end, rest, &[])
    }

    /// Adds an NVTX range, with the numbers of its name and domain.
    pub fn range(&mut self, begin: u64, end: u64, text: u64, domain: i32) -> &mut Self {
        let rest = Record {
            value: text,
            status: domain,
            ..Record::default()
        };
        self.spanning(Kind::Range, begin, end, rest, &[])
    }

    /// Adds an interval without detail.
    pub fn sparse(&mut self, begin: u64, end: u64) -> &mut Self {
        self.spanning(Kind::Sparse, begin, end, Record::default(), &[])
    }

    /// Adds an event, with its text if it has one.
    pub fn event(&mut self, event: Event, time: u64, text: &str) -> &mut Self {
        let rest = Record {
            symbol: event as u16,
            ..Record::default()
        };
        self.spanning(Kind::Event, time, time, rest, &text_slots(text.as_bytes()))
    }

    /// Adds a sample of device memory: the free part of the total after a call of `after`.
    pub fn memory(&mut self, time: u64, free: u64, total: u64, after: u16) -> &mut Self {
        let rest = Record {
            value: free,
            ..Record::default()
        };
        let slot = device_memory_slot(&DeviceMemory {
            total,
            after: u32::from(after),
            ..DeviceMemory::default()
        });
        self.spanning(Kind::Memory, time, time, rest, &[slot])
    }

    /// Adds a sample of a framework's allocator.
    pub fn allocator(&mut self, time: u64, said: &Allocator) -> &mut Self {
        let slot = allocator_slot(said);
        self.spanning(Kind::Allocator, time, time, Record::default(), &[slot])
    }

    /// Adds a launcher sample of a thread.
    pub fn thread_sample(
        &mut self,
        time: u64,
        process: u32,
        thread: u32,
        cpu: u64,
        waited: u64,
    ) -> &mut Self {
        let rest = Record {
            status: thread.cast_signed(),
            value: cpu,
            ..Record::default()
        };
        let slot = sampled_slot(&Sampled {
            process,
            waited_or_read: waited,
            ..Sampled::default()
        });
        self.spanning(Kind::Thread, time, time, rest, &[slot])
    }

    /// Adds a launcher sample of a process.
    pub fn process_sample(
        &mut self,
        time: u64,
        process: u32,
        resident: u64,
        read: u64,
        major_faults: u64,
    ) -> &mut Self {
        let rest = Record {
            status: process.cast_signed(),
            value: resident,
            ..Record::default()
        };
        let slot = sampled_slot(&Sampled {
            process,
            waited_or_read: read,
            major_faults,
            ..Sampled::default()
        });
        self.spanning(Kind::Process, time, time, rest, &[slot])
    }

    /// Adds a matching line of output.
    pub fn line(&mut self, time: u64, number: u64) -> &mut Self {
        let rest = Record {
            value: number,
            ..Record::default()
        };
        self.spanning(Kind::Line, time, time, rest, &[])
    }

    /// Adds a chunk of totals by symbol, of the current thread.
    pub fn totals(&mut self, totals: &[Total]) -> &mut Self {
        let bytes = (CHUNK_HEAD + size_of_val(totals)).next_multiple_of(4096);
        let at = self
            .raw
            .chunk(ChunkKind::Totals, bytes, self.thread, &self.name);
        for (place, total) in totals.iter().enumerate() {
            let at = at + CHUNK_HEAD + place * size_of::<Total>();
            self.put(at, &total.calls.to_le_bytes());
            self.put(at + 8, &total.nanoseconds.to_le_bytes());
        }
        self.raw.used(at, totals.len());
        self
    }

    /// Overwrites bytes anywhere.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.raw.put(at, bytes);
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.raw.bytes
    }

    /// Writes the file, and creates its directory.
    pub fn save(&self, path: &Path) {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).expect("the directory can be created");
        }
        fs::write(path, &self.raw.bytes).expect("the file can be written");
    }
}
