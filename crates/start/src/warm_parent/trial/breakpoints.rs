//! Finds the variables that native code reads, with a breakpoint in `getenv` of the C
//! library, which also catches the calls of the library itself.
//!
//! The breakpoint replaces the first instruction, which the tracer emulates, so that it can
//! stay in place while several threads run.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use libc::pid_t;
use object::{Object, ObjectSymbol};

/// A breakpoint in the memory of the traced processes; forked children inherit it.
pub(super) struct Trap {
    address: u64,
    first: First,
    byte: u8,
}

/// The replaced instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    /// A marker without an effect (`endbr64`), with its length in bytes.
    Mark(u64),
    /// Pushes the register with this number, with the length in bytes.
    Push(u8, u64),
}

const TRAP: u8 = 0xcc;

impl Trap {
    /// Sets the breakpoint in a process that has loaded the C library; `None` on failure.
    pub(super) fn set(process: pid_t) -> Option<Trap> {
        let address = find(process)?;
        let mut bytes = [0; 4];
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{process}/mem"))
            .ok()?;
        memory.read_exact_at(&mut bytes, address).ok()?;
        let first = first(bytes)?;
        memory.write_all_at(&[TRAP], address).ok()?;
        Some(Trap {
            address,
            first,
            byte: bytes[0],
        })
    }

    /// Restores the original instruction.
    pub(super) fn remove(&self, process: pid_t) {
        let memory = OpenOptions::new()
            .write(true)
            .open(format!("/proc/{process}/mem"));
        if let Ok(memory) = memory {
            // A process that has exited needs nothing.
            let _ = memory.write_all_at(&[self.byte], self.address);
        }
    }

    /// If a thread has stopped at the breakpoint, returns the address of the name of the
    /// variable, and emulates the replaced instruction.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn hit(&self, thread: pid_t) -> Option<u64> {
        // SAFETY: zeroed registers are a valid value, and ptrace writes one struct of them. For a
        // thread that is not stopped and traced by this one, it only fails.
        let mut registers = unsafe {
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            let got = libc::ptrace(libc::PTRACE_GETREGS, thread, 0, &raw mut registers);
            (got == 0).then_some(registers)?
        };
        if registers.rip != self.address + 1 {
            return None;
        }
        let name = registers.rdi;
        registers.rip = self.address
            + match self.first {
                First::Mark(length) => length,
                First::Push(register, length) => {
                    registers.rsp -= 8;
                    let value = pushed(&registers, register);
                    // SAFETY: ptrace takes numbers here. It writes one word onto the stack of the
                    // stopped thread, where the replaced instruction would have written it.
                    unsafe {
                        libc::ptrace(libc::PTRACE_POKEDATA, thread, registers.rsp, value);
                    }
                    length
                }
            };
        // SAFETY: ptrace reads one struct: the registers of the thread, advanced past the
        // instruction.
        unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, 0, &raw mut registers) };
        Some(name)
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn hit(&self, _: pid_t) -> Option<u64> {
        None
    }
}

/// The value of the register with this number in the encoding of `push`.
#[cfg(target_arch = "x86_64")]
fn pushed(of: &libc::user_regs_struct, number: u8) -> u64 {
    [
        of.rax, of.rcx, of.rdx, of.rbx, of.rsp, of.rbp, of.rsi, of.rdi, of.r8, of.r9, of.r10,
        of.r11, of.r12, of.r13, of.r14, of.r15,
    ][usize::from(number & 15)]
}

#[cfg(target_arch = "x86_64")]
fn first(bytes: [u8; 4]) -> Option<First> {
    match bytes {
        [0xf3, 0x0f, 0x1e, 0xfa] => Some(First::Mark(4)),
        [0x41, push @ 0x50..=0x57, ..] => Some(First::Push(push - 0x50 + 8, 2)),
        // Not `push rsp` (0x54), which would need the old value of the stack pointer.
        [push @ (0x50..=0x53 | 0x55..=0x57), ..] => Some(First::Push(push - 0x50, 1)),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn first(_: [u8; 4]) -> Option<First> {
    None
}

/// The address of `getenv` in a process.
fn find(process: pid_t) -> Option<u64> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let (base, path) = maps.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        let range = fields.next()?;
        let offset = fields.nth(1)?;
        let path = fields.nth(2)?;
        let name = path.rsplit('/').next()?;
        let is_library = name.starts_with("libc.so") || name.starts_with("libc-2.");
        let base = u64::from_str_radix(range.split('-').next()?, 16).ok()?;
        (is_library && offset.bytes().all(|byte| byte == b'0')).then(|| (base, path.to_owned()))
    })?;
    let content = fs::read(path).ok()?;
    let file = object::File::parse(&content[..]).ok()?;
    let symbol = file
        .dynamic_symbols()
        .find(|it| it.name() == Ok("getenv"))?;
    (symbol.address() != 0).then(|| base + symbol.address())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn first_instructions_are_decoded() {
        assert_eq!(first([0xf3, 0x0f, 0x1e, 0xfa]), Some(First::Mark(4)));
        assert_eq!(first([0x41, 0x57, 0, 0]), Some(First::Push(15, 2)));
        assert_eq!(first([0x55, 0x48, 0, 0]), Some(First::Push(5, 1)));
        assert_eq!(first([0x48, 0x83, 0xec, 8]), None);
    }

    #[test]
    fn the_c_library_of_this_process_is_found() {
        let found = find(std::process::id() as pid_t).expect("it has one");
        assert_eq!(found, libc::getenv as *const () as u64);
    }
}
