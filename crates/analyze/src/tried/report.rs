//! The document: `preheat.start/1`.

use serde::{Deserialize, Serialize};

use crate::compare::Estimate;
use crate::lab::Machine;
use crate::run::{CauseSeconds, Temperature};

/// What the document calls itself.
pub const TRIED_SCHEMA: &str = "preheat.start/1";

/// Remedies that were tried on a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedReport {
    /// [`TRIED_SCHEMA`].
    pub schema: String,
    /// The version of preheat.
    pub preheat: String,
    /// When the plain starts were made, RFC 3339 in UTC.
    pub created: String,
    /// On which machine.
    pub machine: Option<Machine>,
    /// The command.
    pub command: Vec<String>,
    /// What an iteration is, for people: `steps of SGD`. Empty if there is none: times are
    /// then those to the program's end.
    pub iteration: String,
    /// Starts of every kind, plain ones first.
    pub variants: Vec<TriedVariant>,
    /// What follows for each remedy that was tried.
    pub remedies: Vec<Tried>,
    /// Remedies that were not tried, and why.
    pub not_tried: Vec<NotTried>,
    /// Those that are kept, by their ids.
    pub kept: Vec<String>,
    /// Whether it was ended before all starts were made: nothing was decided then.
    #[serde(default)]
    pub interrupted: bool,
    /// Sentences: what else is to be known.
    pub notes: Vec<String>,
}

impl TriedReport {
    /// Whether anything follows from it. Too few starts leave an earlier decision unchanged.
    pub fn decides(&self) -> bool {
        let measured = |remedy: &Tried| remedy.kept != Kept::NotMeasured;
        !self.interrupted && self.remedies.iter().any(measured)
    }

    /// Says that it was ended early: what there is stays, and nothing follows from it.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
        self.kept.clear();
        for remedy in &mut self.remedies {
            remedy.kept = Kept::NotMeasured;
        }
    }
}

/// A remedy that was not tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotTried {
    /// Its id.
    pub id: String,
    /// Why, for people.
    pub why: String,
}

/// Starts of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedVariant {
    /// The remedies that they had, by their ids; none for plain ones.
    pub remedies: Vec<String>,
    /// How cold the plain starts are that they are compared with.
    pub against: Temperature,
    /// Where the recording lies.
    pub recording: String,
    /// Seconds from exec to the end of the first iteration: the geometric mean of the starts
    /// that count, with its 95 % interval.
    pub time_to_first: Option<Estimate>,
    /// The same of each start that counts, in the order in which they ran.
    pub values: Vec<f64>,
    /// Where the time went: medians of the starts that count, in the order of
    /// [`Cause::ALL`](crate::run::Cause::ALL).
    #[serde(default)]
    pub causes: Vec<CauseSeconds>,
    /// Seconds that they save against plain ones, with a 95 % interval.
    pub saved: Option<Estimate>,
    /// How many times faster they are, with a 95 % interval.
    pub times: Option<Estimate>,
}

/// What follows for a remedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Its id.
    pub id: String,
    /// Seconds that were predicted from a recorded plain start, if anything was.
    pub predicted: Option<f64>,
    /// Seconds that it saves alone.
    pub alone: Option<Estimate>,
    /// Seconds that it adds to what all others save together, where there are others.
    pub with_others: Option<Estimate>,
    /// Whether it is kept, and by which measurement.
    pub kept: Kept,
}

/// Why a remedy is kept, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// It saves the most of all alone.
    Alone,
    /// It saves something beside the others.
    WithOthers,
    /// No: whether it saves anything is not clear.
    Unclear,
    /// No: it costs more than it saves.
    Costs,
    /// No: it saves at the start, and the iterations after the first take longer.
    Slows,
    /// No: too few of its starts came to an end.
    NotMeasured,
}

impl Kept {
    /// Whether it is kept.
    pub fn is_kept(self) -> bool {
        matches!(self, Kept::Alone | Kept::WithOthers)
    }
}
