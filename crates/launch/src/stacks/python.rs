//! The Python stacks of another process, read from its memory while it runs.
//!
//! The process is not stopped, so that nothing in it changes: no signal, no interrupted
//! call, no lock. A stack may change while it is read. What was read is accepted only if it
//! leads through code objects with names to the end; a stack that is half old and half new
//! can happen, and is rare: reading takes microseconds.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;

use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, ReadCache};

use super::collected::{FrameId, Table};
use super::line_tables::{self, Format};
use super::offsets::{self, Instruction, Offsets};
use super::remote_memory::{self, Mapping, Memory, u32_at, u64_at};
use crate::install;

/// Threads and frames beyond so many are not read. Of a deeper stack, the inner frames are.
const THREADS: usize = 256;
const FRAMES: usize = 200;
/// As much of a thread's state, a frame and a code object as is needed.
const THREAD_BYTES: usize = 256;
const FRAME_BYTES: usize = 112;
const CODE_BYTES: usize = 144;
/// A longer name is not one.
const MAX_NAME_BYTES: u64 = 4096;
/// A longer table is of generated code, whose lines nobody knows.
const MAX_LINES: u64 = 1 << 20;
/// The owner of frames that are the interpreter's, from here on.
const INTERPRETER: u8 = 3;

/// The interpreter of one process.
pub(super) struct Python {
    memory: Memory,
    runtime: u64,
    offsets: Offsets,
    /// Code objects that were read, by address. Another one may come to the same address.
    codes: HashMap<u64, Code>,
}

/// A code object.
struct Code {
    identity: Identity,
    file: String,
    /// True for the recorder's own functions, which wrap those of the program.
    is_recorders: bool,
    function: String,
    first_line: i32,
    lines: Vec<u8>,
    /// Frames in the table, by offset of the instruction.
    frames: HashMap<i64, FrameId>,
}

/// The fields that identify a code object: its type, names, table of lines and first line.
/// Its other parts may change as it runs.
type Identity = [u64; 5];

impl Code {
    /// The frame of an instruction.
    fn frame(&mut self, format: Format, offset: i64, table: &mut Table) -> FrameId {
        let Code {
            file,
            function,
            first_line,
            lines,
            frames,
            ..
        } = self;
        *frames.entry(offset).or_insert_with(|| {
            let line = match offset {
                // It is about to begin.
                ..0 => *first_line,
                _ => line_tables::line(format, lines, *first_line, offset),
            };
            table.python(function, file, u32::try_from(line).unwrap_or(0))
        })
    }
}

/// A thread's stack.
pub(super) struct Stack {
    /// The thread's number in the kernel; none where that is not known.
    pub thread: Option<u32>,
    /// From the innermost to the outermost.
    pub frames: Vec<FrameId>,
}

impl Python {
    /// Finds the interpreter of a process; none if it has none yet, or one that cannot be
    /// read.
    pub(super) fn find(pid: u32) -> Option<Python> {
        let mappings = remote_memory::read(pid);
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        let program = program.to_str()?;
        let mut seen: Vec<&str> = Vec::new();
        for mapping in &mappings {
            let path = mapping.path.as_str();
            let name = path.rsplit('/').next().unwrap_or("");
            let may_be = path == program || name.starts_with("libpython3.");
            if mapping.offset != 0 || !may_be || seen.contains(&path) {
                continue;
            }
            seen.push(path);
            if let Some(found) = Python::in_file(pid, mapping, path == program) {
                return Some(found);
            }
        }
        None
    }

    fn in_file(pid: u32, mapping: &Mapping, is_program: bool) -> Option<Python> {
        let file = match is_program {
            true => File::open(format!("/proc/{pid}/exe")).ok()?,
            false => File::open(format!("/proc/{pid}/root{}", mapping.path)).ok()?,
        };
        let cache = ReadCache::new(file);
        let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
        let endian = elf.endian();
        let first = elf.elf_program_headers().iter().find(|segment| {
            segment.p_type(endian) == object::elf::PT_LOAD && segment.p_offset(endian) == 0
        })?;
        let base = mapping.begin.checked_sub(first.p_vaddr(endian))?;
        let (mut runtime, mut version) = (None, None);
        for symbol in elf.dynamic_symbols() {
            match symbol.name() {
                Ok("_PyRuntime") => runtime = Some(base.checked_add(symbol.address())?),
                Ok("Py_Version") => version = Some(base.checked_add(symbol.address())?),
                _ => {}
            }
        }
        let (memory, runtime) = (Memory::of(pid), runtime?);
        let version = match version {
            Some(address) => {
                let hex = memory.bytes(address).map(u32::from_le_bytes)?;
                Some(((hex >> 24) as u8, (hex >> 16) as u8))
            }
            None => version_of(&mapping.path),
        };
        Some(Python {
            memory,
            runtime,
            offsets: offsets::find(memory, runtime, version)?,
            codes: HashMap::new(),
        })
    }

    /// The stacks of these threads; none if the interpreter is gone, or another program is
    /// in its place.
    pub(super) fn stacks(&mut self, wanted: &[u32], table: &mut Table) -> Option<Vec<Stack>> {
        let memory = self.memory;
        let interpreter = memory.u64(self.runtime + self.offsets.interpreters as u64)?;
        let mut address = memory.u64(interpreter.checked_add(self.offsets.threads as u64)?)?;
        let mut stacks = Vec::new();
        for _ in 0..THREADS {
            if address == 0 {
                break;
            }
            let state: [u8; THREAD_BYTES] = memory.bytes(address)?;
            let thread = self.number(&state);
            if thread.is_none_or(|thread| wanted.contains(&thread))
                && let Some(frames) = self.frames(&state, table)
            {
                stacks.push(Stack { thread, frames });
            }
            address = u64_at(&state, self.offsets.thread.next);
        }
        Some(stacks)
    }

    /// A thread's number in the kernel.
    fn number(&self, state: &[u8]) -> Option<u32> {
        match self.offsets.thread.native {
            Some(at) => u32::try_from(u64_at(state, at)).ok(),
            None => {
                // Where glibc keeps it in what a `pthread_t` points to.
                let at = if cfg!(target_arch = "x86_64") {
                    720
                } else {
                    208
                };
                let handle = u64_at(state, self.offsets.thread.handle);
                let bytes = self.memory.bytes(handle.checked_add(at)?)?;
                Some(u32::from_le_bytes(bytes))
            }
        }
    }

    fn frames(&mut self, state: &[u8], table: &mut Table) -> Option<Vec<FrameId>> {
        let offsets = self.offsets;
        let mut address = u64_at(state, offsets.thread.frame);
        if let Some(indirect) = offsets.thread.indirect {
            address = self.memory.u64(address.checked_add(indirect as u64)?)?;
        }
        let mut frames = Vec::new();
        while address != 0 && frames.len() < FRAMES {
            let frame: [u8; FRAME_BYTES] = self.memory.bytes(address)?;
            let owner = offsets.frame.owner.and_then(|at| frame.get(at));
            if owner.is_none_or(|owner| *owner < INTERPRETER) {
                // The lowest bits of a reference are flags.
                let code = u64_at(&frame, offsets.frame.code) & !7;
                let offset = match offsets.frame.instruction {
                    Instruction::Index(at, unit) => {
                        i64::from(u32_at(&frame, at) as i32).saturating_mul(unit)
                    }
                    Instruction::Address(at) => {
                        let begin = code.wrapping_add(offsets.code.instructions as u64);
                        u64_at(&frame, at).wrapping_sub(begin) as i64
                    }
                };
                let code = self.code(code)?;
                if !code.is_recorders {
                    frames.push(code.frame(offsets.code.format, offset, table));
                }
            }
            address = u64_at(&frame, offsets.frame.previous);
        }
        Some(frames)
    }

    /// The code object at an address.
    fn code(&mut self, address: u64) -> Option<&mut Code> {
        let bytes: [u8; CODE_BYTES] = self.memory.bytes(address)?;
        let offsets = self.offsets.code;
        let identity = [
            u64_at(&bytes, 8),
            u64_at(&bytes, offsets.file),
            u64_at(&bytes, offsets.name),
            u64_at(&bytes, offsets.lines),
            u64::from(u32_at(&bytes, offsets.first_line)),
        ];
        let known = self.codes.get(&address);
        if known.is_none_or(|known| known.identity != identity) {
            let read = self.read_code(identity)?;
            self.codes.insert(address, read);
        }
        self.codes.get_mut(&address)
    }

    fn read_code(&self, identity: Identity) -> Option<Code> {
        let [_, file, name, table, first_line] = identity;
        let file = self.text(file)?;
        let size = self.memory.u64(table.checked_add(16)?)?;
        let mut lines = Vec::new();
        if size <= MAX_LINES {
            lines.resize(usize::try_from(size).ok()?, 0);
            self.memory.read(table.checked_add(32)?, &mut lines)?;
        }
        Some(Code {
            is_recorders: install::is_recorders(Path::new(&file)),
            file,
            function: self.text(name)?,
            first_line: first_line as i32,
            identity,
            lines,
            frames: HashMap::new(),
        })
    }

    /// A Python string.
    fn text(&self, address: u64) -> Option<String> {
        let head: [u8; 40] = self.memory.bytes(address)?;
        let length = u64_at(&head, 16);
        let state = head[32];
        let (width, compact, ascii) = ((state >> 2) & 7, state & 32 != 0, state & 64 != 0);
        if length == 0 || length > MAX_NAME_BYTES || !compact || !matches!(width, 1 | 2 | 4) {
            return None;
        }
        let at = match ascii {
            true => self.offsets.ascii,
            false => self.offsets.characters,
        };
        let mut bytes = vec![0; (length * u64::from(width)) as usize];
        self.memory
            .read(address.checked_add(at as u64)?, &mut bytes)?;
        let characters = bytes.chunks_exact(usize::from(width)).map(|bytes| {
            let mut number = [0; 4];
            number[..bytes.len()].copy_from_slice(bytes);
            char::from_u32(u32::from_le_bytes(number))
        });
        characters.collect()
    }
}

/// The version in the name of an interpreter: `python3.9`, `libpython3.9.so.1.0`.
fn version_of(path: &str) -> Option<(u8, u8)> {
    let (_, rest) = path.rsplit('/').next()?.rsplit_once("python")?;
    let mut numbers = rest.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_names() {
        assert_eq!(version_of("/usr/bin/python3.9"), Some((3, 9)));
        assert_eq!(version_of("/opt/lib/libpython3.10.so.1.0"), Some((3, 10)));
        assert_eq!(version_of("/opt/bin/python"), None);
    }
}
