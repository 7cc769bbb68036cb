//! Sizes and addresses of copies and arrays that a structure describes.
//!
//! The structures are those of the driver: `CUDA_MEMCPY2D`, `CUDA_MEMCPY3D` (and its peer
//! form, which has the same fields at the same offsets), `CUDA_ARRAY_DESCRIPTOR`,
//! `CUDA_ARRAY3D_DESCRIPTOR`. They are read before the call, like the driver reads them.

use super::arguments::Words;
use preheat_wire::Copied;

/// The maximum number of copies of a batch that are added up.
const BATCH: usize = 4096;

#[repr(C)]
#[derive(Clone, Copy)]
struct End2 {
    x_and_y: [usize; 2],
    memory: u32,
    host: usize,
    device: usize,
    array: usize,
    pitch: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Copy2 {
    from: End2,
    to: End2,
    size: [usize; 2],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct End3 {
    x_y_z_and_level: [usize; 4],
    memory: u32,
    host: usize,
    device: usize,
    array: usize,
    context: usize,
    pitch_and_height: [usize; 2],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Copy3 {
    from: End3,
    to: End3,
    size: [usize; 3],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Array<const N: usize> {
    sizes: [usize; N],
    format: u32,
    channels: u32,
}

/// The address of one end, by its type of memory: host, device, array, or unified.
fn end(memory: u32, host: usize, device: usize, array: usize) -> u64 {
    (match memory {
        1 => host,
        2 | 4 => device,
        3 => array,
        _ => 0,
    }) as u64
}

fn product(sizes: &[usize]) -> Option<u64> {
    sizes
        .iter()
        .try_fold(1u64, |bytes, &size| bytes.checked_mul(size as u64))
}

/// A copy that its first argument describes, with two or three dimensions.
pub(crate) fn described(words: Words, sizes: u8, stream: u8) -> (Option<u64>, Copied) {
    let stream = words.get(stream) as u64;
    let (bytes, destination, source) = if sizes == 2 {
        let Some(copy) = words.out::<Copy2>(0) else {
            return (None, Copied::default());
        };
        let at = |side: End2| end(side.memory, side.host, side.device, side.array);
        (product(&copy.size), at(copy.to), at(copy.from))
    } else {
        let Some(copy) = words.out::<Copy3>(0) else {
            return (None, Copied::default());
        };
        let at = |side: End3| end(side.memory, side.host, side.device, side.array);
        (product(&copy.size), at(copy.to), at(copy.from))
    };
    let copied = Copied {
        destination,
        source,
        stream,
        reserved: 0,
    };
    (bytes, copied)
}

/// A copy of a box of bytes.
pub(crate) fn region(words: Words, region: u8, to: u8, from: u8) -> (Option<u64>, Copied) {
    let copied = Copied {
        destination: words.get(to) as u64,
        source: words.get(from) as u64,
        ..Copied::default()
    };
    let bytes = words.out::<[usize; 3]>(region);
    (bytes.and_then(|sizes| product(&sizes)), copied)
}

/// The bytes of `cuMemcpyBatchAsync(destinations, sources, sizes, count, …)`.
pub(crate) fn batch(words: Words) -> Option<u64> {
    let sizes = words.get(2) as *const usize;
    if sizes.is_null() || !sizes.is_aligned() {
        return None;
    }
    let count = words.get(3).min(BATCH);
    // SAFETY: the function is called with this many sizes.
    let sizes = unsafe { std::slice::from_raw_parts(sizes, count) };
    sizes
        .iter()
        .try_fold(0u64, |sum, &size| sum.checked_add(size as u64))
}

/// The size of an array of two or three dimensions; a size of 0 means that a dimension is
/// unused.
pub(crate) fn array(words: Words, sizes: u8) -> Option<usize> {
    let (sizes, format, channels) = if sizes == 2 {
        let found = words.out::<Array<2>>(1)?;
        let [width, height] = found.sizes;
        ([width, height, 1], found.format, found.channels)
    } else {
        let found = words.out::<Array<3>>(1)?;
        (found.sizes, found.format, found.channels)
    };
    let element = match format {
        0x01 | 0x08 => 1,
        0x02 | 0x09 | 0x10 => 2,
        0x03 | 0x0a | 0x20 => 4,
        _ => return None,
    };
    sizes
        .iter()
        .map(|&size| size.max(1))
        .chain([channels as usize, element])
        .try_fold(1usize, usize::checked_mul)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::table::NONE;

    fn with<R>(words: &[usize; 6], work: impl FnOnce(Words) -> R) -> R {
        // SAFETY: no word beyond the six is read.
        work(unsafe { Words::new(words.as_ptr(), std::ptr::null()) })
    }

    #[test]
    fn structures_have_the_drivers_sizes() {
        assert_eq!(size_of::<Copy2>(), 128);
        assert_eq!(size_of::<Copy3>(), 200);
        assert_eq!(std::mem::offset_of!(Copy3, to), 88);
    }

    #[test]
    fn a_described_copy_has_bytes_and_both_ends() {
        let side = End2 {
            x_and_y: [0; 2],
            memory: 1,
            host: 10,
            device: 20,
            array: 30,
            pitch: 64,
        };
        let copy = Copy2 {
            from: side,
            to: End2 { memory: 2, ..side },
            size: [64, 3],
        };
        let words = [&raw const copy as usize, 77, 0, 0, 0, 0];
        let (bytes, copied) = with(&words, |words| described(words, 2, 1));
        assert_eq!(bytes, Some(192));
        assert_eq!(
            (copied.destination, copied.source, copied.stream),
            (20, 10, 77)
        );
        let (bytes, copied) = with(&[0; 6], |words| described(words, 3, NONE));
        assert_eq!((bytes, copied), (None, Copied::default()));
    }

    #[test]
    fn the_sizes_of_a_batch_are_added_up() {
        let sizes = [1usize, 2, 4];
        let words = [0, 0, sizes.as_ptr() as usize, 3, 0, 0];
        assert_eq!(with(&words, batch), Some(7));
        assert_eq!(with(&[0, 0, 0, 3, 0, 0], batch), None);
    }

    #[test]
    fn an_array_has_elements_of_its_format() {
        let flat = Array {
            sizes: [16, 0],
            format: 0x20,
            channels: 4,
        };
        let words = [0, &raw const flat as usize, 0, 0, 0, 0];
        assert_eq!(with(&words, |words| array(words, 2)), Some(16 * 4 * 4));
        let solid = Array {
            sizes: [2, 3, 4],
            format: 0x10,
            channels: 1,
        };
        let words = [0, &raw const solid as usize, 0, 0, 0, 0];
        assert_eq!(with(&words, |words| array(words, 3)), Some(48));
    }
}
