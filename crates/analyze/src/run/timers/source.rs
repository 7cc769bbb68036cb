//! Finds the clock readings that a source file subtracts from each other.
//!
//! `start = time.time()` on one line and `time.time() - start` on another make a region; so
//! do `auto t0 = steady_clock::now()` and `t1 - t0`. This searches lines of text and is not
//! a parser: it needs to understand only assignments and differences, in Python and C++
//! alike. Readings that it does not understand are not part of any region.

mod lists;
mod one_line;
mod returned;

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Captures;

use super::body::has_slashes;
use super::passing::{Parameter, passed};
use super::statements::*;

/// The clock readings of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceTimers {
    /// Pairs of lines (earlier, later) whose readings are subtracted.
    pub differences: Vec<(u32, u32)>,
    /// The id of the subtracted variable for each difference.
    pub variables: Vec<u32>,
    /// Lines with two readings, where the first is subtracted from the second.
    pub one_line: Vec<u32>,
    /// Lines with several regions that do different work.
    pub unlike: Vec<u32>,
    /// For each such line, the id of each region's text, in order.
    pub within: Vec<(u32, Vec<u32>)>,
    /// Lines with a reading that ends one region and begins another: the regions, each with
    /// the numbers of its two readings among those of the line.
    pub chains: Vec<(u32, Vec<(u32, u32)>)>,
    /// Lines with a condition on the time that has passed, which ends no region.
    pub conditions: Vec<u32>,
    /// Lines that return a reading.
    pub returns: Vec<u32>,
}

/// Begins the name of a field of any object.
const ANY_OBJECT: &str = "*.";

/// Finds the readings on `lines` (counted from 1) that the source of a file subtracts.
pub fn timers_in(file: &str, source: &str, lines: &[u32]) -> SourceTimers {
    let source = with_fields(source);
    let texts: Vec<&str> = source.lines().collect();
    let whole = joined(&texts, has_slashes(file));
    let passed = passed(&whole);
    let mut found = Readings::default();
    for &line in lines {
        let index = (line as usize).checked_sub(1);
        let from = index.and_then(|index| texts.get(index..));
        if let Some([text, rest @ ..]) = from {
            match CLASS.is_match(text) {
                true => found.add_class(line, text, rest),
                false => found.add_line(line, text, statement_at(&whole, line)),
            }
        }
    }
    // A copy may be of a copy.
    for _ in 0..2 {
        for text in &whole {
            found.add_copy(text);
        }
        found.bind_parameters(&passed.parameters);
    }
    for text in &whole {
        for (later, earlier) in differences(text) {
            found.pair_difference(&later, &earlier);
        }
    }
    for (later, earlier) in &passed.differences {
        found.pair_difference(later, earlier);
    }
    found.pair_pending(&texts);
    for names in &passed.together {
        found.pair_given_together(names);
    }
    found.pair_returned_together(&texts);
    found.add_returned_soon(&texts);
    let unlike = found.lines_with_different_regions(&texts);
    SourceTimers {
        unlike: unlike.iter().map(|(line, _)| *line).collect(),
        within: unlike,
        chains: found.chained(),
        conditions: found.conditions,
        differences: found.differences.keys().copied().collect(),
        variables: found.differences.into_values().collect(),
        one_line: found.one_line.into_iter().collect(),
        returns: found.returns,
    }
}

/// A statement that reads a clock: its line, and its index within the line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    line: u32,
    statement: usize,
}

/// The readings of a file, and their differences so far.
#[derive(Default)]
struct Readings {
    /// The readings that each variable holds.
    readings_by_variable: BTreeMap<String, BTreeSet<Site>>,
    /// Readings from which a variable is subtracted immediately.
    closing: Vec<(Site, String)>,
    /// Readings that are appended to a list or passed to a call, with the list and the
    /// other arguments.
    pending_arguments: Vec<(Site, Option<String>, Vec<String>)>,
    /// Each difference, with the id of the subtracted variable.
    differences: BTreeMap<(u32, u32), u32>,
    one_line: BTreeSet<u32>,
    /// The regions that lie within a line: the statements with their readings.
    statement_pairs: BTreeMap<u32, BTreeSet<(usize, usize)>>,
    returns: Vec<u32>,
    conditions: Vec<u32>,
    /// The subtracted variables, by id.
    numbers: Vec<String>,
    /// Parameters that hold readings.
    parameters: Vec<Parameter>,
    /// Variables that one reading is assigned to at once.
    aliases: Vec<(Site, Vec<String>)>,
}

impl Readings {
    /// Adds a line that reads a clock, and the statement that it is a part of.
    fn add_line(&mut self, line: u32, text: &str, whole: &str) {
        let statements = statements(text);
        let alone = statements.len() == 1;
        let mut is_understood = false;
        for (number, statement) in statements.into_iter().enumerate() {
            if alone || may_read(statement) {
                let site = Site {
                    line,
                    statement: number,
                };
                is_understood |= self.add_statement(site, statement);
            }
        }
        if !is_understood && whole != text {
            self.add_statement(Site { line, statement: 0 }, whole);
        }
    }

    /// Adds a class that reads a clock in the initializer of a field.
    fn add_class(&mut self, line: u32, head: &str, fields: &[&str]) {
        let site = Site { line, statement: 0 };
        let mut depth = 0;
        let in_head = head.split_once('{').map_or("", |(_, fields)| fields);
        for text in [in_head].iter().chain(fields) {
            let before = depth;
            depth += text.matches('{').count() as i32 - text.matches('}').count() as i32;
            if depth < 0 {
                break;
            }
            // Deeper are functions, which have lines of their own.
            if (before, depth) == (0, 0) {
                let is_field = |text: &&str| ASSIGNED.is_match(text) && may_read(text);
                for field in statements(text).into_iter().filter(is_field) {
                    self.add_statement(site, field);
                }
            }
        }
    }

    /// Adds a statement that reads a clock. Returns true if its reading is held or subtracted.
    fn add_statement(&mut self, site: Site, text: &str) -> bool {
        let keys: Vec<String> = (KEYED.captures_iter(text))
            .map(|names| variable(&names, 1))
            .collect();
        for key in &keys {
            self.add_reading(format!("{ANY_OBJECT}{key}"), site);
        }
        let subtracted: Vec<String> = (READING_DIFFERENCE.captures_iter(text))
            .map(|names| variable(&names, 1))
            .collect();
        if !subtracted.is_empty() && is_deadline(text) {
            // The difference only decides what to do next.
            self.conditions.push(site.line);
        } else if !subtracted.is_empty() {
            let closing = subtracted.into_iter().map(|name| (site, name));
            self.closing.extend(closing);
        } else if let Some(names) = ADDED.captures(text) {
            self.closing.push((site, variable(&names, 1)));
        } else if let Some(names) = COLLECTED.captures(text) {
            let list = Some(variable(&names, 1));
            self.pending_arguments.push((site, list, arguments(&names)));
        } else if RETURNED.is_match(text) {
            self.returns.push(site.line);
        } else if let Some(names) = FILLED.captures(text) {
            self.add_reading(variable(&names, 1), site);
        } else if let Some(names) = UNPACKED.captures(text) {
            self.unpacked(site, &names);
        } else if NAMED.is_match(text) {
            for names in NAMED.captures_iter(text) {
                self.add_reading(variable(&names, 1), site);
            }
        } else if ASSIGNED.is_match(text) {
            // `last = start = time.time()` assigns twice.
            let mut rest = text;
            let mut all = Vec::new();
            while let Some(names) = ASSIGNED.captures(rest) {
                all.push(variable(&names, 1));
                self.add_reading(variable(&names, 1), site);
                rest = names.get(2).map_or("", |value| value.as_str());
            }
            if all.len() > 1 {
                self.aliases.push((site, all));
            }
        } else if let Some(names) = INITIALIZED.captures(text) {
            self.add_reading(variable(&names, 1), site);
        } else if let Some(names) = PASSED.captures(text) {
            let arguments = arguments(&names);
            let is_alone = arguments.is_empty();
            self.pending_arguments.push((site, None, arguments));
            return !is_alone || !keys.is_empty();
        } else {
            return !keys.is_empty();
        }
        true
    }

    fn unpacked(&mut self, site: Site, names: &Captures) {
        let value = names.get(2).map_or("", |value| value.as_str());
        let values = parts(value);
        let targets = parts(names.get(1).map_or("", |names| names.as_str()));
        let one_each = values.len() == targets.len();
        for (at, name) in targets.into_iter().enumerate() {
            if !one_each || values[at].contains('(') {
                self.add_reading(plain(name), site);
            }
        }
    }

    fn add_reading(&mut self, variable: String, site: Site) {
        self.readings_by_variable
            .entry(variable)
            .or_default()
            .insert(site);
    }

    fn add_copy(&mut self, text: &str) {
        if let Some(names) = COPIED.captures(text)
            && let Some(sites) = self.readings_by_variable.get(&variable(&names, 2))
        {
            let sites = sites.clone();
            let target = self
                .readings_by_variable
                .entry(variable(&names, 1))
                .or_default();
            target.extend(sites);
        }
    }

    /// Lets parameters hold the readings of their arguments.
    fn bind_parameters(&mut self, parameters: &[Parameter]) {
        for parameter in parameters {
            let Some(sites) = self.readings_of(&parameter.argument).cloned() else {
                continue;
            };
            let target = self
                .readings_by_variable
                .entry(parameter.name.clone())
                .or_default();
            target.extend(sites);
            if !self.parameters.contains(parameter) {
                self.parameters.push(parameter.clone());
            }
        }
    }

    fn pair_difference(&mut self, later: &str, earlier: &str) {
        let are_aliases = |site: &Site| {
            let mut all = self.aliases.iter().filter(|(at, _)| at == site);
            let both = [later, earlier];
            all.any(|(_, names)| both.iter().all(|name| names.iter().any(|one| one == name)))
        };
        let ends = self.readings_of(later).into_iter().flatten().copied();
        let ends: Vec<Site> = ends.filter(|to| !are_aliases(to)).collect();
        for to in ends {
            self.pair_with_variable(to, earlier);
        }
    }

    /// Pairs the readings of variables that a function gets together, unless they end another
    /// region.
    fn pair_given_together(&mut self, names: &[String]) {
        let held = names.iter().filter_map(|name| {
            let first = self.readings_of(name)?.first()?;
            Some((*first, name))
        });
        let mut held: Vec<(Site, &String)> = held.collect();
        held.sort_unstable();
        for pair in held.windows(2) {
            let [(_, earlier), (_, later)] = [&pair[0], &pair[1]];
            let ends = self.readings_of(later).into_iter().flatten().copied();
            let is_free = |to: &Site| {
                let known = self.differences.keys().any(|(_, end)| *end == to.line);
                !known && !self.one_line.contains(&to.line)
            };
            let ends: Vec<Site> = ends.filter(is_free).collect();
            for to in ends {
                self.pair_with_variable(to, earlier);
            }
        }
    }

    /// The readings that a variable holds, as a whole or as one of its elements.
    fn readings_of(&self, variable: &str) -> Option<&BTreeSet<Site>> {
        let whole = variable.strip_suffix("[]").unwrap_or(variable);
        let variables = &self.readings_by_variable;
        let known = variables.get(variable).or_else(|| variables.get(whole));
        known.or_else(|| {
            // A field of an object that has another name here.
            let (_, field) = whole.rsplit_once('.')?;
            let of_any = variables.get(&format!("{ANY_OBJECT}{field}"));
            let mut others = variables.iter().filter_map(|(name, sites)| {
                let (_, other) = name.rsplit_once('.')?;
                (other == field).then_some(sites)
            });
            of_any.or_else(|| others.next())
        })
    }

    fn number(&mut self, variable: &str) -> u32 {
        let known = self.numbers.iter().position(|name| name == variable);
        let number = known.unwrap_or_else(|| {
            self.numbers.push(variable.to_owned());
            self.numbers.len() - 1
        });
        number as u32
    }

    /// Pairs the reading at `to` with the variable subtracted from it, which was assigned
    /// on the nearest line before, or, in a loop, on the nearest line after.
    fn pair_with_variable(&mut self, to: Site, variable: &str) {
        let Some(sites) = self.readings_of(variable) else {
            return;
        };
        let before = sites.range(..to).next_back().copied();
        let after = sites.range(to..).next().copied();
        if let Some(from) = before.filter(|from| from.line == to.line) {
            self.one_line.insert(to.line);
            let pairs = self.statement_pairs.entry(to.line).or_default();
            pairs.insert((from.statement, to.statement));
            return;
        }
        // The function may be called from any line.
        let is_parameter = |one: &Parameter| one.name == variable && one.lines.contains(&to.line);
        let from: Vec<Site> = match self.parameters.iter().any(is_parameter) {
            true => sites.iter().copied().filter(|from| *from != to).collect(),
            false => before.into_iter().chain(after).collect(),
        };
        let number = self.number(variable);
        for from in from {
            self.differences.insert((from.line, to.line), number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result for a file in which `#` begins a comment.
    pub(super) fn timers_in(source: &str, lines: &[u32]) -> SourceTimers {
        super::timers_in("a.py", source, lines)
    }

    /// Treats every line that contains `()` as a clock reading.
    pub(super) fn timers_in_calls(source: &str) -> SourceTimers {
        let marked = source.lines().enumerate();
        let lines: Vec<u32> = marked
            .filter(|(_, text)| text.contains("()"))
            .map(|(at, _)| at as u32 + 1)
            .collect();
        timers_in(source, &lines)
    }

    #[test]
    fn a_reading_minus_a_variable_is_a_region() {
        let source = "start = time.time()\nwork\nprint(f'{time.time() - start:.4f}')\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 3)]);
        let source = "t0: float = perf_counter()\nx = (perf_counter() - t0) * 1000\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 2)]);
    }

    #[test]
    fn two_variables_are_subtracted_anywhere() {
        let source = "start = time()\nwork\nend = time()\nelapsed = end - start\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 3)]);
        let source = "t = -time()\nwork\nt += time()\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 3)]);
        let source = "  self.t0 = time()\n  self.t1 = time()\n  return self.t1 - self.t0\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 2)]);
    }

    #[test]
    fn the_same_names_used_twice_belong_to_their_neighbors() {
        let source = "s = t()\ne = t()\nprint(e - s)\ns = t()\ne = t()\nprint(e - s)\n";
        assert_eq!(
            timers_in_calls(source).differences,
            [(1, 2), (4, 2), (4, 5)]
        );
    }

    #[test]
    fn a_class_reads_a_clock_where_it_begins() {
        let source = "struct Timer {\n  Clock::time_point start = Clock::now();\n  \
                      double elapsed() const {\n    auto end = Clock::now();\n    \
                      return duration<double>(end - start).count();\n  }\n};\n";
        let found = timers_in(source, &[1, 4]);
        assert_eq!((found.returns, found.differences), (vec![], vec![(1, 4)]));
        // The fields begin on the same line.
        let source = "struct Timer { int n = 0; Clock::time_point start = Clock::now();\n  \
                      double elapsed() { return seconds(Clock::now() - start); } };\n";
        let found = timers_in(source, &[1, 2]);
        assert_eq!((found.returns, found.differences), (vec![], vec![(1, 2)]));
    }

    #[test]
    fn constant_keys_are_variables() {
        let source = "t['a'] = time()\nwork\nt[\"b\"] = time()\nprint(t['b'] - t['a'])\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 3)]);
        // The element is not known, so every pair is possible.
        let source = "t['a'] = time()\nwork\nt['b'] = time()\nprint(t[x] - t[y])\n";
        assert!(timers_in_calls(source).differences.contains(&(1, 3)));
    }

    #[test]
    fn a_rolling_timer_ends_one_region_and_begins_the_next() {
        let source =
            "last = time()\nfor _ in x:\n  now = time()\n  dt = now - last\n  last = now\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 3), (3, 3)]);
    }

    #[test]
    fn cpp_and_c_are_understood_too() {
        let source = "auto t0 = std::chrono::steady_clock::now();\nlaunch;\n\
                      const auto t1 = steady_clock::now();\n\
                      std::chrono::duration<double> seconds = t1 - t0;\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 3)]);
        let source = "std::chrono::time_point<Clock> begin = Clock::now();\n\
                      print(duration<double>(Clock::now() - begin).count());\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 2)]);
        let source = "clock_gettime(CLOCK_MONOTONIC, &a);\nwork();\n\
                      clock_gettime(CLOCK_MONOTONIC, &b);\n\
                      s = (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec);\n";
        assert_eq!(timers_in(source, &[1, 3]).differences, [(1, 3)]);
    }

    #[test]
    fn a_constructor_initializes_its_fields() {
        let source = "struct Timer {\n  Timer(int n) : n(n), begin(steady_clock::now()) {}\n  \
                      ~Timer() {\n    auto end = steady_clock::now();\n    print(end - begin);\n  }\n";
        assert_eq!(timers_in(source, &[2, 4]).differences, [(2, 4)]);
        let source =
            "time_point begin(steady_clock::now());\nauto d = steady_clock::now() - begin;\n";
        assert_eq!(timers_in(source, &[1, 2]).differences, [(1, 2)]);
    }

    #[test]
    fn every_assignment_counts() {
        for assigned in [
            "s, n = time(), 0",
            "n, s = 0, time()",
            "n = s = time()",
            "if (s := time()): work",
            "s = {'a': time()}",
        ] {
            let source = format!("s = time()\nx = time() - s\n{assigned}\ny = time() - s\n");
            let differences = timers_in_calls(&source).differences;
            assert!(differences.contains(&(3, 4)), "{assigned}: {differences:?}");
            assert!(
                !differences.contains(&(1, 4)),
                "{assigned}: {differences:?}"
            );
        }
        let source = "start['a'] = time()\nx = time() - start[name]\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 2)]);
    }

    #[test]
    fn each_variable_that_is_subtracted_has_its_number() {
        let source = "s = t()\nm = t()\ne = t()\nprint(m - s, e - m, e - s)\n";
        let found = timers_in_calls(source);
        assert_eq!(found.differences, [(1, 2), (1, 3), (2, 3)]);
        assert_eq!(found.variables[0], found.variables[1]);
        assert_ne!(found.variables[1], found.variables[2]);
    }

    #[test]
    fn a_condition_on_the_passed_time_ends_no_region() {
        for source in [
            "start = time()\nwhile time() - start < 5:",
            "start = now();\n} while ((now() - start) < limit);",
            "start = time()\nif time() - start > 5: break",
        ] {
            let found = timers_in_calls(source);
            assert_eq!(found.conditions, [2], "{source}");
            assert_eq!(found.differences, [], "{source}");
        }
    }

    #[test]
    fn a_condition_may_contain_a_region() {
        for source in [
            "start = time()\nif verbose: print(time() - start)",
            "start = now();\nif (verbose) cout << now() - start << endl;",
        ] {
            assert_eq!(timers_in_calls(source).differences, [(1, 2)], "{source}");
        }
    }

    #[test]
    fn a_function_may_get_the_start_of_its_region() {
        let source = "def elapsed(since):\n    return time() - since\n\nt0 = time()\nf()\n\
                      print(elapsed(t0))\nt0 = time()\nf()\nprint(elapsed(t0))\n";
        let found = timers_in(source, &[2, 4, 7]);
        assert_eq!(found.differences, [(4, 2), (7, 2)]);
        let source = "def report(label, start):\n    took = time() - start\n\
                      start = time()\nreport(1, start)\nstart = time()\nreport(2, start)\n";
        let found = timers_in(source, &[2, 3, 5]);
        assert_eq!(found.differences, [(3, 2), (5, 2)]);
        let source = "double took(Point since) {\n  return (now() - since).count();\n}\n\
                      int main() {\n  Point begin = now();\n  f();\n  print(took(begin));\n";
        assert_eq!(timers_in(source, &[2, 5]).differences, [(5, 2)]);
    }

    #[test]
    fn a_function_may_get_both_ends_of_a_region() {
        for subtracting in [
            "def show(x, a, b):\n    print(x, b - a)\n",
            "show = lambda x, a, b: print(x,\n    b - a)\n",
            "#define show(x, a, b) \\\n  (b) - (a)\n",
            "double show(int x, timespec a, timespec b) {\n  return b.tv_sec - a.tv_sec; }\n",
            "\n\n",
        ] {
            let source = format!("{subtracting}s = time()\nf()\ne = time()\nshow(1, s, e)\n");
            let found = super::timers_in("a.c", &source, &[3, 5]);
            assert_eq!(found.differences, [(3, 5)], "{source}");
        }
        let source = "gettimeofday(&a, 0);\nf();\ngettimeofday(&b, 0);\ntimersub(&b, &a, &d);\n";
        assert_eq!(timers_in(source, &[1, 3]).differences, [(1, 3)]);
        let source = "clock_gettime(C, &a); f(); clock_gettime(C, &b);\nprint(NS(b) - NS(a));\n";
        assert_eq!(timers_in(source, &[1]).one_line, [1]);
        let source = "s = time()\nf()\ne = time()\ng()\nt = time()\nshow(s, e); show(e, t)\n";
        assert_eq!(timers_in(source, &[1, 3, 5]).differences, [(1, 3), (3, 5)]);
    }

    #[test]
    fn a_statement_may_have_several_lines() {
        let source = "start = time()\nf()\ntook = (\n    time()\n    - start\n)\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 4)]);
        let source = "start = time()\nf()\nend = time()\ntook = (\n    end\n    - start\n)\n";
        assert_eq!(timers_in(source, &[1, 3]).differences, [(1, 3)]);
        // Each line has its own region.
        let source = "a = time()\nb = time()\nprint(\n    time() - a,\n    time() - b,\n)\n";
        assert_eq!(
            timers_in(source, &[1, 2, 4, 5]).differences,
            [(1, 4), (2, 5)]
        );
        // A function within brackets.
        let source = "run([&] {\n  auto a = now();\n  f();\n  print(now() - a);\n});\n";
        assert_eq!(
            super::timers_in("a.cpp", source, &[2, 4]).differences,
            [(2, 4)]
        );
    }

    #[test]
    fn a_reading_may_be_scaled_or_made_by_a_lambda() {
        let source = "start = time() * 1000\nf()\nprint(1, time() * 1000 - start)\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 3)]);
        let source = "now = lambda: round(time() * 1000)\ns = now()\nf()\nprint(now() - s)\n";
        let found = timers_in_calls(source);
        assert_eq!((found.returns, found.differences), (vec![1], vec![(2, 4)]));
    }

    #[test]
    fn a_field_may_belong_to_an_object_with_another_name() {
        let source = "one = {'name': n, 'start': time()}\nf()\none['end'] = time()\n\
                      all.append(one)\nfor r in all:\n    print(r['end'] - r['start'])\n";
        assert_eq!(timers_in(source, &[1, 3]).differences, [(1, 3)]);
    }

    #[test]
    fn variables_that_hold_one_reading_are_not_subtracted() {
        let source = "a = b = time()\nf()\nb = time()\nprint(b - a)\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 3)]);
    }

    #[test]
    fn anything_else_yields_nothing() {
        for source in [
            "",
            "while time() < until:",
            "= = ()\n- ()",
            "x = \u{e9}() - \u{e9}",
        ] {
            assert_eq!(timers_in_calls(source).differences, [], "{source}");
        }
        assert_eq!(timers_in("a = t()", &[0, 7]), SourceTimers::default());
    }
}
