//! The content of GPU code: for which architectures there is machine code, and for which
//! PTX.
//!
//! Code comes as a fat binary (a header, then entries of machine code and PTX, each with a
//! header), as a pointer to one, as one piece of machine code in ELF, or as PTX text. It is
//! only read after the driver has loaded it, so that it is valid; anything implausible is
//! still ignored. The layout of fat binaries is not documented; it was checked against
//! those in the NVIDIA libraries.

use std::ffi::CStr;

use preheat_wire::Image;

const POINTER: u32 = 0x4662_43b1;
const FAT: u32 = 0xba55_ed50;
const ELF: u32 = u32::from_le_bytes(*b"\x7fELF");

const MAX_BYTES: u64 = 1 << 34;
const MAX_ENTRIES: usize = 512;
const MAX_TEXT: usize = 64 << 20;
/// `.target` comes first in a module, after comments.
const HEAD_OF_TEXT: usize = 64 << 10;

/// The size of a file. The driver reads its content.
pub(crate) fn file(path: &CStr) -> Image {
    // SAFETY: only numbers, for which zero is valid.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a C string and space for one stat.
    let found = unsafe { libc::stat(path.as_ptr(), &mut about) } == 0;
    Image {
        bytes: if found { about.st_size as u64 } else { 0 },
        ..Image::default()
    }
}

/// The content of code in memory. `here` is the architecture of the device: if there are
/// more architectures than fit, those nearest to it are kept.
///
/// # Safety
/// `code` is null or was just loaded successfully by a driver.
pub(crate) unsafe fn code(code: *const u8, here: u16) -> Image {
    // SAFETY: any code that the driver loads has at least a header of four bytes, or is a
    // text that is read byte by byte.
    unsafe {
        match head(code) {
            Some(POINTER) if code.cast::<u64>().is_aligned() => {
                let inner = code.add(8).cast::<*const u8>().read();
                match head(inner) {
                    Some(FAT) => fat(inner, here),
                    _ => Image::default(),
                }
            }
            Some(FAT) => fat(code, here),
            Some(ELF) => elf(code),
            Some(_) => text(code),
            None => Image::default(),
        }
    }
}

/// The first four bytes; 0 for a shorter text.
unsafe fn head(code: *const u8) -> Option<u32> {
    if code.is_null() {
        return None;
    }
    let mut bytes = [0u8; 4];
    for (index, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: as long as no NUL was found there is a next byte.
        *byte = unsafe { code.add(index).read() };
        if *byte == 0 {
            return Some(0);
        }
    }
    Some(u32::from_le_bytes(bytes))
}

unsafe fn number<T: Copy>(code: *const u8, at: usize) -> T {
    // SAFETY: the caller reads inside a header that exists.
    unsafe { code.add(at).cast::<T>().read_unaligned() }
}

unsafe fn fat(code: *const u8, here: u16) -> Image {
    // SAFETY: a fat binary has a header of 16 bytes, and the headers of its entries are
    // within the size that it contains.
    unsafe {
        let head = u64::from(number::<u16>(code, 6));
        let size = number::<u64>(code, 8);
        if !(16..=4096).contains(&head) || size > MAX_BYTES {
            return Image::default();
        }
        let end = head + size;
        let (mut machine_code, mut ptx) = (Architectures::default(), Architectures::default());
        let mut at = head;
        for _ in 0..MAX_ENTRIES {
            if at + 64 > end {
                break;
            }
            let entry = code.add(at as usize);
            let length = u64::from(number::<u32>(entry, 4));
            let payload = number::<u64>(entry, 8);
            if !(32..=65536).contains(&length) || payload > end - at {
                return Image::default();
            }
            let architecture = number::<u32>(entry, 28);
            match number::<u16>(entry, 0) {
                1 => ptx.add(architecture),
                2 => machine_code.add(architecture),
                _ => {}
            }
            at += length + payload;
        }
        Image {
            bytes: end,
            machine_code: machine_code.nearest(here),
            ptx: ptx.nearest(here),
        }
    }
}

unsafe fn elf(code: *const u8) -> Image {
    // SAFETY: a 64-bit ELF file has a header of 64 bytes.
    unsafe {
        let (class, version) = (number::<u8>(code, 4), number::<u8>(code, 8));
        let machine = number::<u16>(code, 18);
        if class != 2 || machine != 190 {
            return Image::default();
        }
        let flags = number::<u32>(code, 48);
        // Since version 8 of the layout the architecture is one byte higher.
        let architecture = if version >= 8 { flags >> 8 } else { flags } & 0xff;
        let table = |at: usize, size: usize, count: usize| {
            let entries =
                u64::from(number::<u16>(code, size)) * u64::from(number::<u16>(code, count));
            number::<u64>(code, at).saturating_add(entries)
        };
        let bytes = table(32, 54, 56).max(table(40, 58, 60));
        let mut found = Architectures::default();
        found.add(architecture);
        Image {
            bytes: if bytes > MAX_BYTES { 0 } else { bytes },
            machine_code: found.nearest(0),
            ptx: [0; 4],
        }
    }
}

unsafe fn text(code: *const u8) -> Image {
    // SAFETY: the driver accepted it as a text, which ends with a NUL.
    let length = unsafe { libc::strnlen(code.cast(), MAX_TEXT) };
    // SAFETY: this many bytes were just read.
    let text = unsafe { std::slice::from_raw_parts(code, length.min(HEAD_OF_TEXT)) };
    let mut found = Architectures::default();
    if let Some(architecture) = target(text) {
        found.add(architecture);
    }
    Image {
        bytes: length as u64,
        machine_code: [0; 8],
        ptx: found.nearest(0),
    }
}

/// The number after `.target sm_`.
fn target(text: &[u8]) -> Option<u32> {
    let word = b".target";
    let at = text.windows(word.len()).position(|part| part == word)?;
    let rest = text.get(at + word.len()..)?.trim_ascii_start();
    let digits = rest
        .strip_prefix(b"sm_")
        .or_else(|| rest.strip_prefix(b"compute_"))?;
    digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .try_fold(0u32, |number, digit| {
            number.checked_mul(10)?.checked_add(u32::from(digit - b'0'))
        })
}

/// A list of distinct architectures.
#[derive(Default)]
struct Architectures {
    all: [u16; 32],
    count: usize,
}

impl Architectures {
    fn add(&mut self, architecture: u32) {
        // 10 × major + minor; anything beyond that is not an architecture.
        let Some(architecture) = u16::try_from(architecture)
            .ok()
            .filter(|&it| (10..1000).contains(&it))
        else {
            return;
        };
        let known = self
            .all
            .iter()
            .take(self.count)
            .any(|&other| other == architecture);
        if let Some(place) = self.all.get_mut(self.count).filter(|_| !known) {
            *place = architecture;
            self.count += 1;
        }
    }

    /// As many as fit, sorted; those near `here` take precedence.
    fn nearest<const N: usize>(&self, here: u16) -> [u16; N] {
        let mut all = self.all;
        let Some(found) = all.get_mut(..self.count) else {
            return [0; N];
        };
        found.sort_unstable_by_key(|&one| (one / 10 != here / 10, one.abs_diff(here)));
        let kept = found.len().min(N);
        let (kept, _) = found.split_at_mut(kept);
        kept.sort_unstable();
        let mut result = [0; N];
        for (to, &from) in result.iter_mut().zip(kept.iter()) {
            *to = from;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fat_binary(entries: &[(u16, u32)]) -> Vec<u8> {
        let mut body = Vec::new();
        for &(kind, architecture) in entries {
            let mut head = [0u8; 64];
            head[0..2].copy_from_slice(&kind.to_le_bytes());
            head[4..8].copy_from_slice(&64u32.to_le_bytes());
            head[8..16].copy_from_slice(&8u64.to_le_bytes());
            head[28..32].copy_from_slice(&architecture.to_le_bytes());
            body.extend(head);
            body.extend([0xaa; 8]);
        }
        let mut all = FAT.to_le_bytes().to_vec();
        all.extend([1, 0, 16, 0]);
        all.extend((body.len() as u64).to_le_bytes());
        all.extend(body);
        all
    }

    fn read(bytes: &[u8], here: u16) -> Image {
        // SAFETY: the tests pass valid code.
        unsafe { code(bytes.as_ptr(), here) }
    }

    #[test]
    fn a_fat_binary_has_machine_code_and_ptx() {
        let binary = fat_binary(&[(2, 80), (2, 90), (2, 90), (1, 90), (7, 30)]);
        let image = read(&binary, 90);
        assert_eq!(image.bytes, binary.len() as u64);
        assert_eq!(image.machine_code, [80, 90, 0, 0, 0, 0, 0, 0]);
        assert_eq!(image.ptx, [90, 0, 0, 0]);
    }

    #[test]
    fn a_pointer_to_a_fat_binary_is_followed() {
        let binary = fat_binary(&[(2, 75)]);
        let pointer = [u64::from(POINTER) | 1 << 32, binary.as_ptr() as u64, 0];
        // SAFETY: it is a valid pointer to a fat binary.
        let image = unsafe { code(pointer.as_ptr().cast(), 0) };
        assert_eq!(image.machine_code[0], 75);
    }

    #[test]
    fn the_architectures_nearest_to_the_device_are_kept() {
        let all = [50, 60, 70, 75, 80, 86, 89, 90, 100, 101, 103, 120, 121];
        let entries: Vec<(u16, u32)> = all.iter().map(|&one| (2, one)).collect();
        let binary = fat_binary(&entries);
        assert!(read(&binary, 75).machine_code.contains(&75));
        assert!(read(&binary, 121).machine_code.contains(&121));
        assert!(read(&binary, 52).machine_code.contains(&50));
    }

    #[test]
    fn implausible_sizes_are_rejected() {
        let mut binary = fat_binary(&[(2, 80), (2, 90)]);
        binary[16 + 4..16 + 8].copy_from_slice(&1_000_000u32.to_le_bytes());
        assert_eq!(read(&binary, 0), Image::default());
        let mut binary = fat_binary(&[(2, 80)]);
        binary[16 + 8..16 + 16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(&binary, 0), Image::default());
        let mut binary = fat_binary(&[(2, 80)]);
        binary[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(read(&binary, 0), Image::default());
        let binary = fat_binary(&[(2, 80_000)]);
        assert_eq!(read(&binary, 0).machine_code, [0; 8]);
        // SAFETY: null is allowed.
        assert_eq!(unsafe { code(std::ptr::null(), 0) }, Image::default());
    }

    #[test]
    fn the_architecture_of_machine_code_is_read_in_either_layout() {
        for (version, flags) in [(7u8, 0x0050_055au32), (8, 0x0000_5a04)] {
            let mut elf = [0u8; 64];
            elf[..4].copy_from_slice(b"\x7fELF");
            elf[4] = 2;
            elf[8] = version;
            elf[18] = 190;
            elf[40..48].copy_from_slice(&1000u64.to_le_bytes());
            elf[48..52].copy_from_slice(&flags.to_le_bytes());
            elf[58] = 64;
            elf[60] = 3;
            let image = read(&elf, 0);
            assert_eq!(image.machine_code[0], 90);
            assert_eq!(image.bytes, 1192);
        }
        let mut other = [0u8; 64];
        other[..4].copy_from_slice(b"\x7fELF");
        assert_eq!(read(&other, 0), Image::default());
    }

    #[test]
    fn the_target_of_ptx_is_read() {
        let text = b"//\n.version 8.0\n.target sm_90a, texmode_independent\n.address_size 64\n\0";
        let image = read(text, 0);
        assert_eq!(image.ptx, [90, 0, 0, 0]);
        assert_eq!(image.bytes, text.len() as u64 - 1);
        assert_eq!(read(b".target nothing\0", 0).ptx, [0; 4]);
        assert_eq!(read(b".target sm_99999999999999\0", 0).ptx, [0; 4]);
        assert_eq!(read(b"ab\0", 0).bytes, 2);
        assert_eq!(read(b"\0", 0), Image::default());
    }
}
