//! Readings that a function returns.

use std::collections::BTreeSet;

use super::super::statements::*;
use super::{Readings, Site};

impl Readings {
    /// Pairs the readings that a function returns together, as in `return start, end`: each
    /// with the one before it. The callers may use the same two names for every call, so the
    /// lines that call the function do not show which readings belong to one call.
    pub(super) fn pair_returned_together(&mut self, texts: &[&str]) {
        for (at, text) in texts.iter().enumerate() {
            let line = at as u32 + 1;
            for (number, statement) in statements(text).into_iter().enumerate() {
                if RETURNED.is_match(statement) {
                    let site = Site {
                        line,
                        statement: number,
                    };
                    self.pair_returned(site, statement, texts);
                }
            }
        }
    }

    fn pair_returned(&mut self, returned: Site, statement: &str, texts: &[&str]) {
        let last = |sites: &BTreeSet<Site>| sites.range(..returned).next_back().copied();
        let is_here = |site: &Site| is_in_same_function(texts, site.line, returned.line);
        let mut sites: BTreeSet<(Site, &String)> = (self.readings_by_variable.iter())
            .filter(|(variable, _)| passes_on(statement, variable))
            .filter_map(|(variable, sites)| Some((last(sites).filter(is_here)?, variable)))
            .collect();
        // The statement may also make a reading that it returns.
        let itself = "return".to_owned();
        if self.returns.contains(&returned.line) {
            sites.insert((returned, &itself));
        }
        let sites: Vec<(Site, String)> = (sites.into_iter())
            .map(|(site, variable)| (site, variable.clone()))
            .collect();
        for pair in sites.windows(2) {
            let ((from, variable), (to, _)) = (&pair[0], &pair[1]);
            if from.line == to.line {
                self.one_line.insert(to.line);
                let pairs = self.statement_pairs.entry(to.line).or_default();
                pairs.insert((from.statement, to.statement));
            } else {
                let number = self.number(variable);
                let differences = self.differences.entry((from.line, to.line));
                differences.or_insert(number);
            }
            self.returns.retain(|line| *line != to.line);
        }
    }

    /// Adds readings that a variable holds only to be returned, by a helper such as
    /// `clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec;`.
    pub(super) fn add_returned_soon(&mut self, texts: &[&str]) {
        /// The lines after a reading in which it is returned.
        const MAX_LINES_TO_RETURN: usize = 6;
        let is_subtracted = |line: u32| {
            let mut differences = self.differences.keys();
            self.one_line.contains(&line) || differences.any(|(a, b)| *a == line || *b == line)
        };
        let mut returned = Vec::new();
        for (variable, sites) in &self.readings_by_variable {
            for site in sites.iter().filter(|site| !is_subtracted(site.line)) {
                let from = (site.line as usize).saturating_sub(1);
                let near = texts.iter().skip(from).take(MAX_LINES_TO_RETURN);
                let mut returns = near
                    .flat_map(|text| statements(text))
                    .filter(|statement| RETURNED.is_match(statement));
                if returns.any(|statement| passes_on(statement, variable)) {
                    returned.push(site.line);
                }
            }
        }
        self.returns.extend(returned);
        self.returns.sort_unstable();
        self.returns.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{timers_in, timers_in_calls};

    #[test]
    fn a_helper_returns_a_reading() {
        let source = "static double now(void) {\n  struct timespec t;\n  \
                      clock_gettime(CLOCK_MONOTONIC, &t);\n  \
                      return t.tv_sec + 1e-9 * t.tv_nsec;\n}\n";
        let found = timers_in(source, &[3]);
        assert_eq!((found.returns, found.differences), (vec![3], vec![]));
        let source = "double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); \
                      return t.tv_sec + 1e-9 * t.tv_nsec; }\n";
        assert_eq!(timers_in(source, &[1]).returns, [1]);
        // The function itself is timed.
        let source = "  t0 = time()\n  work\n  t1 = time()\n  return t1 - t0\n";
        let found = timers_in(source, &[1, 3]);
        assert_eq!((found.returns, found.differences), (vec![], vec![(1, 3)]));
    }

    #[test]
    fn readings_that_are_returned_together_are_a_region_of_their_function() {
        // Both calls use the same names.
        let source = "def infer():\n    start = time()\n    y = m(x)\n    end = time()\n    \
                      return start, end, y\ns, e, _ = infer()\nprint(e - s)\n\
                      s, e, _ = infer()\nprint(e - s)\n";
        let found = timers_in(source, &[2, 4, 6, 8]);
        assert!(found.differences.contains(&(2, 4)));
        assert!(found.returns.is_empty());
        let source = "def run(n):\n    t = time()\n    a = f(n)\n    return a, t, time()\n";
        let found = timers_in(source, &[2, 4]);
        assert_eq!((found.returns, found.differences), (vec![], vec![(2, 4)]));
        let source = "def run(n): s = time(); f(n); e = time(); return s, e\n";
        let found = timers_in(source, &[1]);
        assert_eq!((found.returns, found.one_line), (vec![], vec![1]));
        // Readings of two functions are not returned together.
        let source = "def f():\n    a = time()\n    return a\n\
                      def g():\n    b = time()\n    return a, b\n";
        let found = timers_in(source, &[2, 5]);
        assert_eq!((found.returns, found.differences), (vec![2, 5], vec![]));
    }

    #[test]
    fn a_function_that_returns_a_reading_passes_it_on() {
        let source = "def now():\n    return time.time()\n";
        assert_eq!(timers_in_calls(source).returns, [2]);
        assert_eq!(timers_in_calls(source).differences, []);
    }
}
