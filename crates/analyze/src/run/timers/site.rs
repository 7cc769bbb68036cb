//! The lines that a region belongs to.
//!
//! Programs often read clocks in a helper: a decorator, a context manager, `tic()` and
//! `toc()`. Such a region belongs to the lines that use the helper. Readings in two
//! functions are in a helper if one function calls both; readings in one function are if it
//! is called from several lines.

use super::frames::Frame;
use super::regions::Region;

/// The number of helper frames in the two readings of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::run) struct Site {
    from: usize,
    to: usize,
}

impl Region {
    /// The line that begins the region, in the code that uses the helper.
    pub(in crate::run) fn begins(&self) -> &Frame {
        &self.from[self.site.from.min(self.from.len() - 1)]
    }

    /// The line that ends the region.
    pub(in crate::run) fn ends(&self) -> &Frame {
        &self.key.to[self.site.to.min(self.key.to.len() - 1)]
    }

    /// The lines of the helper that read the clock, if there is one.
    pub(in crate::run) fn helper(&self) -> Option<(&Frame, &Frame)> {
        let any = self.site != Site::default();
        any.then(|| (&self.from[0], &self.key.to[0]))
    }
}

/// Finds the lines that each region belongs to.
pub(super) fn locate(regions: &mut [Region]) {
    for region in regions.iter_mut() {
        region.site = common_function(&region.from, &region.key.to);
    }
    // A helper may be used by another helper.
    let deepest = regions.iter().map(|region| region.from.len()).max();
    for _ in 1..deepest.unwrap_or(0) {
        let callers: Vec<bool> = (regions.iter())
            .map(|region| {
                let same = |other: &&Region| {
                    other.begins() == region.begins() && other.ends() == region.ends()
                };
                let mut others = regions.iter().filter(same);
                others.any(|other| caller(other) != caller(region)) && caller(region).is_some()
            })
            .collect();
        for (region, has_callers) in regions.iter_mut().zip(callers) {
            if has_callers {
                region.site.from += 1;
                region.site.to += 1;
            }
        }
    }
}

/// The two lines that call the current location of the region.
fn caller(region: &Region) -> Option<(&Frame, &Frame)> {
    let from = region.from.get(region.site.from + 1)?;
    let to = region.key.to.get(region.site.to + 1)?;
    Some((from, to))
}

/// The innermost function common to both readings; their own lines if there is none.
fn common_function(from: &[Frame], to: &[Frame]) -> Site {
    let common = |site: &Site| {
        let (begin, end) = (&from[site.from], &to[site.to]);
        let callers = from[site.from + 1..].iter().zip(&to[site.to + 1..]);
        (&begin.file, &begin.function) == (&end.file, &end.function)
            && callers.into_iter().all(|(a, b)| a == b)
    };
    let mut sites: Vec<Site> = (0..from.len())
        .flat_map(|from| (0..to.len()).map(move |to| Site { from, to }))
        .collect();
    sites.sort_by_key(|site| site.from + site.to);
    sites.into_iter().find(common).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::super::trace::Clock;
    use super::super::regions::Key;
    use super::*;

    /// Frames as (line, function).
    fn frames(all: &[(u32, &str)]) -> Vec<Frame> {
        (all.iter())
            .map(|(line, function)| Frame {
                file: "a.py".into(),
                line: *line,
                function: (*function).into(),
            })
            .collect()
    }

    fn region(from: &[(u32, &str)], to: &[(u32, &str)]) -> Region {
        Region {
            key: Key {
                to: frames(to),
                clock: Clock::Time,
                from: None,
            },
            from: frames(from),
            site: Site::default(),
            known: true,
            body: None,
            code: None,
            executions: Vec::new(),
        }
    }

    /// The lines of each region, and whether they use a helper.
    fn located(mut regions: Vec<Region>) -> Vec<(u32, u32, bool)> {
        locate(&mut regions);
        (regions.iter())
            .map(|region| {
                let (from, to) = (region.begins().line, region.ends().line);
                (from, to, region.helper().is_some())
            })
            .collect()
    }

    const MODULE: &str = "<module>";

    #[test]
    fn a_function_that_is_called_from_one_line_times_itself() {
        let main = region(&[(3, "main"), (9, MODULE)], &[(5, "main"), (9, MODULE)]);
        assert_eq!(located(vec![main]), [(3, 5, false)]);
    }

    #[test]
    fn a_decorator_belongs_to_the_lines_that_call_what_it_wraps() {
        let wrapper = |line| {
            region(
                &[(3, "wrapper"), (line, MODULE)],
                &[(5, "wrapper"), (line, MODULE)],
            )
        };
        let found = located(vec![wrapper(20), wrapper(21)]);
        assert_eq!(found, [(20, 20, true), (21, 21, true)]);
    }

    #[test]
    fn a_context_manager_belongs_to_its_block() {
        let timer = |line| {
            region(
                &[(3, "__enter__"), (line, MODULE)],
                &[(5, "__exit__"), (line, MODULE)],
            )
        };
        assert_eq!(located(vec![timer(20)]), [(20, 20, true)]);
        let both = located(vec![timer(20), timer(24)]);
        assert_eq!(both, [(20, 20, true), (24, 24, true)]);
    }

    #[test]
    fn two_helpers_belong_to_the_lines_that_call_them() {
        let timed = region(&[(3, "tic"), (20, "run")], &[(6, "toc"), (22, "run")]);
        assert_eq!(located(vec![timed]), [(20, 22, true)]);
        // Only the begin is in a helper.
        let timed = region(&[(3, "__init__"), (20, MODULE)], &[(25, MODULE)]);
        assert_eq!(located(vec![timed]), [(20, 25, true)]);
    }

    #[test]
    fn a_helper_of_a_helper_is_skipped() {
        let measured = |line| {
            region(
                &[(3, "tic"), (12, "measure"), (line, MODULE)],
                &[(6, "toc"), (14, "measure"), (line, MODULE)],
            )
        };
        assert_eq!(located(vec![measured(30)]), [(12, 14, true)]);
        let both = located(vec![measured(30), measured(31)]);
        assert_eq!(both, [(30, 30, true), (31, 31, true)]);
    }

    #[test]
    fn functions_that_nothing_calls_together_keep_their_lines() {
        let native = region(&[(3, "begin")], &[(6, "end")]);
        assert_eq!(located(vec![native]), [(3, 6, false)]);
    }
}
