//! Readings in lists: elements of two lists, neighbors in one list, and stacks.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Captures;

use super::super::statements::*;
use super::{Readings, Site};

impl Readings {
    /// Pairs readings that are appended to lists, popped from them, or passed to calls.
    pub(super) fn pair_pending(&mut self, texts: &[&str]) {
        for (later, earlier) in self.subtracted_lists(texts) {
            self.pending_arguments.retain(|(site, list, _)| {
                let list = list.as_ref();
                let is_element = list.filter(|list| [&later, &earlier].contains(list));
                if let Some(list) = is_element {
                    let sites = self.readings_by_variable.entry(list.clone()).or_default();
                    sites.insert(*site);
                }
                is_element.is_none()
            });
            self.pair_difference(&later, &earlier);
        }
        let mut appended: BTreeMap<String, BTreeSet<Site>> = BTreeMap::new();
        for (site, list, arguments) in &self.pending_arguments {
            let appends_only_new_reading = arguments
                .iter()
                .all(|name| self.readings_of(name).is_none());
            if let Some(list) = list.as_ref().filter(|_| appends_only_new_reading) {
                appended.entry(list.clone()).or_default().insert(*site);
            }
        }
        for (to, name) in std::mem::take(&mut self.closing) {
            // A stack of readings.
            if let Some(pushed) = appended.get(&name) {
                let sites = self.readings_by_variable.entry(name.clone()).or_default();
                sites.extend(pushed);
                self.pending_arguments
                    .retain(|(_, list, _)| list.as_ref() != Some(&name));
            }
            self.pair_with_variable(to, &name);
        }
        for (to, list, arguments) in std::mem::take(&mut self.pending_arguments) {
            let known = |name: &&String| self.readings_of(name).is_some();
            let earlier: Vec<String> = arguments.iter().filter(known).cloned().collect();
            match list {
                // The differences of neighboring elements are regions.
                Some(list) if earlier.is_empty() => {
                    let first = self.readings_of(&list).cloned().unwrap_or_default();
                    let others = appended.get(&list).cloned().unwrap_or_default();
                    let elements: BTreeSet<Site> = first.into_iter().chain(others).collect();
                    let elements = before_in_list(texts, &list, &elements, to);
                    self.pair_in_list(to, &elements, &list);
                }
                _ => {
                    for name in earlier {
                        self.pair_with_variable(to, &name);
                    }
                }
            }
        }
    }

    /// Lists of readings whose elements are subtracted from those of another list, with that
    /// one: `ends[i] - starts[i]`, or `end - start` of two lists that are zipped.
    fn subtracted_lists(&self, texts: &[&str]) -> BTreeSet<(String, String)> {
        let differences: BTreeSet<(String, String)> = (texts.iter())
            .flat_map(|text| DIFFERENCE.captures_iter(text))
            .map(|names| (variable(&names, 1), variable(&names, 2)))
            .collect();
        let element = |name: &String| name.strip_suffix("[]").map(str::to_owned);
        let indexed = (differences.iter())
            .filter_map(|(later, earlier)| Some((element(later)?, element(earlier)?)));
        let zipped = texts.iter().flat_map(|text| ZIPPED.captures_iter(text));
        let zipped = zipped.filter_map(|names| {
            let [a, b, all_a, all_b] = [1, 2, 3, 4].map(|at| variable(&names, at));
            match differences.contains(&(b.clone(), a.clone())) {
                true => Some((all_b, all_a)),
                false => differences.contains(&(a, b)).then_some((all_a, all_b)),
            }
        });
        let is_list = |name: &String| {
            let mut lists = self
                .pending_arguments
                .iter()
                .filter_map(|(_, list, _)| list.as_ref());
            lists.any(|list| list == name)
        };
        (indexed.chain(zipped))
            .filter(|(later, earlier)| later != earlier && is_list(later) && is_list(earlier))
            .collect()
    }

    /// Pairs a reading with the one before it in a list. Which one that is depends on the
    /// order at run time, unless both are on the same line.
    fn pair_in_list(&mut self, to: Site, elements: &BTreeSet<Site>, list: &str) {
        let before = elements.range(..to).next_back();
        if let Some(from) = before.filter(|from| from.line == to.line) {
            self.one_line.insert(to.line);
            let pairs = self.statement_pairs.entry(to.line).or_default();
            pairs.insert((from.statement, to.statement));
            return;
        }
        let number = self.number(list);
        for from in elements {
            self.differences.insert((from.line, to.line), number);
        }
    }
}

/// The elements of a list that may precede the one that `to` appends: those of the same list
/// object. A list that is made in a function has the readings of one call.
fn before_in_list(
    texts: &[&str],
    list: &str,
    elements: &BTreeSet<Site>,
    to: Site,
) -> BTreeSet<Site> {
    let around = blocks(texts, to.line);
    let is_made = |line: u32| {
        let text = texts.get(line as usize - 1).copied().unwrap_or_default();
        let is_it = |names: Captures| variable(&names, 1) == list;
        let mut statements = statements(text).into_iter();
        text.contains(list)
            && blocks(texts, line).function == around.function
            && statements.any(|one| {
                ASSIGNED.captures(one).is_some_and(is_it) || VECTOR.captures(one).is_some_and(is_it)
            })
    };
    let made = (1..=to.line).rev().find(|line| is_made(*line));
    if made.is_none() && around.function > 0 {
        // The list of an object or of the whole program.
        return elements.clone();
    }
    let made = made.unwrap_or(0);
    // The outermost loop that does not make the list anew.
    let outermost = around.loops.into_iter().rfind(|line| *line > made);
    let in_loop = |site: &Site| {
        outermost.is_some_and(|head| {
            let outer = texts
                .get(head as usize - 1)
                .map_or(0, |text| indentation(text));
            let mut inside = texts.iter().take(site.line as usize).skip(head as usize);
            let is_inner = |text: &str| text.trim().is_empty() || indentation(text) > outer;
            site.line == head || inside.all(|text| is_inner(text))
        })
    };
    (elements.iter().copied())
        .filter(|site| site.line >= made && (*site < to || in_loop(site)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{timers_in, timers_in_calls};

    #[test]
    fn readings_in_a_list_are_subtracted_from_their_neighbors() {
        assert_eq!(
            timers_in_calls("for x in y:\n  times.append(time())\n").differences,
            [(2, 2)]
        );
    }

    #[test]
    fn elements_of_two_lists_are_subtracted() {
        let appended = "for x in data:\n    a.append(t())\n    work(x)\n    b.append(t())\n";
        for subtracted in [
            "for start, end in zip(a, b):\n    print(end - start)\n",
            "print([y - x for x, y in zip(a, b)])\n",
            "print([y - x for y, x in zip(b, a)])\n",
            "for i in range(3):\n    print(b[i] - a[i])\n",
        ] {
            let found = timers_in_calls(&format!("{appended}{subtracted}"));
            assert_eq!(found.differences, [(2, 4)], "{subtracted}");
        }
    }

    #[test]
    fn readings_appended_on_several_lines_follow_each_other() {
        let appends = "t.append(time())\nf()\nt.append(time())\nf()\nt.append(time())\n";
        let of = |source: &str| {
            let marked = source
                .lines()
                .zip(1..)
                .filter(|(text, _)| text.contains("time()"));
            let lines: Vec<u32> = marked.map(|(_, line)| line).collect();
            timers_in(source, &lines)
        };
        let all = [(2, 4), (2, 6), (4, 6)];
        let found = of(&format!("t = []\n{appends}"));
        assert_eq!(found.differences, all);
        assert!(
            found
                .variables
                .iter()
                .all(|number| *number == found.variables[0])
        );
        // The list begins with a reading.
        let found = of("t = [time()]\nf()\nt.append(time())\nf()\nt.append(time())\n");
        assert_eq!(found.differences, [(1, 3), (1, 5), (3, 5)]);
        // Each call and each iteration has its own list.
        let indented = format!("    {}\n", appends.trim_end().replace('\n', "\n    "));
        let source = format!("def f():\n    t = []\n{indented}f()\nf()\n");
        assert_eq!(of(&source).differences, [(3, 5), (3, 7), (5, 7)]);
        let source = format!("for i in x:\n    t = []\n{indented}");
        assert_eq!(of(&source).differences, [(3, 5), (3, 7), (5, 7)]);
        let source = format!("{appends}t = []\n{appends}");
        assert!(!of(&source).differences.contains(&(5, 7)));
        // A list of the program, which a function appends to.
        let found = of("t = []\ndef mark():\n    t.append(time())\nmark()\nmark()\n");
        assert_eq!(found.differences, [(3, 3)]);
        let source = "int main() {\n  std::vector<Point> t;\n  t.push_back(now());\n  f();\n  \
                      t.push_back(now());\n  f();\n  t.push_back(now());\n";
        let found = timers_in(source, &[3, 5, 7]);
        assert_eq!(found.differences, [(3, 5), (3, 7), (5, 7)]);
    }

    #[test]
    fn a_list_begins_with_its_first_reading() {
        let source = "times = [time()]\nfor x in y:\n  times.append(time())\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 3), (3, 3)]);
        // A reading with its beginning is a region.
        let source = "for x in y:\n  begin = time()\n  events.append((begin, time()))\n";
        assert_eq!(timers_in_calls(source).differences, [(2, 3)]);
        let source = "t0 = time()\nwork\nreport(t0, time())\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 3)]);
    }

    #[test]
    fn a_stack_of_readings_begins_regions() {
        let source = "def tic():\n    stack.append(time())\n\
                      def toc():\n    print(time() - stack.pop())\n";
        assert_eq!(timers_in(source, &[2, 4]).differences, [(2, 4)]);
    }
}
