//! The executable and libraries that are mapped into this process.
//!
//! The loader lists them under a lock. After a fork, a thread that does not exist in the
//! child may hold it, and waiting for it would never end. So a forked child does not query
//! the list until it has seen that the lock is usable.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use preheat_wire::{Event, Kind};

use super::real_dlsym;
use crate::recorder;
use crate::recorder::system::process_number;

/// The process in which the list may be queried.
static MAY_ASK: AtomicU32 = AtomicU32::new(0);

/// Marks the loader's lock as usable in this process: because it has not forked, or because
/// the lock was acquired and released since.
pub(super) fn lock_is_sound() {
    MAY_ASK.store(process_number(), Ordering::Relaxed);
}

/// To be called in a forked child: its pid may equal that of its parent, in another
/// namespace.
pub(crate) fn forked() {
    MAY_ASK.store(0, Ordering::Relaxed);
}

/// Returns whether the list may be queried. Fork handlers alone are not sufficient, since
/// some ways to fork call none.
pub(crate) fn may_ask() -> bool {
    MAY_ASK.load(Ordering::Relaxed) == process_number()
}

/// One of them, while it is visited.
pub struct Mapped<'a> {
    info: &'a libc::dl_phdr_info,
}

impl<'a> Mapped<'a> {
    pub(super) fn new(info: &'a libc::dl_phdr_info) -> Mapped<'a> {
        Mapped { info }
    }

    /// Its path; empty for the executable, a bare name for objects mapped by the kernel.
    pub fn path(&self) -> &CStr {
        if self.info.dlpi_name.is_null() {
            return c"";
        }
        // SAFETY: the loader's C string, which lives while the object is mapped.
        unsafe { CStr::from_ptr(self.info.dlpi_name) }
    }

    /// The base address of its segments.
    pub fn base(&self) -> usize {
        self.info.dlpi_addr as usize
    }

    /// Its segments.
    pub fn segments(&self) -> &[libc::Elf64_Phdr] {
        if self.info.dlpi_phdr.is_null() {
            return &[];
        }
        // SAFETY: the loader provides their address and number.
        unsafe {
            std::slice::from_raw_parts(self.info.dlpi_phdr, usize::from(self.info.dlpi_phnum))
        }
    }

    /// Returns whether a loaded segment covers these bytes, and has all of these
    /// permissions.
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

/// Calls `visit` for each, the executable first, until it returns true; for none in a
/// forked child that must not query the list.
pub fn each_mapped(mut visit: impl FnMut(&Mapped<'_>) -> bool) {
    unsafe extern "C" fn one<F: FnMut(&Mapped<'_>) -> bool>(
        info: *mut libc::dl_phdr_info,
        _: usize,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid description, and `visit` is the closure below,
        // which nothing else uses meanwhile.
        let (info, visit) = unsafe { (&*info, &mut *visit.cast::<F>()) };
        c_int::from(visit(&Mapped { info }))
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
    unsafe { libc::dl_iterate_phdr(Some(callback(&visit)), (&raw mut visit).cast()) };
}

/// The address range of the object that contains this address; empty if there is none.
pub(crate) fn range_around(address: *const u8) -> Range<usize> {
    match around(address) {
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

/// The number of objects ever mapped: if it changes, there are new ones.
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

// Finds the object that contains an address, without a lock.
//
// `dl_iterate_phdr` holds a lock of the loader. After a fork, a thread that does not exist
// in the child may hold it forever. `_dl_find_object` (glibc 2.35) uses no lock.

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
    use crate::loader::mapped_objects::Mapped;

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
