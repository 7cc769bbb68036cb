//! Address ranges, to distinguish device memory from host memory.

/// A set of address ranges. Freed ranges stay: host and device share one address space, so
/// an address never changes sides.
#[derive(Default)]
pub(super) struct Ranges {
    /// Begin and end of each range; sorted and disjoint after `sort`.
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    pub(super) fn add(&mut self, first: u64, bytes: u64) {
        if first == 0 || bytes == 0 {
            return;
        }
        let range = (first, first.saturating_add(bytes));
        // Allocators often return the same address again.
        if self.ranges.last() != Some(&range) {
            self.ranges.push(range);
        }
    }

    /// Must be called after the last `add`.
    pub(super) fn sort(&mut self) {
        self.ranges.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::new();
        for range in &self.ranges {
            match apart.last_mut() {
                Some(last) if range.0 <= last.1 => last.1 = last.1.max(range.1),
                _ => apart.push(*range),
            }
        }
        self.ranges = apart;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns true if one of the ranges contains the address.
    pub(super) fn holds(&self, address: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.0 <= address);
        after > 0 && address < self.ranges[after - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_their_addresses_and_no_others() {
        let mut ranges = Ranges::default();
        for (first, bytes) in [(100, 10), (200, 5), (105, 20), (0, 50), (300, 0)] {
            ranges.add(first, bytes);
        }
        ranges.sort();
        assert_eq!(ranges.ranges, [(100, 125), (200, 205)]);
        for (address, expected) in [
            (0, false),
            (99, false),
            (100, true),
            (124, true),
            (125, false),
            (204, true),
            (205, false),
            (300, false),
        ] {
            assert_eq!(ranges.holds(address), expected, "{address}");
        }
    }
}
