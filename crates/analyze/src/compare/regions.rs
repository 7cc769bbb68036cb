//! Compares the first execution of regions that both programs time themselves.
//!
//! In a changed program, lines have moved. Where both sides time the same regions in the
//! same order (in the same functions, over as many lines, with the same clocks), they are
//! paired in that order. Otherwise regions with the same source text are paired in their
//! order, and the others by name.

use preheat_model::Quantity;

use super::Compared;
use super::Unit;
use super::counted_starts::Counted;
use super::measure::{By, Samples};
use crate::run::{RegionReport, RunReport};

/// The regions that both sides have. If the iterations of the sides are not `alike`, one of the
/// regions stands for the first iteration ([`in_place_of_first`]).
pub(super) fn regions(
    (base, of_base): (&RunReport, &Counted),
    (new, of_new): (&RunReport, &Counted),
    alike: bool,
) -> Vec<Samples> {
    let pairs = pairs(&timed(base), &timed(new));
    let first = best(&pairs).filter(|_| !alike);
    let samples = pairs
        .into_iter()
        .enumerate()
        .map(|(at, (was, is))| Samples {
            id: if first == Some(at) {
                Quantity::First.into()
            } else {
                Compared::Region
            },
            name: name(was, is).into(),
            unit: Unit::Seconds,
            of: None,
            base: firsts(was, base, of_base),
            new: firsts(is, new, of_new),
            by: By::Factor,
        });
    samples
        .filter(|samples| !samples.base.is_empty() && !samples.new.is_empty())
        .collect()
}

/// The display name: `train.py:17–23`, `train.py:17–23 → 22–28`.
fn name(was: &RegionReport, is: &RegionReport) -> String {
    match (was.file_and_lines(), is.file_and_lines()) {
        _ if was.name == is.name => was.name.clone(),
        (Some((file, _)), Some((same, lines))) if file == same => {
            format!("{} → {lines}", was.name)
        }
        _ => format!("{} → {}", was.name, is.name),
    }
}

/// The region of both sides that stands for the first iteration where iterations are not
/// comparable.
pub(super) fn in_place_of_first<'a>(
    base: &'a RunReport,
    new: &'a RunReport,
) -> Option<(&'a RegionReport, &'a RegionReport)> {
    let pairs = pairs(&timed(base), &timed(new));
    best(&pairs).map(|at| pairs[at])
}

/// The first pair whose executions are the iterations of a side; otherwise of those that are
/// repeated on both sides, or else of all, the pair that takes longest.
fn best(pairs: &[(&RegionReport, &RegionReport)]) -> Option<usize> {
    let iterates = |(was, is): &(&RegionReport, &RegionReport)| was.iterates || is.iterates;
    let weight = |at: &usize| {
        let (was, is) = pairs[*at];
        (was.count.min(is.count) > 1, was.first.value)
    };
    pairs.iter().position(iterates).or_else(|| {
        (0..pairs.len()).max_by(|a, b| {
            let ((often_a, time_a), (often_b, time_b)) = (weight(a), weight(b));
            often_a.cmp(&often_b).then(time_a.total_cmp(&time_b))
        })
    })
}

/// The pairs of regions of which at least one side iterates.
pub(super) fn iterating_pairs<'a>(
    base: &'a RunReport,
    new: &'a RunReport,
) -> Vec<(&'a RegionReport, &'a RegionReport)> {
    let mut pairs = pairs(&timed(base), &timed(new));
    pairs.retain(|(was, is)| was.iterates || is.iterates);
    pairs
}

/// The names of the regions that only one side has: base, new.
pub(super) fn unpaired(base: &RunReport, new: &RunReport) -> [Vec<String>; 2] {
    let (base, new) = (timed(base), timed(new));
    let pairs = pairs(&base, &new);
    let names = |all: &[&RegionReport], paired: Vec<&RegionReport>| -> Vec<String> {
        let alone =
            (all.iter()).filter(|one| !paired.iter().any(|other| std::ptr::eq(**one, *other)));
        alone.map(|one| one.name.clone()).collect()
    };
    [
        names(&base, pairs.iter().map(|pair| pair.0).collect()),
        names(&new, pairs.iter().map(|pair| pair.1).collect()),
    ]
}

/// The regions that were timed with a clock, in each start.
fn timed(report: &RunReport) -> Vec<&RegionReport> {
    let all = report.regions.iter();
    all.filter(|region| region.clock.is_some() && !region.firsts.is_empty())
        .collect()
}

fn pairs<'a, 'b>(
    base: &[&'a RegionReport],
    new: &[&'b RegionReport],
) -> Vec<(&'a RegionReport, &'b RegionReport)> {
    let shape = |region: &&RegionReport| {
        let lines = region.to.zip(region.from);
        let lines = lines.map(|(to, from)| i64::from(to) - i64::from(from));
        (region.function.clone(), lines, region.clock)
    };
    if base.iter().map(shape).eq(new.iter().map(shape)) {
        return base.iter().copied().zip(new.iter().copied()).collect();
    }
    let mut rest: Vec<Option<&RegionReport>> = new.iter().copied().map(Some).collect();
    let mut take = |same: &dyn Fn(&RegionReport) -> bool| {
        let found = rest.iter_mut().find(|is| is.is_some_and(same))?;
        found.take()
    };
    let mut found: Vec<Option<&RegionReport>> = (base.iter())
        .map(|was| {
            let code = (was.code, was.clock);
            take(&|is| was.code.is_some() && (is.code, is.clock) == code)
        })
        .collect();
    for (was, found) in base.iter().zip(&mut found) {
        let same = |is: &RegionReport| is.name == was.name;
        *found = found.or_else(|| take(&same));
    }
    let pairs = base.iter().zip(found);
    pairs
        .filter_map(|(was, found)| Some((*was, found?)))
        .collect()
}

/// The first execution in each start that counts.
fn firsts(region: &RegionReport, report: &RunReport, counted: &Counted) -> Vec<f64> {
    let starts = report.starts.iter().zip(&region.firsts);
    starts
        .filter(|(start, _)| {
            counted
                .starts
                .iter()
                .any(|other| std::ptr::eq(*other, *start))
        })
        .filter_map(|(_, first)| *first)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::trace::Clock;
    use crate::stats::Estimate;

    fn region(file: &str, from: u32, to: u32) -> RegionReport {
        RegionReport {
            name: format!("{file}:{from}–{to}"),
            file: Some(file.to_owned()),
            from: Some(from),
            to: Some(to),
            function: Some("<module>".to_owned()),
            helper: None,
            clock: Some(Clock::Time),
            count: 1,
            first: Estimate {
                value: 1.0,
                low: None,
                high: None,
            },
            second: None,
            best: None,
            ratio: None,
            causes: Vec::new(),
            second_causes: Vec::new(),
            unfinished: None,
            firsts: vec![Some(1.0)],
            paired_by_order: false,
            around: None,
            iterates: false,
            code: None,
            repeats: None,
        }
    }

    fn paired(base: &[RegionReport], new: &[RegionReport]) -> Vec<(u32, u32)> {
        let (base, new): (Vec<_>, Vec<_>) = (base.iter().collect(), new.iter().collect());
        let pairs = pairs(&base, &new);
        let from = |region: &RegionReport| region.from.unwrap();
        pairs
            .iter()
            .map(|(was, is)| (from(was), from(is)))
            .collect()
    }

    #[test]
    fn regions_are_paired_by_order_where_lines_have_moved() {
        let base = [region("a.py", 14, 16), region("a.py", 18, 20)];
        // Four lines further down, the first region is where the second was.
        let moved = [region("a.py", 18, 20), region("a.py", 22, 24)];
        assert_eq!(paired(&base, &moved), [(14, 18), (18, 22)]);
        assert_eq!(name(&base[0], &moved[0]), "a.py:14–16 → 18–20");
        assert_eq!(name(&base[0], &base[0]), "a.py:14–16");
        let renamed = [region("b.py", 14, 16), region("b.py", 18, 20)];
        assert_eq!(paired(&base, &renamed), [(14, 14), (18, 18)]);
        assert_eq!(name(&base[0], &renamed[0]), "a.py:14–16 → b.py:14–16");
    }

    #[test]
    fn other_regions_are_paired_by_name() {
        let base = [region("a.py", 14, 16), region("a.py", 18, 20)];
        let more = [
            region("a.py", 5, 9),
            region("a.py", 14, 16),
            region("a.py", 30, 32),
        ];
        assert_eq!(paired(&base, &more), [(14, 14)]);
    }

    #[test]
    fn regions_with_the_same_text_are_paired_wherever_they_are() {
        let coded = |from, to, code| RegionReport {
            code: Some(code),
            ..region("a.py", from, to)
        };
        let base = [coded(14, 16, 7), coded(18, 20, 8)];
        // A region before them, and one where another was.
        let new = [coded(5, 6, 9), coded(18, 19, 7), coded(14, 16, 8)];
        assert_eq!(paired(&base, &new), [(14, 18), (18, 14)]);
        // The text of the first was changed.
        let changed = [coded(14, 16, 9), coded(30, 31, 9), coded(40, 42, 8)];
        assert_eq!(paired(&base, &changed), [(14, 14), (18, 40)]);
        // Equal texts keep their order.
        let twice = [coded(1, 2, 7), coded(3, 4, 7)];
        let later = [coded(10, 11, 6), coded(12, 13, 7), coded(15, 16, 7)];
        assert_eq!(paired(&twice, &later), [(1, 12), (3, 15)]);
    }

    #[test]
    fn no_regions_have_no_pairs() {
        let base = [region("a.py", 14, 16)];
        assert!(paired(&base, &[]).is_empty());
    }
}
