//! Reads comma-separated lines cell by cell. A row may have millions of cells, and the `csv`
//! crate would keep a whole row in memory.

use std::borrow::Cow;

use crate::Result;
use crate::error::Error;
use crate::source::Source;

/// The maximum length of a cell.
const LONGEST: usize = 4096;

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
        if self.cell.len() == LONGEST {
            return Err(source.fail(format!("this cell is longer than {LONGEST} characters")));
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
