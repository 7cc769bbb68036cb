//! The path as a bounded number of parts, regardless of the length of the recording.

use super::super::Cause;
use super::tally::ItemId;

/// With more parts than this, they are merged.
const MAX_PARTS: usize = 1 << 16;

/// A part of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::run) struct Part {
    pub begin: u64,
    pub end: u64,
    pub cause: Cause,
    pub item: ItemId,
}

/// Collects consecutive parts without gaps.
#[derive(Default)]
pub(in crate::run) struct Parts {
    parts: Vec<Part>,
    /// Parts shorter than this may have been merged.
    grain: u64,
}

impl Parts {
    pub(in crate::run) fn add(&mut self, part: Part) {
        if let Some(last) = self.parts.last_mut()
            && last.cause == part.cause
            && last.item == part.item
        {
            last.end = part.end;
            return;
        }
        self.parts.push(part);
        if self.parts.len() > MAX_PARTS {
            self.grain = (self.grain * 2).max(part.end / MAX_PARTS as u64).max(1);
            self.parts = merge_short(&self.parts, self.grain);
        }
    }

    pub(in crate::run) fn done(self) -> Vec<Part> {
        self.parts
    }
}

/// The same path with at most `most` parts.
pub(in crate::run) fn at_most(most: usize, parts: &[Part]) -> Vec<Part> {
    let length = parts.last().map_or(0, |part| part.end);
    let mut grain = (2 * length / most.max(1) as u64).max(1);
    let mut result = parts.to_vec();
    while result.len() > most {
        result = merge_short(&result, grain);
        grain *= 2;
    }
    result
}

/// Merges neighbors that are shorter than `grain`; the result has the cause and item with
/// the most time.
fn merge_short(parts: &[Part], grain: u64) -> Vec<Part> {
    let mut result: Vec<Part> = Vec::new();
    let mut add = |part: Part| match result.last_mut() {
        Some(last) if last.cause == part.cause && last.item == part.item => last.end = part.end,
        _ => result.push(part),
    };
    let mut from = 0;
    for (at, part) in parts.iter().enumerate() {
        if part.end - part.begin >= grain {
            if from < at {
                add(merged(&parts[from..at]));
            }
            add(*part);
            from = at + 1;
        } else if part.end - parts[from].begin >= grain {
            add(merged(&parts[from..=at]));
            from = at + 1;
        }
    }
    if from < parts.len() {
        add(merged(&parts[from..]));
    }
    result
}

fn merged(parts: &[Part]) -> Part {
    let mut sums: Vec<(Cause, ItemId, u64)> = Vec::new();
    for part in parts {
        let length = part.end - part.begin;
        let same = |sum: &&mut (Cause, ItemId, u64)| sum.0 == part.cause && sum.1 == part.item;
        match sums.iter_mut().find(same) {
            Some(sum) => sum.2 += length,
            None => sums.push((part.cause, part.item, length)),
        }
    }
    let most = sums.iter().max_by_key(|sum| sum.2);
    let (cause, item) = most.map_or((Cause::Unexplained, ItemId(0)), |sum| (sum.0, sum.1));
    Part {
        begin: parts[0].begin,
        end: parts[parts.len() - 1].end,
        cause,
        item,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_stays_a_line_with_few_parts() {
        let mut parts = Parts::default();
        let mut end = 0;
        for i in 0..1_000_000u64 {
            let begin = end;
            end += if i == 500_000 { 1_000_000 } else { 1 + i % 7 };
            parts.add(Part {
                begin,
                end,
                cause: Cause::ALL[(i % 3) as usize],
                item: ItemId((i % 5) as u32),
            });
        }
        let parts = parts.done();
        assert!(parts.len() <= MAX_PARTS + 1);
        for parts in [at_most(100, &parts), parts] {
            assert_eq!((parts[0].begin, parts[parts.len() - 1].end), (0, end));
            assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].begin));
            assert!(parts.iter().any(|part| part.end - part.begin >= 1_000_000));
        }
    }

    #[test]
    fn few_parts_stay_unchanged() {
        let part = |begin, end, item| Part {
            begin,
            end,
            cause: Cause::Idle,
            item: ItemId(item),
        };
        let mut parts = Parts::default();
        for add in [part(0, 3, 1), part(3, 4, 1), part(4, 9, 2)] {
            parts.add(add);
        }
        let parts = parts.done();
        assert_eq!(parts, [part(0, 4, 1), part(4, 9, 2)]);
        assert_eq!(at_most(2, &parts), parts);
        assert_eq!(at_most(1, &parts), [part(0, 9, 2)]);
    }
}
