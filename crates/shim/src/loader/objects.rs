//! The executable and libraries that are mapped into this process.

use crate::recorder;
use preheat_wire::{Event, Kind};
use std::ffi::{CStr, c_int, c_void};

/// One of them, for as long as it is looked at.
pub struct Mapped<'a> {
    info: &'a libc::dl_phdr_info,
}

impl Mapped<'_> {
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

/// Calls `look` for each, the executable first, until it says true.
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
    // SAFETY: the callback gets the closure that it was made for, alive during the call.
    unsafe { libc::dl_iterate_phdr(Some(callback(&look)), (&raw mut look).cast()) };
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
    }
}
