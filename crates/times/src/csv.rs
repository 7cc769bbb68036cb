//! warmup_stats CSV: a header, then one row per start.
//!
//! `process_exec_idx, bench_name, 0, 1, …`, times in seconds. The header names can be
//! anything, and rows of several benchmarks can be mixed. A crashed start has the word
//! `crash` instead of its times.

use std::borrow::Cow;
use std::collections::HashMap;

use preheat_model::classify::{Format, Measures, Times};

use crate::error::{Error, Notes, Problem, quoted};
use crate::source::Source;
use crate::starts::{Quota, Starts};
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

// Reads comma-separated lines cell by cell. A row may have millions of cells, and the `csv`
// crate would keep a whole row in memory.

/// The maximum length of a cell.
const MAX_CELL_BYTES: usize = 4096;

/// A row being read.
pub(crate) struct Row {
    /// The position of the row's start.
    pub begin: (u64, u64),
    position: (u64, u64),
    cell: Vec<u8>,
    ended: bool,
}

impl Row {
    /// Advances to the next row that is not blank, if there is one.
    pub fn next(source: &mut Source) -> Result<Option<Row>> {
        while let Some(byte) = source.peek()? {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => source.next()?,
                // A comment, as in lines of numbers.
                b'#' => {
                    while source.peek()?.is_some_and(|byte| byte != b'\n') {
                        source.next()?;
                    }
                    None
                }
                _ => {
                    let begin = source.position();
                    return Ok(Some(Row {
                        begin,
                        position: begin,
                        cell: Vec::new(),
                        ended: false,
                    }));
                }
            };
        }
        Ok(None)
    }

    /// Reads the next cell; returns false after the last one.
    pub fn cell(&mut self, source: &mut Source) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.cell.clear();
        while matches!(source.peek()?, Some(b' ' | b'\t')) {
            source.next()?;
        }
        self.position = source.position();
        let mut quoted = source.peek()? == Some(b'"');
        if quoted {
            source.next()?;
        }
        loop {
            let byte = source.next()?;
            match byte {
                Some(b'"') if quoted => match source.peek()? {
                    Some(b'"') => self.push(b'"', source)?,
                    _ => quoted = false,
                },
                None if quoted => return Err(self.fail("this quotation mark is never closed")),
                Some(byte) if quoted => self.push(byte, source)?,
                Some(b',') => return Ok(true),
                None | Some(b'\n') => {
                    self.ended = true;
                    return Ok(true);
                }
                Some(byte) => self.push(byte, source)?,
            }
            if byte == Some(b'"') && quoted {
                source.next()?;
            }
        }
    }

    fn push(&mut self, byte: u8, source: &Source) -> Result<()> {
        if self.cell.len() == MAX_CELL_BYTES {
            return Err(source.fail(format!(
                "this cell is longer than {MAX_CELL_BYTES} characters"
            )));
        }
        self.cell.push(byte);
        Ok(())
    }

    /// The last cell read.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.cell.trim_ascii())
    }

    /// An error at the last cell read.
    pub fn fail(&self, what: impl ToString) -> Error {
        Error::at(self.position, what)
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

    fn rows(text: &str) -> Result<Vec<Vec<String>>> {
        let mut source = Source::new(Box::new(text.as_bytes()));
        let mut rows = Vec::new();
        while let Some(mut row) = Row::next(&mut source)? {
            let mut cells = Vec::new();
            while row.cell(&mut source)? {
                cells.push(row.text().into_owned());
            }
            rows.push(cells);
        }
        Ok(rows)
    }

    #[test]
    fn cells_are_trimmed_and_quotation_marks_keep_commas() {
        let text = "# c\na, b ,c\r\n\n1,\"x, \"\"y\"\"\nz\",,\n2";
        let expected: [&[&str]; 3] = [&["a", "b", "c"], &["1", "x, \"y\"\nz", "", ""], &["2"]];
        assert_eq!(rows(text).unwrap(), expected);
    }

    #[test]
    fn endless_cells_are_rejected() {
        let error = rows("a,\"b\n").unwrap_err().to_string();
        assert_eq!(
            error,
            "line 1, column 3: this quotation mark is never closed"
        );
        let error = rows(&"9".repeat(5000)).unwrap_err().to_string();
        assert!(error.contains("longer than 4096"), "{error}");
    }
}
