//! The period of a sequence whose end is steady.
//!
//! The prefix function (Knuth, Morris & Pratt 1977) of the reversed sequence gives the
//! smallest period of every suffix in one pass. A program may do something else at its end,
//! so the search is repeated without the last part.

/// The minimum number of repetitions of a period.
const LEAST: usize = 3;
/// A shorter period with fewer repetitions than this is a run within a longer one.
const MANY: usize = 5;
/// A repetition that covers less than one n-th of the sequence is a coincidence.
const OF_ALL: usize = 20;
/// The fractions to omit at the end.
const OMITTED: [(usize, usize); 5] = [(0, 1), (1, 16), (1, 8), (1, 4), (1, 2)];

/// A period and its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// The number of elements that repeat.
    pub length: usize,
    /// The number of elements covered by the repetition.
    pub covered: usize,
    /// The index after the repetition.
    pub end: usize,
}

/// The period that covers the most; none if nothing repeats three times.
pub(super) fn period(sequence: &[u32]) -> Option<Period> {
    let mut best: Option<Period> = None;
    for (part, of) in OMITTED {
        let end = sequence.len() - sequence.len() * part / of;
        // Shorter sequences cannot cover more than the best so far.
        if best.is_some_and(|best| best.covered >= end) {
            break;
        }
        if let Some(found) = at_end(&sequence[..end])
            && best.is_none_or(|best| found.covered > best.covered)
        {
            best = Some(found);
        }
    }
    best.filter(|best| best.covered * OF_ALL >= sequence.len())
}

/// A block that occurs twice at the end of the sequence, if both together cover most of it.
pub(super) fn twice(sequence: &[u32]) -> Option<Period> {
    let n = sequence.len();
    let is_twice = |length: &usize| {
        let (before, last) = sequence[n - 2 * length..].split_at(*length);
        before == last
    };
    let length = (n / 4 + 1..=n / 2).rev().find(is_twice)?;
    Some(Period {
        length,
        covered: 2 * length,
        end: n,
    })
}

/// The period of the last elements.
fn at_end(sequence: &[u32]) -> Option<Period> {
    let n = sequence.len();
    let at = |index: usize| sequence[n - 1 - index];
    // border[i]: the longest proper border of the first i + 1 reversed elements.
    let mut border = vec![0u32; n];
    for i in 1..n {
        let mut k = border[i - 1] as usize;
        while k > 0 && at(i) != at(k) {
            k = border[k - 1] as usize;
        }
        border[i] = (k + usize::from(at(i) == at(k))) as u32;
    }
    // The coverage of each period. Periods only grow with the length.
    let mut candidates: Vec<(usize, usize)> = Vec::new();
    for (i, border) in border.iter().enumerate() {
        let covered = i + 1;
        let length = covered - *border as usize;
        if covered < LEAST * length {
            continue;
        }
        match candidates.last_mut() {
            Some((last, most)) if *last == length => *most = covered,
            _ => candidates.push((length, covered)),
        }
    }
    let most = candidates.iter().map(|candidate| candidate.1).max()?;
    let (length, covered) = *candidates.iter().find(|(length, covered)| {
        *covered == most || (*covered >= most / 4 && *covered >= MANY * length)
    })?;
    Some(Period {
        length,
        covered,
        end: n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Rng;

    fn found(sequence: &[u32]) -> Option<(usize, usize)> {
        period(sequence).map(|period| (period.length, period.covered))
    }

    #[test]
    fn repetitions_at_the_end_are_found() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[1, 2]), None);
        assert_eq!(found(&[1, 1, 1]), Some((1, 3)));
        assert_eq!(found(&[7, 8, 9, 1, 2, 3, 1, 2, 3, 1, 2, 3]), Some((3, 9)));
        assert_eq!(found(&[5, 1, 2, 6, 3]), None);
    }

    #[test]
    fn a_run_within_a_period_is_not_the_period() {
        // A step that ends with one kernel per parameter, for 60 parameters.
        let mut step: Vec<u32> = (0..40).collect();
        step.extend([99; 60]);
        let steps = step.repeat(6);
        assert_eq!(found(&steps), Some((100, 600)));
    }

    #[test]
    fn launches_after_the_loop_do_not_hide_it() {
        let mut sequence: Vec<u32> = (0..10).collect::<Vec<_>>().repeat(50);
        sequence.extend(1000..1020);
        let period = period(&sequence).unwrap();
        assert_eq!(period.length, 10);
        assert!(period.covered >= 450 && period.end <= 500);
    }

    #[test]
    fn steps_within_epochs_are_the_period() {
        let step: Vec<u32> = (0..10).collect();
        let mut epoch = vec![50, 51];
        epoch.extend(step.repeat(40));
        assert_eq!(found(&epoch.repeat(3)).unwrap().0, 10);
    }

    #[test]
    fn a_million_random_launches_have_no_period() {
        let mut rng = Rng::new(1);
        let random: Vec<u32> = (0..5000).map(|_| rng.below(50) as u32).collect();
        assert_eq!(found(&random), None);
        let many: Vec<u32> = (0..1_000_000).map(|i| i % 161).collect();
        assert_eq!(found(&many), Some((161, 1_000_000)));
    }

    #[test]
    fn two_occurrences_are_a_repetition_if_there_is_little_else() {
        let length = |sequence: &[u32]| twice(sequence).map(|found| found.length);
        assert_eq!(length(&[7, 7]), Some(1));
        assert_eq!(length(&[9, 1, 2, 1, 2]), Some(2));
        assert_eq!(length(&[1, 2, 3, 1, 2, 3]), Some(3));
        for other in [&[][..], &[7], &[1, 2], &[1, 2, 3, 4, 5, 5]] {
            assert_eq!(length(other), None, "{other:?}");
        }
    }
}
