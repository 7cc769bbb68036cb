//! Where an experiment puts what it measured.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use preheat_analyze::lab::{Sample, SampleKind, Skipped};

use crate::line::Line;

/// Writes each series as soon as it is whole, so that a crash loses only what
/// came after it.
#[derive(Debug)]
pub struct Recorder {
    file: File,
}

impl Recorder {
    /// A recorder that writes to `path`.
    pub fn create(path: &Path) -> io::Result<Recorder> {
        Ok(Recorder {
            file: File::create(path)?,
        })
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        // One call for the whole line: a kill between two calls would cut it.
        self.file.write_all(text.as_bytes())
    }

    fn sample(
        &mut self,
        kind: SampleKind,
        name: &str,
        size: Option<u64>,
        values: Vec<f64>,
    ) -> io::Result<()> {
        self.write(&Line::Sample(Sample {
            name: name.to_owned(),
            kind,
            size,
            values,
        }))
    }

    /// Times of something that was repeated.
    pub fn iterations(&mut self, name: &str, values: Vec<f64>) -> io::Result<()> {
        self.sample(SampleKind::Iterations, name, None, values)
    }

    /// The same at one size of a sweep.
    pub fn sweep(&mut self, name: &str, size: usize, values: Vec<f64>) -> io::Result<()> {
        self.sample(SampleKind::Iterations, name, Some(size as u64), values)
    }

    /// The time of something that happened once.
    pub fn stage(&mut self, name: &str, seconds: f64) -> io::Result<()> {
        self.sample(SampleKind::Stage, name, None, vec![seconds])
    }

    /// Bytes in use, before the first iteration and after each.
    pub fn memory(&mut self, name: &str, values: Vec<f64>) -> io::Result<()> {
        self.sample(SampleKind::Memory, name, None, values)
    }

    /// How often something happened in each iteration.
    pub fn count(&mut self, name: &str, values: Vec<f64>) -> io::Result<()> {
        self.sample(SampleKind::Count, name, None, values)
    }

    /// Something could not be measured.
    pub fn skip(&mut self, what: impl Into<String>, why: impl Into<String>) -> io::Result<()> {
        self.write(&Line::Skipped(Skipped {
            what: what.into(),
            why: why.into(),
        }))
    }

    /// The start cannot go on.
    pub fn failed(&mut self, why: impl Into<String>) -> io::Result<()> {
        self.write(&Line::Failed { why: why.into() })
    }

    /// All was measured.
    pub fn end(&mut self) -> io::Result<()> {
        self.write(&Line::End)
    }
}
