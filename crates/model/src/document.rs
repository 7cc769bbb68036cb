//! The documents that `preheat report`, `compare` and `check` accept, and the checks that they
//! pass before anything else reads them.
//!
//! A document may come from another machine, or have been edited. Values that no measurement
//! can have would give wrong statistics without an error, so they are refused here. Comparisons
//! are only shown again, so their values are not checked.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::compare::{COMPARE_SCHEMA, COMPARE_SCHEMAS, CompareReport};
use crate::lab::{self, Experiment, LabReport, MAX_STARTS, SampleKind};
use crate::measurement::{MEASUREMENT_SCHEMA, MEASUREMENT_SCHEMAS, MeasurementReport};
use crate::run::{CauseSeconds, RUN_SCHEMA, RUN_SCHEMAS, RunReport, StartReport};

/// A document that a verb wrote with `--json`.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// `preheat run`.
    Run(Box<RunReport>),
    /// `preheat lab`.
    Lab(Box<LabReport>),
    /// `preheat compare`.
    Comparison(Box<CompareReport>),
    /// `preheat start --measure`.
    Measurement(Box<MeasurementReport>),
}

/// The reason that a document cannot be used. Displayed after the name of its file.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It cannot be parsed as JSON.
    #[error("is not JSON, or is truncated: {0}")]
    NotJson(serde_json::Error),
    /// Another program wrote it, or a verb whose documents are not read.
    #[error(
        "is not a `preheat run`, `lab`, `compare` or `start --measure` result, as written by --json: {}",
        match .schema {
            Some(schema) => format!("its \"schema\" is \"{}\"", schema.escape_debug()),
            None => "it has no \"schema\"".to_owned(),
        }
    )]
    Unknown {
        /// The schema, if it has one.
        schema: Option<String>,
    },
    /// A newer version wrote it.
    #[error(
        "has the schema {found}, and preheat {} reads {}, {RUN_SCHEMA}, {COMPARE_SCHEMA} and {MEASUREMENT_SCHEMA}; a newer preheat is needed",
        env!("CARGO_PKG_VERSION"),
        lab::SCHEMA
    )]
    Newer {
        /// The schema.
        found: String,
    },
    /// A field is missing, or has another type.
    #[error("does not conform to {schema}: {error}")]
    Malformed {
        /// The schema that it claims to conform to.
        schema: String,
        /// The reason, with its position.
        error: serde_json::Error,
    },
    /// It has a value that no measurement can have.
    #[error("is invalid: {0}")]
    Invalid(#[from] Invalid),
}

/// A value that no measurement can have.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum Invalid {
    /// More starts than are supported.
    #[error("too many starts: {0}")]
    ManyStarts(usize),
    /// The number of a start.
    #[error("the start number {0} is out of range")]
    StartNumber(usize),
    /// A time.
    #[error("{what} of {} s is out of range", Short(*.seconds))]
    Seconds { what: &'static str, seconds: f64 },
    /// A sample of the lab.
    #[error("{} {unit} of \"{series}\" is out of range", Short(*.value))]
    Sample {
        value: f64,
        unit: &'static str,
        series: String,
    },
    /// A value in a part of the document.
    #[error("{part}: {problem}")]
    In { part: String, problem: Box<Invalid> },
}

impl Invalid {
    fn within(self, part: String) -> Invalid {
        Invalid::In {
            part,
            problem: Box::new(self),
        }
    }
}

/// The schemas of the documents that can be read, without their version.
const FAMILIES: [&str; 4] = [
    "preheat.lab/",
    "preheat.run/",
    "preheat.compare/",
    "preheat.start/",
];

/// The accepted range of times.
const SECONDS: std::ops::Range<f64> = 1e-12..1e9;
/// The accepted range of sizes and counts.
const BYTES: std::ops::Range<f64> = 0.0..1e18;

impl Document {
    /// Parses and validates a document of this version or an older one. A document of a run
    /// gets the schema of this version.
    pub fn parse(text: &str) -> Result<Document, DocumentError> {
        let schema = match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => value.get("schema").cloned().unwrap_or_default(),
            Err(error) => return Err(DocumentError::NotJson(error)),
        };
        let Some(schema) = schema.as_str() else {
            return Err(DocumentError::Unknown { schema: None });
        };
        match schema {
            _ if lab::SCHEMAS.contains(&schema) => {
                let report: LabReport = deserialize(schema, text)?;
                for experiment in &report.experiments {
                    validate_experiment(experiment).map_err(|problem| {
                        let name = experiment.id.id();
                        problem.within(format!("{name} on {}", experiment.subject()))
                    })?;
                }
                Ok(Document::Lab(Box::new(report)))
            }
            _ if RUN_SCHEMAS.contains(&schema) => {
                let mut report: RunReport = deserialize(schema, text)?;
                RUN_SCHEMA.clone_into(&mut report.schema);
                validate_run(&report)?;
                Ok(Document::Run(Box::new(report)))
            }
            _ if MEASUREMENT_SCHEMAS.contains(&schema) => {
                let mut report: MeasurementReport = deserialize(schema, text)?;
                MEASUREMENT_SCHEMA.clone_into(&mut report.schema);
                validate_measurement(&report)?;
                Ok(Document::Measurement(Box::new(report)))
            }
            _ if COMPARE_SCHEMAS.contains(&schema) => {
                let mut report: CompareReport = deserialize(schema, text)?;
                COMPARE_SCHEMA.clone_into(&mut report.schema);
                Ok(Document::Comparison(Box::new(report)))
            }
            _ if FAMILIES.iter().any(|family| schema.starts_with(family)) => {
                let found = schema.to_owned();
                Err(DocumentError::Newer { found })
            }
            _ => Err(DocumentError::Unknown {
                schema: Some(schema.to_owned()),
            }),
        }
    }
}

/// Deserializes from the text rather than a parsed value, so that errors have a line and a
/// column.
fn deserialize<T: DeserializeOwned>(schema: &str, text: &str) -> Result<T, DocumentError> {
    serde_json::from_str(text).map_err(|error| DocumentError::Malformed {
        schema: schema.to_owned(),
        error,
    })
}

fn validate_experiment(experiment: &Experiment) -> Result<(), Invalid> {
    if let Some(failure) = experiment.failures.iter().find(|f| f.start >= MAX_STARTS) {
        return Err(Invalid::StartNumber(failure.start));
    }
    for series in &experiment.series {
        if series.iterations.len() > MAX_STARTS {
            return Err(Invalid::ManyStarts(series.iterations.len()));
        }
        let (possible, unit) = match series.kind {
            SampleKind::Iterations | SampleKind::Stage => (SECONDS, "s"),
            SampleKind::Memory | SampleKind::Count => (BYTES, "bytes or counts"),
        };
        let mut values = series.iterations.iter().flatten();
        if let Some(&value) = values.find(|value| !possible.contains(*value)) {
            let series = series.name.clone();
            return Err(Invalid::Sample {
                value,
                unit,
                series,
            });
        }
    }
    Ok(())
}

fn validate_run(report: &RunReport) -> Result<(), Invalid> {
    if report.starts.len() > MAX_STARTS {
        return Err(Invalid::ManyStarts(report.starts.len()));
    }
    for (at, start) in report.starts.iter().enumerate() {
        validate_start(start).map_err(|problem| problem.within(format!("start {}", at + 1)))?;
    }
    Ok(())
}

fn validate_start(start: &StartReport) -> Result<(), Invalid> {
    for &seconds in &start.iterations {
        validate_time("an iteration", seconds)?;
    }
    if let Some(seconds) = start.time_to_first {
        validate_time("time_to_first", seconds)?;
    }
    start.causes.iter().try_for_each(validate_cause)
}

fn validate_measurement(report: &MeasurementReport) -> Result<(), Invalid> {
    for configuration in &report.configurations {
        let times = configuration.time_to_first.iter().map(|time| &time.value);
        for &seconds in configuration.values.iter().chain(times) {
            validate_time("time_to_first", seconds)?;
        }
        configuration.causes.iter().try_for_each(validate_cause)?;
    }
    Ok(())
}

fn validate_time(what: &'static str, seconds: f64) -> Result<(), Invalid> {
    match SECONDS.contains(&seconds) {
        true => Ok(()),
        false => Err(Invalid::Seconds { what, seconds }),
    }
}

/// The time of a cause may also be 0.
fn validate_cause(part: &CauseSeconds) -> Result<(), Invalid> {
    let (what, seconds) = (part.cause.as_str(), part.seconds);
    match (0.0..SECONDS.end).contains(&seconds) {
        true => Ok(()),
        false => Err(Invalid::Seconds { what, seconds }),
    }
}

/// A number in scientific notation if it would have many digits.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match (1e-3..1e9).contains(&self.0.abs()) || self.0 == 0.0 {
            true => write!(out, "{}", self.0),
            false => write!(out, "{:e}", self.0),
        }
    }
}
