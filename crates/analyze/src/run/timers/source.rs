//! Which clock readings a source file subtracts from each other.
//!
//! `start = time.time()` on one line and `time.time() - start` on another make a region;
//! so do `auto t0 = steady_clock::now()` and `t1 - t0`. This is a search in lines of text,
//! not a parser: it needs to understand only assignments and differences, and does so in
//! Python and C++ alike. Readings that it does not understand are not part of any region.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

/// The clock readings of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceTimers {
    /// A line whose reading is subtracted from that of another line: (earlier, later).
    pub differences: Vec<(u32, u32)>,
    /// Lines that return a reading.
    pub returns: Vec<u32>,
}

/// A variable or a field of one: `start`, `self.start`, `timer->begin`.
const NAME: &str = r"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*|\[[^\[\]]*\])*";

/// `start = …`, `auto start = …`, `start: float = …`.
static ASSIGNED: LazyLock<Regex> =
    LazyLock::new(|| expression(r"^\s*(?:(?:[\w<>,*& ]|::)+[ *&])?(NAME)\s*(?::[^=]+)?=([^=].*)$"));
/// `clock_gettime(CLOCK_MONOTONIC, &start)`, `gettimeofday(&start, NULL)`.
static FILLED: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?:clock_gettime|gettimeofday)\s*\(.*&\s*(NAME)"));
/// `time.time() - start`.
static READING_LESS: LazyLock<Regex> =
    LazyLock::new(|| expression(r"\)\s*-\s*(NAME)(?:\s*\(|\b)?"));
/// `end - start`, also of fields of C's structures.
static LESS: LazyLock<Regex> = LazyLock::new(|| expression(r"(NAME)\s*-\s*(NAME)"));
/// `last = now`.
static COPIED: LazyLock<Regex> = LazyLock::new(|| {
    expression(r"^\s*(?:(?:[\w<>,*& ]|::)+[ *&])?(NAME)\s*=\s*(NAME)\s*;?\s*(?:#.*|//.*)?$")
});
/// `times.append(time.time())`: the differences of neighbours are what is wanted.
static COLLECTED: LazyLock<Regex> = LazyLock::new(|| expression(r"\.(?:append|push_back)\s*\("));
static RETURNED: LazyLock<Regex> = LazyLock::new(|| expression(r"^\s*return\b"));

fn expression(pattern: &str) -> Regex {
    // The patterns are constants, and a test runs all of them.
    #[expect(clippy::unwrap_used, reason = "a constant")]
    Regex::new(&pattern.replace("NAME", NAME)).unwrap()
}

/// Finds which of the readings on `lines` (from 1) a source subtracts.
pub fn timers_in(source: &str, lines: &[u32]) -> SourceTimers {
    let texts: Vec<&str> = source.lines().collect();
    let mut found = Found::default();
    for &line in lines {
        let index = (line as usize).checked_sub(1);
        if let Some(text) = index.and_then(|index| texts.get(index)) {
            found.reading(line, text);
        }
    }
    // A copy may be of a copy.
    for _ in 0..2 {
        for text in &texts {
            found.copy(text);
        }
    }
    for text in &texts {
        for names in LESS.captures_iter(text) {
            let (later, earlier) = (field(&names, 1), field(&names, 2));
            found.subtracted(&later, &earlier);
        }
    }
    found.close();
    SourceTimers {
        differences: found.differences.into_iter().collect(),
        returns: found.returns,
    }
}

/// A name without the field of a C structure that holds a time.
fn field(names: &Captures, at: usize) -> String {
    let name = names.get(at).map_or("", |found| found.as_str());
    let ends = [".tv_sec", ".tv_nsec", ".tv_usec"];
    let end = ends.iter().find_map(|end| name.strip_suffix(end));
    end.unwrap_or(name).to_owned()
}

#[derive(Default)]
struct Found {
    /// By variable: the lines of the readings that it holds.
    variables: BTreeMap<String, BTreeSet<u32>>,
    /// A reading from which a variable is subtracted at once.
    closing: Vec<(u32, String)>,
    differences: BTreeSet<(u32, u32)>,
    returns: Vec<u32>,
}

impl Found {
    /// A line that reads a clock.
    fn reading(&mut self, line: u32, text: &str) {
        let subtracted: Vec<String> = (READING_LESS.captures_iter(text))
            .map(|names| field(&names, 1))
            .collect();
        if !subtracted.is_empty() {
            self.closing
                .extend(subtracted.into_iter().map(|name| (line, name)));
        } else if COLLECTED.is_match(text) {
            self.differences.insert((line, line));
        } else if RETURNED.is_match(text) {
            self.returns.push(line);
        } else if let Some(names) = FILLED.captures(text).or_else(|| ASSIGNED.captures(text)) {
            let lines = self.variables.entry(field(&names, 1)).or_default();
            lines.insert(line);
        }
    }

    fn copy(&mut self, text: &str) {
        if let Some(names) = COPIED.captures(text)
            && let Some(lines) = self.variables.get(&field(&names, 2))
        {
            let lines = lines.clone();
            let target = self.variables.entry(field(&names, 1)).or_default();
            target.extend(lines);
        }
    }

    fn subtracted(&mut self, later: &str, earlier: &str) {
        let ends = self.variables.get(later).cloned().unwrap_or_default();
        for to in ends {
            self.ends(to, earlier);
        }
    }

    fn close(&mut self) {
        for (to, name) in std::mem::take(&mut self.closing) {
            self.ends(to, &name);
        }
    }

    /// The variable is subtracted from the reading of line `to`: it was assigned on the
    /// nearest line before, or, in a loop, on the nearest one after.
    fn ends(&mut self, to: u32, variable: &str) {
        let Some(lines) = self.variables.get(variable) else {
            return;
        };
        let before = lines.range(..to).next_back();
        let after = lines.range(to..).next();
        for from in before.into_iter().chain(after) {
            self.differences.insert((*from, to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that read a clock are those that end with a mark.
    fn found(source: &str) -> SourceTimers {
        let marked = source.lines().enumerate();
        let lines: Vec<u32> = marked
            .filter(|(_, text)| text.contains("()"))
            .map(|(at, _)| at as u32 + 1)
            .collect();
        timers_in(source, &lines)
    }

    #[test]
    fn a_reading_less_a_variable_is_a_region() {
        let source = "start = time.time()\nwork\nprint(f'{time.time() - start:.4f}')\n";
        assert_eq!(found(source).differences, [(1, 3)]);
        let source = "t0: float = perf_counter()\nx = (perf_counter() - t0) * 1000\n";
        assert_eq!(found(source).differences, [(1, 2)]);
    }

    #[test]
    fn two_variables_are_subtracted_anywhere() {
        let source = "start = time()\nwork\nend = time()\nelapsed = end - start\n";
        assert_eq!(found(source).differences, [(1, 3)]);
        let source = "  self.t0 = time()\n  self.t1 = time()\n  return self.t1 - self.t0\n";
        assert_eq!(found(source).differences, [(1, 2)]);
    }

    #[test]
    fn the_same_names_used_twice_belong_to_their_neighbours() {
        let source = "s = t()\ne = t()\nprint(e - s)\ns = t()\ne = t()\nprint(e - s)\n";
        assert_eq!(found(source).differences, [(1, 2), (4, 2), (4, 5)]);
    }

    #[test]
    fn a_rolling_timer_ends_one_region_and_begins_the_next() {
        let source =
            "last = time()\nfor _ in x:\n  now = time()\n  dt = now - last\n  last = now\n";
        assert_eq!(found(source).differences, [(1, 3), (3, 3)]);
    }

    #[test]
    fn readings_in_a_list_are_subtracted_from_their_neighbours() {
        assert_eq!(
            found("for x in y:\n  times.append(time())\n").differences,
            [(2, 2)]
        );
    }

    #[test]
    fn cpp_and_c_are_understood_too() {
        let source = "auto t0 = std::chrono::steady_clock::now();\nlaunch;\n\
                      const auto t1 = steady_clock::now();\n\
                      std::chrono::duration<double> seconds = t1 - t0;\n";
        assert_eq!(found(source).differences, [(1, 3)]);
        let source = "std::chrono::time_point<Clock> begin = Clock::now();\n\
                      print(duration<double>(Clock::now() - begin).count());\n";
        assert_eq!(found(source).differences, [(1, 2)]);
        let source = "clock_gettime(CLOCK_MONOTONIC, &a);\nwork();\n\
                      clock_gettime(CLOCK_MONOTONIC, &b);\n\
                      s = (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec);\n";
        assert_eq!(timers_in(source, &[1, 3]).differences, [(1, 3)]);
    }

    #[test]
    fn a_function_that_returns_a_reading_passes_it_on() {
        let source = "def now():\n    return time.time()\n";
        assert_eq!(found(source).returns, [2]);
        assert_eq!(found(source).differences, []);
    }

    #[test]
    fn anything_else_yields_nothing() {
        for source in [
            "",
            "while time() < until:",
            "= = ()\n- ()",
            "x = \u{e9}() - \u{e9}",
        ] {
            assert_eq!(found(source).differences, [], "{source}");
        }
        assert_eq!(timers_in("a = t()", &[0, 7]), SourceTimers::default());
    }
}
