//! Lines that hold whole regions.

use std::collections::BTreeSet;

use super::super::body::normalized;
use super::super::statements::*;
use super::Readings;

impl Readings {
    /// The lines with a reading that belongs to two regions.
    pub(super) fn chained(&self) -> Vec<(u32, Vec<(u32, u32)>)> {
        let numbered = |(line, within): (&u32, &BTreeSet<(usize, usize)>)| {
            let ends = within.iter().flat_map(|(from, to)| [*from, *to]);
            let readings: Vec<usize> = ends.collect::<BTreeSet<usize>>().into_iter().collect();
            let number = |statement: usize| readings.partition_point(|one| *one < statement) as u32;
            let pairs = within.iter().map(|(from, to)| (number(*from), number(*to)));
            (readings.len() < 2 * within.len()).then(|| (*line, pairs.collect()))
        };
        self.statement_pairs.iter().filter_map(numbered).collect()
    }

    /// The lines with several regions that do different work, with the id of each region's text.
    pub(super) fn lines_with_different_regions(&self, texts: &[&str]) -> Vec<(u32, Vec<u32>)> {
        let numbered = |(line, within): (&u32, &BTreeSet<(usize, usize)>)| {
            let text = texts.get(*line as usize - 1).copied().unwrap_or_default();
            let statements = statements(text);
            let mut known: Vec<String> = Vec::new();
            let numbers = within.iter().map(|(from, to)| {
                let inner = statements.get(from + 1..*to).unwrap_or_default();
                let text = normalized(&inner.join("\n"));
                let same = known.iter().position(|other| *other == text);
                same.unwrap_or_else(|| {
                    known.push(text);
                    known.len() - 1
                }) as u32
            });
            (*line, numbers.collect::<Vec<u32>>())
        };
        let all = self.statement_pairs.iter().map(numbered);
        all.filter(|(_, numbers)| numbers.iter().any(|number| *number > 0))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{timers_in, timers_in_calls};

    #[test]
    fn a_reading_on_a_line_may_belong_to_two_regions() {
        let source = "a = time(); f(x); b = time(); f(x); c = time()\nprint(b - a, c - b)\n";
        let found = timers_in(source, &[1]);
        assert_eq!(found.chains, [(1, vec![(0, 1), (1, 2)])]);
        assert!(found.unlike.is_empty());
        let source = "t = [time()]; f(x); t.append(time()); f(x); t.append(time())\n";
        let found = timers_in(source, &[1]);
        assert_eq!(found.chains, [(1, vec![(0, 1), (1, 2)])]);
        let source = "a = time(); f(x); b = time(); c = time(); f(x); d = time()\n\
                      print(b - a, d - c)\n";
        assert!(timers_in(source, &[1]).chains.is_empty());
    }

    #[test]
    fn a_line_may_hold_a_whole_region() {
        for source in [
            "def timed(n): a = time(); work(n); return time() - a\n",
            "double timed(int n) { auto a = C::now(); work(n); auto b = C::now(); return b - a; }\n",
        ] {
            assert_eq!(timers_in_calls(source).one_line, [1], "{source}");
            assert_eq!(timers_in_calls(source).differences, [], "{source}");
        }
        let source = "timespec x, y; clock_gettime(C, &x); work(); clock_gettime(C, &y);\n\
                      print(y.tv_nsec - x.tv_nsec);\n";
        assert_eq!(timers_in(source, &[1]).one_line, [1]);
        let source = "def now(): return time()\n";
        assert_eq!(timers_in_calls(source).returns, [1]);
        // Several regions on a line do the same, or not.
        let twice = |first: &str, second: &str| {
            let source = format!(
                "t = time(); {first}; print(time() - t); t = time(); {second}; print(time() - t)\n"
            );
            timers_in_calls(&source).unlike
        };
        assert_eq!(twice("load(x)", "predict(x)"), [1]);
        assert!(twice("a = predict(x)", "b = predict(x)").is_empty());
        let source =
            "def __enter__(self): self.t = time()\ndef __exit__(self): self.d = time() - self.t\n";
        assert_eq!(timers_in_calls(source).differences, [(1, 2)]);
    }
}
