//! Records the results of an experiment, as lines that the parent process parses.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use preheat_model::lab::{ExperimentId, Sample, SampleKind, Skipped};
use serde::{Deserialize, Serialize};

/// Writes each series once it is complete, so that a crash loses only later ones.
#[derive(Debug)]
pub struct Recorder {
    file: File,
}

impl Recorder {
    /// Creates a recorder that writes to `path`.
    pub fn create(path: &Path) -> io::Result<Recorder> {
        Ok(Recorder {
            file: File::create(path)?,
        })
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        // One call for the whole line: a kill between two calls would truncate it.
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

    /// Records the times of a repeated operation.
    pub fn iterations(&mut self, name: &str, values: Vec<f64>) -> io::Result<()> {
        self.sample(SampleKind::Iterations, name, None, values)
    }

    /// Records the times at one size of a sweep.
    pub fn sweep(&mut self, name: &str, size: usize, values: Vec<f64>) -> io::Result<()> {
        self.sample(SampleKind::Iterations, name, Some(size as u64), values)
    }

    /// Records the time of a single operation.
    pub fn stage(&mut self, name: &str, seconds: f64) -> io::Result<()> {
        self.sample(SampleKind::Stage, name, None, vec![seconds])
    }

    /// Records bytes in use, before the first iteration and after each.
    pub fn memory(&mut self, name: &str, values: Vec<f64>) -> io::Result<()> {
        self.sample(SampleKind::Memory, name, None, values)
    }

    /// Records how often something happened in each iteration.
    pub fn count(&mut self, name: &str, values: Vec<f64>) -> io::Result<()> {
        self.sample(SampleKind::Count, name, None, values)
    }

    /// Records a quantity that could not be measured.
    pub fn skip(&mut self, what: impl Into<String>, why: impl Into<String>) -> io::Result<()> {
        self.write(&Line::Skipped(Skipped {
            what: what.into(),
            why: why.into(),
        }))
    }

    /// Records that the start failed.
    pub fn failed(&mut self, why: impl Into<String>) -> io::Result<()> {
        self.write(&Line::Failed { why: why.into() })
    }

    /// Records that the start is complete.
    pub fn end(&mut self) -> io::Result<()> {
        self.write(&Line::End)
    }
}

/// Returns the duration of `work` in seconds, and its result. All native samples are timed
/// here; `benches/sample.rs` measures the overhead.
pub fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(f64, T), E> {
    let start = Instant::now();
    let value = work()?;
    Ok((start.elapsed().as_secs_f64(), value))
}

// The input and the output of a start: a job, and one JSON object per line, each complete
// once written.

/// One line of a start's output file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// A measured series.
    Sample(Sample),
    /// A quantity that could not be measured.
    Skipped(Skipped),
    /// The start failed for a known reason.
    Failed {
        /// The reason and a suggestion.
        why: String,
    },
    /// The start measured something else than requested, and its samples are discarded.
    Void {
        /// A description of what it measured instead, with a suggestion.
        why: String,
    },
    /// The start is complete; without this line it ended early.
    End,
}

/// Parses a start's output; a truncated last line is ignored.
pub fn parse(text: &str) -> Vec<Line> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The description of one start, passed as JSON in its only argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The experiment.
    pub experiment: ExperimentId,
    /// The variant; empty if there is only one.
    pub variant: String,
    /// `cpu`, `cuda` or `opencl`.
    pub device: String,
    /// If true, run fewer iterations and smaller sweeps.
    pub quick: bool,
    /// The cache directory for compiled kernels; `None` to compile every time.
    pub cache: Option<PathBuf>,
    /// The output file.
    pub output: PathBuf,
}

#[cfg(test)]
mod tests {
    use preheat_model::lab::SampleKind;

    use super::*;

    #[test]
    fn a_cut_off_line_loses_nothing_before_it() {
        let whole = Line::Sample(Sample {
            name: "launch".into(),
            kind: SampleKind::Iterations,
            size: None,
            values: vec![0.5, 0.25],
        });
        let text = serde_json::to_string(&whole).expect("it serializes");
        let cut = &text[..text.len() / 2];
        assert_eq!(parse(&format!("{text}\n{cut}")), [whole]);
    }
}
