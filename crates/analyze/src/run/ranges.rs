//! Ranges of addresses, to tell a device's memory from the host's.

/// Addresses, as ranges. Freed ones stay: an address of the device never becomes one of
/// the host, and the other way round, as both share one space of addresses.
#[derive(Default)]
pub(super) struct Ranges {
    /// First address and the one after the last; in order and apart once sorted.
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    pub(super) fn add(&mut self, first: u64, bytes: u64) {
        if first == 0 || bytes == 0 {
            return;
        }
        let range = (first, first.saturating_add(bytes));
        // Allocators give the same addresses again and again.
        if self.ranges.last() != Some(&range) {
            self.ranges.push(range);
        }
    }

    /// To be called once all are there.
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

    /// Whether one of the ranges holds the address.
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
        for (address, held) in [
            (0, false),
            (99, false),
            (100, true),
            (124, true),
            (125, false),
            (204, true),
            (205, false),
            (300, false),
        ] {
            assert_eq!(ranges.holds(address), held, "{address}");
        }
    }
}
