//! The offsets of the fields that make up a Python stack, by version of CPython.
//!
//! From 3.13 on, an interpreter describes itself (`_Py_DebugOffsets`). The layouts of 3.8
//! to 3.12 do not change within a version; these are the ones of 64-bit Linux.

use super::line_tables::Format;
use super::remote_memory::{Memory, u64_at};

/// Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offsets {
    /// In the runtime: the first interpreter.
    pub interpreters: usize,
    /// In an interpreter: the first thread.
    pub threads: usize,
    pub thread: ThreadOffsets,
    pub frame: FrameOffsets,
    pub code: CodeOffsets,
    /// The characters of a string that is all ASCII, and of any other.
    pub ascii: usize,
    pub characters: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ThreadOffsets {
    pub next: usize,
    /// The current frame, or what points to it.
    pub frame: usize,
    /// In what points to the frame (3.11 and 3.12): the frame.
    pub indirect: Option<usize>,
    /// Its `pthread_t`.
    pub handle: usize,
    /// Its number in the kernel, from 3.11 on.
    pub native: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameOffsets {
    pub previous: usize,
    pub code: usize,
    pub instruction: Instruction,
    /// The owner of a frame, from 3.12 on: frames of the interpreter itself have no code.
    pub owner: Option<usize>,
}

/// The form in which a frame stores its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    /// An index, in units of so many bytes.
    Index(usize, i64),
    /// An address.
    Address(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeOffsets {
    pub file: usize,
    pub name: usize,
    pub first_line: usize,
    pub lines: usize,
    pub format: Format,
    /// The first instruction, where frames have addresses.
    pub instructions: usize,
}

/// The first bytes of a runtime that describes itself.
const COOKIE: &[u8] = b"xdebugpy";
/// As much of the description as is read.
const DESCRIPTION: usize = 648;

/// The offsets of an interpreter: its runtime's address, and its version where it does not
/// describe itself. `None` for versions that are not known.
pub(super) fn find(memory: Memory, runtime: u64, version: Option<(u8, u8)>) -> Option<Offsets> {
    let head: [u8; DESCRIPTION] = memory.bytes(runtime)?;
    match head.starts_with(COOKIE) {
        true => described(&head),
        false => known(version?),
    }
}

/// The layouts of 3.8 to 3.12.
fn known((major, minor): (u8, u8)) -> Option<Offsets> {
    if major != 3 || !(8..=12).contains(&minor) {
        return None;
    }
    let new = minor >= 11;
    Some(Offsets {
        interpreters: if new { 40 } else { 32 },
        threads: match minor {
            12 => 72,
            11 => 16,
            _ => 8,
        },
        thread: ThreadOffsets {
            next: 8,
            frame: if new { 56 } else { 24 },
            indirect: match minor {
                12 => Some(0),
                11 => Some(8),
                _ => None,
            },
            handle: match minor {
                12 => 136,
                11 => 152,
                _ => 176,
            },
            native: match minor {
                12 => Some(144),
                11 => Some(160),
                _ => None,
            },
        },
        frame: FrameOffsets {
            previous: match minor {
                12 => 8,
                11 => 48,
                _ => 24,
            },
            code: match minor {
                12 => 0,
                _ => 32,
            },
            instruction: match minor {
                11 | 12 => Instruction::Address(56),
                10 => Instruction::Index(96, 2),
                _ => Instruction::Index(104, 1),
            },
            owner: (minor == 12).then_some(70),
        },
        code: CodeOffsets {
            file: if new { 112 } else { 104 },
            name: if new { 128 } else { 112 },
            first_line: match minor {
                12 => 68,
                11 => 72,
                _ => 40,
            },
            lines: if new { 136 } else { 120 },
            format: match minor {
                11 | 12 => Format::Locations,
                10 => Format::Ranges,
                _ => Format::Lnotab,
            },
            instructions: if minor == 12 { 192 } else { 184 },
        },
        ascii: if minor == 12 { 40 } else { 48 },
        characters: if minor == 12 { 56 } else { 72 },
    })
}

/// The layout that an interpreter describes; `None` for one without a global lock, whose
/// frames have other instructions.
fn described(head: &[u8]) -> Option<Offsets> {
    let version = u64_at(head, 8);
    let free_threaded = u64_at(head, 16) != 0;
    // Where the parts of the description begin. 3.14 has longer ones.
    let (thread, frame, code, string) = match version >> 16 {
        0x030d => (168, 232, 280, 560),
        0x030e => (192, 256, 320, 640),
        _ => return None,
    };
    if free_threaded {
        return None;
    }
    let at = |place: usize| {
        usize::try_from(u64_at(head, place))
            .ok()
            .filter(|at| *at < MAX_OFFSET)
    };
    let ascii = at(string)?;
    Some(Offsets {
        interpreters: at(40)?,
        threads: at(72)?,
        thread: ThreadOffsets {
            next: at(thread)?,
            frame: at(thread + 16)?,
            indirect: None,
            handle: at(thread + 24)?,
            native: Some(at(thread + 32)?),
        },
        frame: FrameOffsets {
            previous: at(frame)?,
            code: at(frame + 8)?,
            instruction: Instruction::Address(at(frame + 16)?),
            owner: Some(at(frame + 32)?),
        },
        code: CodeOffsets {
            file: at(code)?,
            name: at(code + 16)?,
            first_line: at(code + 32)?,
            lines: at(code + 24)?,
            format: Format::Locations,
            instructions: at(code + 64)?,
        },
        ascii,
        characters: ascii + 16,
    })
}

/// No offset is as large as this.
const MAX_OFFSET: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_versions_have_no_layout() {
        assert!(known((3, 11)).is_some());
        assert!(known((3, 7)).is_none());
        assert!(known((2, 7)).is_none());
    }

    #[test]
    fn an_interpreter_describes_itself() {
        let mut head = [0; DESCRIPTION];
        head[..8].copy_from_slice(COOKIE);
        let mut put = |at: usize, value: u64| {
            head[at..at + 8].copy_from_slice(&value.to_le_bytes());
        };
        put(8, 0x030d_00f0);
        for (at, value) in [(40, 1), (72, 2), (168, 3), (184, 4), (560, 40)] {
            put(at, value);
        }
        let found = described(&head).expect("3.13");
        assert_eq!((found.interpreters, found.threads), (1, 2));
        assert_eq!((found.thread.next, found.thread.frame), (3, 4));
        assert_eq!((found.ascii, found.characters), (40, 56));
        head[16] = 1;
        assert!(described(&head).is_none());
        head[16] = 0;
        head[10] = 0x20;
        assert!(described(&head).is_none());
    }
}
