//! Selects the starts that count, in the same way for run reports, checks and comparisons.

use super::{StartReport, Temperature};

/// Plausible times to the end of a program, in seconds.
const PLAUSIBLE_SECONDS: std::ops::Range<f64> = 1e-9..1e9;

/// The counted starts of one temperature.
pub(crate) struct Counted<'a> {
    /// The starts, in chronological order.
    pub starts: Vec<&'a StartReport>,
    /// Their indices among all starts.
    pub places: Vec<usize>,
    /// True if they reached their first iteration. If no start of the temperature did, its
    /// starts count by their total time.
    pub recorded: bool,
}

/// The counted starts of a temperature: those that reached their first iteration. A failed
/// start counts only if it reached an iteration, or if there is no other; a start with a
/// damaged recording counts only if there is no other. The very first start may have found
/// cold disks and caches: it counts only if it is the only one.
pub(crate) fn counted(all: &[StartReport], temperature: Temperature) -> Counted<'_> {
    let places = |came: fn(&StartReport) -> bool| -> Vec<usize> {
        let of = |at: &usize| all[*at].temperature == temperature && came(&all[*at]);
        (0..all.len()).filter(of).collect()
    };
    let mut found = places(came_to_first);
    let recorded = !found.is_empty();
    if !recorded {
        found = places(|start| PLAUSIBLE_SECONDS.contains(&start.wall));
    }
    let good = |at: &usize| all[*at].exit_code == 0 || !all[*at].iterations.is_empty();
    if found.iter().any(good) {
        found.retain(good);
    }
    let whole = |at: &usize| !all[*at].damaged;
    if found.iter().any(whole) {
        found.retain(whole);
    }
    if found.len() > 1 {
        found.retain(|at| !all[*at].first_start);
    }
    Counted {
        starts: found.iter().map(|at| &all[*at]).collect(),
        places: found,
        recorded,
    }
}

/// The temperatures in a report, warmest first: those at which a start reached its first
/// iteration, or all if none did.
pub(crate) fn temperatures(all: &[StartReport]) -> Vec<Temperature> {
    let any = all.iter().any(came_to_first);
    let listed = all.iter().filter(|start| !any || came_to_first(start));
    let mut found: Vec<Temperature> = listed.map(|start| start.temperature).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The temperature of the headline numbers.
pub(crate) fn warmest(all: &[StartReport]) -> Option<Temperature> {
    temperatures(all).first().copied()
}

fn came_to_first(start: &StartReport) -> bool {
    start
        .time_to_first
        .is_some_and(|time| time > 0.0 && time.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts by (temperature, exit code, time to first, number of iterations).
    fn starts(all: &[(Temperature, i32, Option<f64>, usize)]) -> Vec<StartReport> {
        let each = all.iter().enumerate();
        each.map(
            |(at, (temperature, exit_code, time, iterations))| StartReport {
                temperature: *temperature,
                first_start: at == 0 && all.len() > 1,
                exit_code: *exit_code,
                time_to_first: *time,
                wall: 5.0,
                causes: Vec::new(),
                iterations: vec![0.1; *iterations],
                peak_resident: 0,
                peak_device: None,
                evicted: None,
                damaged: false,
            },
        )
        .collect()
    }

    const WARM: Temperature = Temperature::Process;
    const COLD: Temperature = Temperature::Disk;

    #[test]
    fn the_first_and_those_that_failed_early_are_left_out() {
        let all = starts(&[
            (WARM, 0, Some(1.0), 3),
            (WARM, 0, Some(1.0), 3),
            (WARM, 1, Some(1.0), 0),
            (WARM, 1, Some(1.0), 2),
            (WARM, 0, None, 0),
            (COLD, 0, Some(2.0), 3),
        ]);
        let found = counted(&all, WARM);
        assert_eq!((found.places, found.recorded), (vec![1, 3], true));
        assert_eq!(counted(&all, COLD).places, [5]);
        assert_eq!(temperatures(&all), [WARM, COLD]);
    }

    #[test]
    fn damaged_starts_count_only_if_all_are_damaged() {
        let mut all = starts(&[(WARM, 0, Some(1.0), 3); 4]);
        all[2].damaged = true;
        assert_eq!(counted(&all, WARM).places, [1, 3]);
        all.iter_mut().for_each(|start| start.damaged = true);
        assert_eq!(counted(&all, WARM).places, [1, 2, 3]);
    }

    #[test]
    fn a_start_without_alternative_counts() {
        let all = starts(&[(WARM, 0, Some(1.0), 3)]);
        assert_eq!(counted(&all, WARM).places, [0]);
        assert!(counted(&all, COLD).starts.is_empty());
        let failed = starts(&[(WARM, 1, Some(1.0), 0), (WARM, 2, Some(1.0), 0)]);
        assert_eq!(counted(&failed, WARM).places, [1]);
        let bare = starts(&[(WARM, 0, None, 0), (WARM, 0, Some(f64::INFINITY), 0)]);
        let found = counted(&bare, WARM);
        assert_eq!((found.places, found.recorded), (vec![1], false));
        assert_eq!((warmest(&bare), warmest(&[])), (Some(WARM), None));
    }

    #[test]
    fn the_warmest_is_one_at_which_something_was_recorded() {
        let all = starts(&[(WARM, 0, None, 0), (COLD, 0, Some(1.0), 1)]);
        assert_eq!(warmest(&all), Some(COLD));
    }
}
