//! warmup_stats CSV: a header, then one row per start.
//!
//! `process_exec_idx, bench_name, 0, 1, …`, times in seconds. The header names can be
//! anything, and rows of several benchmarks can be mixed. A crashed start has the word
//! `crash` instead of its times.

use std::collections::HashMap;

use preheat_model::classify::{Format, Measures, Times};

use crate::cells::Row;
use crate::error::{Error, Problem, quoted};
use crate::notes::Notes;
use crate::quota::Quota;
use crate::source::Source;
use crate::starts::Starts;
use crate::{Result, Settings, number};

/// Cells before the times: the start and the benchmark.
const NAMES: usize = 2;

pub(crate) fn read(
    source: &mut Source,
    settings: &Settings,
    emit: &mut dyn FnMut(Format, Times),
) -> Result<Vec<String>> {
    let mut header = 0;
    if let Some(mut row) = Row::next(source)? {
        while row.cell(source)? {
            header += 1;
        }
    }
    let mut table = Table {
        settings,
        expected: usize::saturating_sub(header, NAMES),
        benchmarks: Vec::new(),
        index: HashMap::new(),
        quota: Quota::default(),
    };
    while let Some(row) = Row::next(source)? {
        table.add(row, source)?;
    }
    if table.benchmarks.is_empty() {
        return Err(Error::new(
            "it has a header but no rows; it was read as warmup_stats CSV: a header, then a \
             row for each start. Bare numbers belong on separate lines",
        ));
    }
    let mut notes = Notes::default();
    for (name, starts) in table.benchmarks {
        match starts.finish(name.clone(), Measures::Iterations, Vec::new()) {
            Some(times) => emit(Format::WarmupStats, times),
            None => notes.add(|| format!("all starts of {name} crashed")),
        }
    }
    Ok(notes.finish())
}

struct Table<'a> {
    settings: &'a Settings,
    /// The number of times per row, according to the header.
    expected: usize,
    /// In order of appearance.
    benchmarks: Vec<(String, Starts)>,
    index: HashMap<String, usize>,
    quota: Quota,
}

impl Table<'_> {
    fn add(&mut self, mut row: Row, source: &mut Source) -> Result<()> {
        row.cell(source)?;
        if !row.cell(source)? || row.text().is_empty() {
            return Err(Error::at(row.begin, "this row has no benchmark name"));
        }
        let mixed = self.settings.mixed_lengths;
        let in_a_second = self.settings.unit.unwrap_or_default().in_a_second();
        let at = self.find(&row.text()).map_err(|why| row.fail(why))?;
        let starts = &mut self.benchmarks[at].1;
        (starts.begin(&mut self.quota)).map_err(|why| row.fail(why))?;
        let (mut count, mut crashed, mut ended) = (0, false, false);
        while row.cell(source)? {
            count += 1;
            let text = row.text();
            if count == 1 && text.eq_ignore_ascii_case("crash") {
                crashed = true;
            } else if text.is_empty() && (crashed || mixed) {
                // Where lengths differ, rows are padded with empty cells.
                ended = true;
            } else if crashed || ended {
                let what = quoted(text.as_bytes());
                return Err(row.fail(format!("{what} follows the end of its start")));
            } else if let Some(value) = number::parse(&text) {
                number::time(value, in_a_second, &text)
                    .and_then(|seconds| starts.push(seconds, &mut self.quota))
                    .map_err(|why| row.fail(why))?;
            } else if text.is_empty() {
                return Err(row.fail(
                    "this cell is empty; --mixed-lengths accepts rows of different lengths",
                ));
            } else {
                let what = quoted(text.as_bytes());
                return Err(row.fail(format!("{what} is not a number")));
            }
        }
        if starts.last_is_empty() && (crashed || mixed) {
            starts.end_crashed();
        } else if count != self.expected && !mixed {
            let expected = self.expected;
            return Err(Error::at(
                row.begin,
                format!(
                    "this row has {count} times and the header has {expected}: was it cut off? \
                     --mixed-lengths accepts rows of different lengths"
                ),
            ));
        }
        Ok(())
    }

    /// The index of the benchmark with this name; adds it if necessary.
    fn find(&mut self, name: &str) -> Result<usize, Problem> {
        if let Some(at) = self.index.get(name) {
            return Ok(*at);
        }
        let at = self.benchmarks.len();
        self.quota.benchmark()?;
        self.quota.text(name)?;
        self.index.insert(name.to_owned(), at);
        self.benchmarks.push((name.to_owned(), Starts::default()));
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, mixed_lengths: bool) -> Result<(Vec<Times>, Vec<String>)> {
        let mut found = Vec::new();
        let settings = Settings {
            mixed_lengths,
            ..Settings::default()
        };
        let notes = crate::read(text.as_bytes(), &settings, &mut |format, times| {
            assert_eq!(format, Format::WarmupStats);
            found.push(times);
        })?;
        Ok((found, notes))
    }

    const HEADER: &str = "process_exec_idx, bench_name, 0, 1, 2\n";

    #[test]
    fn rows_of_several_benchmarks_may_be_mixed() {
        let text = format!(
            "{HEADER}0, spectral norm, 0.2, 0.1, 0.4\n0, nbody, 1, 2, 3\n\
             1, spectral norm, 0.3, 0.15, 0.2\n1, nbody, crash\n0, dead, crash,,\n"
        );
        let (found, notes) = all(&text, false).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].name, "spectral norm");
        assert_eq!(found[0].starts, [[0.2, 0.1, 0.4], [0.3, 0.15, 0.2]]);
        assert_eq!(found[1].starts, [[1.0, 2.0, 3.0]]);
        assert!(found[1].notes[0].contains("it crashed"));
        assert_eq!(notes, ["all starts of dead crashed"]);
    }

    #[test]
    fn lengths_may_differ_where_that_is_allowed() {
        let text = format!("{HEADER}0, a, 1, 2, 3\n1, a, 1\n2, a, 4, 5,\n3, a\n");
        let (found, _) = all(&text, true).unwrap();
        assert_eq!(
            found[0].starts,
            [vec![1.0, 2.0, 3.0], vec![1.0], vec![4.0, 5.0]]
        );
    }

    #[test]
    fn errors_are_reported_with_their_position() {
        for (rows, why) in [
            ("", "it has a header but no rows"),
            (
                "0, a, 1, 2\n",
                "line 2, column 1: this row has 2 times and the header has 3",
            ),
            (
                "0, a, 1, 2, 3, 4\n",
                "line 2, column 1: this row has 4 times",
            ),
            (
                "0, a, 1, x, 3\n",
                "line 2, column 10: \"x\" is not a number",
            ),
            ("0, a, 1, , 3\n", "line 2, column 10: this cell is empty"),
            ("0, a, 1, NaN, 3\n", "line 2, column 10: NaN is not a time"),
            (
                "0, a, 1, -2, 3\n",
                "line 2, column 10: -2 is not a time: it is below 0",
            ),
            ("0, a, crash, 2, 3\n", "\"2\" follows the end"),
            ("0\n", "line 2, column 1: this row has no benchmark name"),
            (
                "0, , 1, 2, 3\n",
                "line 2, column 1: this row has no benchmark name",
            ),
        ] {
            let error = all(&format!("{HEADER}{rows}"), false)
                .unwrap_err()
                .to_string();
            assert!(error.contains(why), "{rows:?}: {error}");
        }
        let error = all("1.0,2.0,3.0\n", false).unwrap_err().to_string();
        assert!(error.contains("Bare numbers belong"), "{error}");
        let error = all(&format!("{HEADER}0, a, crash\n"), false).unwrap_err();
        assert_eq!(error.to_string(), "it has no times");
    }
}
