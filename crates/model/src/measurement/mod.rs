//! Measured remedies: the document `preheat.start/2`.

use serde::{Deserialize, Serialize};

use crate::run::{CauseSeconds, Temperature};
use crate::stats::Estimate;
use crate::{Machine, RemedyId};

/// The schema id that this version writes.
pub const MEASUREMENT_SCHEMA: &str = "preheat.start/2";
/// All schema ids that this version reads.
pub const MEASUREMENT_SCHEMAS: [&str; 2] = [MEASUREMENT_SCHEMA, "preheat.start/1"];

/// The result of measuring remedies on a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasurementReport {
    /// [`MEASUREMENT_SCHEMA`].
    pub schema: String,
    /// The version of preheat.
    pub preheat: String,
    /// The time of the plain starts, as RFC 3339 in UTC.
    pub created: String,
    /// The machine.
    pub machine: Option<Machine>,
    /// The command.
    pub command: Vec<String>,
    /// A human-readable description of an iteration: `steps of SGD`. Empty if there are
    /// none; times are then those to the end of the program.
    pub iteration: String,
    /// All configurations, plain starts first.
    #[serde(rename = "variants")]
    pub configurations: Vec<ConfigurationResult>,
    /// The results for each measured remedy.
    pub remedies: Vec<RemedyResult>,
    /// Remedies that were not measured, and why.
    #[serde(alias = "not_tried")] // Its name in version 1.
    pub skipped: Vec<SkippedRemedy>,
    /// The kept remedies.
    pub kept: Vec<RemedyId>,
    /// True if it was interrupted before all starts were done; nothing is decided then.
    #[serde(default)]
    pub interrupted: bool,
    /// Human-readable notes.
    pub notes: Vec<String>,
}

impl MeasurementReport {
    /// Returns true if anything was decided. Too few starts leave an earlier decision unchanged.
    pub fn decides(&self) -> bool {
        let measured = |remedy: &RemedyResult| remedy.kept != Decision::NotMeasured;
        !self.interrupted && self.remedies.iter().any(measured)
    }

    /// Marks the report as interrupted: measurements stay, decisions are dropped.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
        self.kept.clear();
        for remedy in &mut self.remedies {
            remedy.kept = Decision::NotMeasured;
        }
    }
}

/// A remedy that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedRemedy {
    /// The remedy.
    pub id: RemedyId,
    /// The reason, human-readable.
    pub why: String,
}

/// The starts of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigurationResult {
    /// Their remedies; empty for plain starts.
    pub remedies: Vec<RemedyId>,
    /// The temperature of the plain starts they are compared with.
    pub against: Temperature,
    /// The path of the recording.
    pub recording: String,
    /// Seconds from exec to the end of the first iteration: the geometric mean over the
    /// starts that count, with its 95 % interval.
    pub time_to_first: Option<Estimate>,
    /// The time of each start that counts, in the order they ran.
    pub values: Vec<f64>,
    /// The median time of each cause over the starts that count, in the order of
    /// [`Cause::ALL`](crate::run::Cause::ALL).
    #[serde(default)]
    pub causes: Vec<CauseSeconds>,
    /// The seconds saved over plain starts, with a 95 % interval.
    pub saved: Option<Estimate>,
    /// The speedup over plain starts, with a 95 % interval.
    pub times: Option<Estimate>,
}

/// The results for a remedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemedyResult {
    /// The remedy.
    pub id: RemedyId,
    /// The saving in seconds predicted from plain starts, if any.
    pub predicted: Option<f64>,
    /// The seconds it saves alone.
    pub alone: Option<Estimate>,
    /// The additional seconds it saves on top of all others together, if there are any.
    pub with_others: Option<Estimate>,
    /// The memory that it holds between starts, if it does.
    #[serde(default)]
    pub holds: Option<Holds>,
    /// The environment variables that it sets, if it consists of settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<(String, String)>,
    /// The decision, with its reason.
    pub kept: Decision,
}

/// The memory that a waiting standby holds, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holds {
    /// On the GPU.
    pub device: u64,
    /// On the host.
    pub host: u64,
}

/// The decision on a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// Kept: it saves the most alone.
    Alone,
    /// Kept: it saves time on top of the others.
    WithOthers,
    /// Not kept: its saving is not significant.
    Unclear,
    /// Not kept: it costs more than it saves.
    Costs,
    /// Not kept: it saves time at the start but slows down later iterations.
    Slows,
    /// Not kept: the other form of standby is.
    OtherForm,
    /// Not kept: too few of its starts completed.
    NotMeasured,
}

impl Decision {
    /// Returns true if the remedy is kept.
    pub fn is_kept(self) -> bool {
        matches!(self, Decision::Alone | Decision::WithOthers)
    }
}
