//! Finds the object that contains an address, without a lock.
//!
//! `dl_iterate_phdr` holds a lock of the loader. After a fork, a thread that does not exist
//! in the child may hold it forever. `_dl_find_object` (glibc 2.35) uses no lock.

use super::real::real_dlsym;
use std::ffi::{c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// glibc's `struct dl_find_object`, with more space at its end than any version uses.
#[repr(C)]
struct Answer {
    flags: u64,
    start: *const u8,
    end: *const u8,
    map: *const LinkMap,
    more: [u64; 12],
}

/// The public part of glibc's `struct link_map`.
#[repr(C)]
struct LinkMap {
    base: usize,
    name: *const c_char,
}

type Find = unsafe extern "C" fn(*const c_void, *mut Answer) -> c_int;

static FIND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Looks up the C library's function, if it has one.
pub(super) fn prepare() {
    let found = real_dlsym(libc::RTLD_NEXT, c"_dl_find_object");
    FIND.store(found, Ordering::Relaxed);
}

/// The `_dl_find_object` for the unwinder that is linked into this library: calls the C
/// library's function, if it has one. Otherwise no object is found, and a backtrace ends
/// there.
///
/// # Safety
/// Same as the C library's.
#[cfg(not(test))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn preheat_find_object(address: *const c_void, answer: *mut c_void) -> c_int {
    let find = FIND.load(Ordering::Relaxed);
    if find.is_null() {
        return -1;
    }
    // SAFETY: it is glibc's function, with the unwinder's own arguments.
    unsafe { transmute::<*mut c_void, Find>(find)(address, answer.cast()) }
}

/// The object around an address.
pub(super) enum Around {
    /// Its address range, and its description in the form of `dl_iterate_phdr`; all zero if
    /// its headers are not visible.
    Object(usize, usize, libc::dl_phdr_info),
    /// No object contains the address.
    Nothing,
    /// The C library cannot find it without a lock.
    Unknown,
}

/// Finds the object.
pub(super) fn around(address: *const u8) -> Around {
    let find = FIND.load(Ordering::Relaxed);
    if find.is_null() {
        return Around::Unknown;
    }
    let mut answer = Answer {
        flags: 0,
        start: std::ptr::null(),
        end: std::ptr::null(),
        map: std::ptr::null(),
        more: [0; 12],
    };
    // SAFETY: it is glibc's function, which accepts any address and writes one answer.
    let missed = unsafe { transmute::<*mut c_void, Find>(find)(address.cast(), &raw mut answer) };
    if missed != 0 || answer.map.is_null() {
        return Around::Nothing;
    }
    Around::Object(
        answer.start as usize,
        answer.end as usize,
        described(&answer),
    )
}

fn described(answer: &Answer) -> libc::dl_phdr_info {
    /// At most one page: this much of an object is mapped contiguously.
    const PAGE: u64 = 4096;
    // SAFETY: numbers and pointers, for which zero is valid.
    let mut info: libc::dl_phdr_info = unsafe { std::mem::zeroed() };
    // SAFETY: the first page of an object is readable while it is loaded, and it is loaded:
    // the address is that of code about to run.
    let header = unsafe { &*answer.start.cast::<libc::Elf64_Ehdr>() };
    let bytes = u64::from(header.e_phnum) * size_of::<libc::Elf64_Phdr>() as u64;
    // If the first page of the file is not the first one in memory, this is something else.
    if header.e_ident.starts_with(b"\x7fELF")
        && usize::from(header.e_phentsize) == size_of::<libc::Elf64_Phdr>()
        && header.e_phoff.is_multiple_of(8)
        && header.e_phoff.saturating_add(bytes) <= PAGE
    {
        // SAFETY: the link map of a loaded object; the headers are in its first page.
        unsafe {
            info.dlpi_addr = (*answer.map).base as _;
            info.dlpi_name = (*answer.map).name;
            info.dlpi_phdr = answer.start.add(header.e_phoff as usize).cast();
        }
        info.dlpi_phnum = header.e_phnum;
    }
    info
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::objects::Mapped;

    #[test]
    fn an_address_is_found_in_its_object_or_nowhere() {
        prepare();
        let code = prepare as *const u8;
        match around(code) {
            Around::Object(start, end, info) => {
                assert!((start..end).contains(&(code as usize)));
                assert!(Mapped::new(&info).covers(code as usize, 1, libc::PF_X));
            }
            Around::Nothing => panic!("code lies in an object"),
            Around::Unknown => return,
        }
        let heap = Box::new(0u8);
        assert!(matches!(around(&raw const *heap), Around::Nothing));
    }
}
