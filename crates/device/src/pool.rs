//! A caching allocator: freed memory stays in the pool until it is trimmed.
//!
//! The pool manages ranges of segments and does not know what a segment is: the CPU device
//! stores mappings in it, the OpenCL device `cl_mem`s. Like the frameworks' allocators, it
//! splits large segments and joins neighboring free ranges, so that a large freed block
//! can serve small requests later.

/// All blocks begin and end at multiples of this, where a sub-buffer of any OpenCL device
/// may begin.
pub(crate) const ALIGNMENT: usize = 4096;

/// The location of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    segment: usize,
    /// Its offset within the segment.
    pub offset: usize,
    /// Its size, rounded up to [`ALIGNMENT`].
    pub bytes: usize,
}

#[derive(Debug)]
struct Segment<S> {
    storage: S,
    bytes: usize,
    /// Free ranges as (offset, bytes), sorted; no two are adjacent.
    free: Vec<(usize, usize)>,
}

/// Segments of memory and their free ranges.
#[derive(Debug)]
pub(crate) struct Pool<S> {
    /// A trimmed segment leaves an empty entry, so that blocks keep their index.
    segments: Vec<Option<Segment<S>>>,
}

impl<S> Default for Pool<S> {
    fn default() -> Self {
        Pool {
            segments: Vec::new(),
        }
    }
}

impl<S> Pool<S> {
    /// The size that a request actually occupies.
    pub fn rounded(bytes: usize) -> usize {
        bytes.max(1).next_multiple_of(ALIGNMENT)
    }

    /// Allocates a block for `bytes` from the smallest sufficient free range.
    pub fn take(&mut self, bytes: usize) -> Option<Block> {
        let bytes = Self::rounded(bytes);
        let (segment, range) = self
            .segments
            .iter()
            .enumerate()
            .filter_map(|(index, segment)| Some((index, segment.as_ref()?)))
            .flat_map(|(index, segment)| {
                (0..segment.free.len()).map(move |range| (index, range, segment.free[range].1))
            })
            .filter(|&(_, _, free)| free >= bytes)
            .min_by_key(|&(_, _, free)| free)
            .map(|(segment, range, _)| (segment, range))?;
        let free = &mut self.segments[segment].as_mut()?.free;
        let (offset, size) = free[range];
        if size == bytes {
            free.remove(range);
        } else {
            free[range] = (offset + bytes, size - bytes);
        }
        Some(Block {
            segment,
            offset,
            bytes,
        })
    }

    /// Adds a segment, completely free.
    pub fn add(&mut self, storage: S, bytes: usize) {
        self.segments.push(Some(Segment {
            storage,
            bytes,
            free: vec![(0, bytes)],
        }));
    }

    /// The storage of the block's segment; `None` for a block of another pool.
    pub fn storage(&self, block: Block) -> Option<&S> {
        Some(&self.segments.get(block.segment)?.as_ref()?.storage)
    }

    /// Marks the block as free.
    pub fn give_back(&mut self, block: Block) {
        let Some(Some(segment)) = self.segments.get_mut(block.segment) else {
            return;
        };
        let at = segment
            .free
            .partition_point(|&(offset, _)| offset < block.offset);
        segment.free.insert(at, (block.offset, block.bytes));
        segment.free.dedup_by(|next, previous| {
            let touches = previous.0 + previous.1 == next.0;
            if touches {
                previous.1 += next.1;
            }
            touches
        });
    }

    /// Removes and returns every segment that is completely free.
    pub fn trim(&mut self) -> Vec<S> {
        self.segments
            .iter_mut()
            .filter(|slot| {
                slot.as_ref()
                    .is_some_and(|segment| segment.free == [(0, segment.bytes)])
            })
            .filter_map(Option::take)
            .map(|segment| segment.storage)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_big_block_serves_small_requests() {
        let mut pool = Pool::default();
        assert_eq!(pool.take(ALIGNMENT), None);
        pool.add("big", 4 * ALIGNMENT);
        let blocks: Vec<Block> = (0..4).filter_map(|_| pool.take(1)).collect();
        let offsets: Vec<usize> = blocks.iter().map(|b| b.offset / ALIGNMENT).collect();
        assert_eq!(offsets, [0, 1, 2, 3]);
        assert_eq!(pool.take(1), None);
    }

    #[test]
    fn neighbors_are_joined_in_any_order() {
        let mut pool = Pool::default();
        pool.add((), 3 * ALIGNMENT);
        let blocks: Vec<Block> = (0..3).filter_map(|_| pool.take(ALIGNMENT)).collect();
        for index in [0, 2, 1] {
            pool.give_back(blocks[index]);
        }
        assert_eq!(pool.take(3 * ALIGNMENT).map(|b| b.offset), Some(0));
    }

    #[test]
    fn the_tightest_range_is_used() {
        let mut pool = Pool::default();
        pool.add("wide", 8 * ALIGNMENT);
        pool.add("tight", 2 * ALIGNMENT);
        let block = pool.take(2 * ALIGNMENT).expect("it fits both");
        assert_eq!(pool.storage(block), Some(&"tight"));
    }

    #[test]
    fn trimming_keeps_segments_in_use_and_indices_valid() {
        let mut pool = Pool::default();
        pool.add("free", ALIGNMENT);
        pool.add("used", 2 * ALIGNMENT);
        let used = pool.take(2 * ALIGNMENT).expect("it fits the second");
        assert_eq!(pool.trim(), ["free"]);
        assert_eq!(pool.storage(used), Some(&"used"));
        pool.give_back(used);
        assert_eq!(pool.trim(), ["used"]);
    }
}
