//! The executable and libraries that are mapped into this process.
//!
//! The loader lists them under a lock of its own, which a fork leaves as it was: a child
//! may find it held by a thread that it does not have, and would wait for ever. So a
//! forked child does not ask, until it has seen that the lock can be had.

use super::find::{self, Around};
use crate::recorder::{self, system::process_number};
use preheat_wire::{Event, Kind};
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// The process in which the list may be asked for.
static MAY_ASK: AtomicU32 = AtomicU32::new(0);

/// Says that in this process the loader's lock is not one that a fork has left behind:
/// because it has not forked, or because the lock was held and given back since.
pub(super) fn lock_is_sound() {
    MAY_ASK.store(process_number(), Ordering::Relaxed);
}

/// To be called in a forked child: its number may be that of its parent, elsewhere.
pub(crate) fn forked() {
    MAY_ASK.store(0, Ordering::Relaxed);
}

/// Whether the list may be asked for. Not by what a fork's handlers said alone: some ways
/// to fork call none.
pub(crate) fn may_ask() -> bool {
    MAY_ASK.load(Ordering::Relaxed) == process_number()
}

/// One of them, for as long as it is looked at.
pub struct Mapped<'a> {
    info: &'a libc::dl_phdr_info,
}

impl<'a> Mapped<'a> {
    pub(super) fn new(info: &'a libc::dl_phdr_info) -> Mapped<'a> {
        Mapped { info }
    }

    /// Its path; empty for the executable, a bare name for what the kernel maps.
    pub fn path(&self) -> &CStr {
        if self.info.dlpi_name.is_null() {
            return c"";
        }
        // SAFETY: the loader's own C string, which lives while the object is mapped.
        unsafe { CStr::from_ptr(self.info.dlpi_name) }
    }

    /// The address that its segments are relative to.
    pub fn base(&self) -> usize {
        self.info.dlpi_addr as usize
    }

    /// Its segments.
    pub fn segments(&self) -> &[libc::Elf64_Phdr] {
        if self.info.dlpi_phdr.is_null() {
            return &[];
        }
        // SAFETY: the loader says where they are and how many.
        unsafe {
            std::slice::from_raw_parts(self.info.dlpi_phdr, usize::from(self.info.dlpi_phnum))
        }
    }

    /// Whether a loaded segment covers these bytes, and has all of these permissions.
    pub fn covers(&self, address: usize, bytes: usize, permissions: u32) -> bool {
        self.segments().iter().any(|segment| {
            let begin = self.base().wrapping_add(segment.p_vaddr as usize);
            let end = begin.saturating_add(segment.p_memsz as usize);
            segment.p_type == libc::PT_LOAD
                && segment.p_flags & permissions == permissions
                && (begin..end).contains(&address)
                && end - address >= bytes
        })
    }
}

/// Calls `look` for each, the executable first, until it says true; for none in a forked
/// child that must not ask.
pub fn each_mapped(mut look: impl FnMut(&Mapped<'_>) -> bool) {
    unsafe extern "C" fn one<F: FnMut(&Mapped<'_>) -> bool>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        look: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader gives a valid description, and `look` is what was passed
        // below, which nobody else uses meanwhile.
        let (info, look) = unsafe { (&*info, &mut *look.cast::<F>()) };
        c_int::from(look(&Mapped { info }))
    }
    fn callback<F: FnMut(&Mapped<'_>) -> bool>(
        _: &F,
    ) -> unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int {
        one::<F>
    }
    if !may_ask() {
        return;
    }
    // SAFETY: the callback gets the closure that it was made for, alive during the call.
    unsafe { libc::dl_iterate_phdr(Some(callback(&look)), (&raw mut look).cast()) };
}

/// Where the object lies that has this address; an empty range if none is found.
pub(crate) fn range_around(address: *const u8) -> Range<usize> {
    match find::around(address) {
        Around::Object(start, end, _) => return start..end,
        Around::Nothing => return 0..0,
        Around::Unknown => {}
    }
    let mut range = 0..0;
    each_mapped(|mapped| {
        let loaded = mapped.segments().iter();
        let loaded = loaded.filter(|segment| segment.p_type == libc::PT_LOAD);
        let (mut start, mut end) = (usize::MAX, 0);
        for segment in loaded {
            let at = mapped.base().wrapping_add(segment.p_vaddr as usize);
            start = start.min(at);
            end = end.max(at.saturating_add(segment.p_memsz as usize));
        }
        let here = (start..end).contains(&(address as usize));
        if here {
            range = start..end;
        }
        here
    });
    range
}

/// How many objects were ever mapped: another number, and there are new ones.
pub(crate) fn adds() -> u64 {
    let mut adds = 0;
    each_mapped(|mapped| {
        adds = mapped.info.dlpi_adds;
        true
    });
    adds
}

/// Records each mapped library that was not recorded yet.
pub(crate) fn record_new() {
    each_mapped(|mapped| {
        let path = mapped.path().to_bytes();
        if path.first() == Some(&b'/') && recorder::first_time(Event::Library, path) {
            recorder::instant(Kind::Event, Event::Library as u16, 0, 0, None, path);
        }
        false
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_and_the_c_library_are_mapped() {
        lock_is_sound();
        let mut paths = Vec::new();
        let mut here = 0;
        let code = adds as *const () as usize;
        each_mapped(|mapped| {
            paths.push(mapped.path().to_owned());
            here += usize::from(mapped.covers(code, 1, libc::PF_X));
            false
        });
        assert_eq!(here, 1);
        assert!(paths.first().unwrap().is_empty());
        assert!(
            paths
                .iter()
                .any(|path| path.to_string_lossy().contains("libc.so"))
        );
        assert!(adds() >= paths.len() as u64);
        let ours = range_around(code as *const u8);
        assert!(ours.contains(&code) && !ours.contains(&(libc::getenv as *const () as usize)));
        assert!(range_around(std::ptr::null()).is_empty());
    }
}
