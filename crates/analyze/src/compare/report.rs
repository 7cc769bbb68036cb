//! The document `preheat.compare/1`: what every renderer shows. Seconds and bytes.
//!
//! Its description for people is docs/compare-json.md, for programs
//! docs/schema/preheat.compare-1.schema.json; the three change together.

use serde::{Deserialize, Serialize};

use crate::lab::{ExperimentId, Machine};
use crate::run::{Cause, IterationsBy, Temperature};

/// The schema that this version writes.
pub const COMPARE_SCHEMA: &str = "preheat.compare/1";

/// What a change did to the cold start. A difference is always new − base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareReport {
    /// Always [`COMPARE_SCHEMA`].
    pub schema: String,
    /// The version of preheat that compared.
    pub preheat: String,
    /// What was compared: recorded runs, or results of the lab.
    pub kind: CompareKind,
    /// What it was.
    pub base: Side,
    /// What it is now.
    pub new: Side,
    /// A change within ± this part is no regression: 0.05 for `--max-regression 5%`.
    pub max_regression: f64,
    /// Changes below these are no regressions either.
    pub floors: Floors,
    /// What the headline says.
    pub headline: Headline,
    /// Over all: the verdict of the quantity that the headline is about; where nothing
    /// changed, `same` if every gated quantity is there and the same, else `inconclusive`.
    pub verdict: Verdict,
    /// Whether a gated quantity regressed: exit code 1.
    pub regressed: bool,
    /// Whether a gated quantity is inconclusive, or one that the gate names was not measured
    /// on either side, or nothing that is gated was measured at all: exit code 3 if asked
    /// for.
    pub inconclusive: bool,
    /// The quantities, in the order in which they are shown: time to first, first, steady,
    /// ratio, warm-up, excess, device memory, host memory; of the lab, series by series.
    pub quantities: Vec<Quantity>,
    /// The causes, by the size of their difference, largest first; none for the lab.
    /// Their differences add up to that of the arithmetic mean of time to first.
    pub causes: Vec<CauseChange>,
    /// Sentences for people: what differs beside the program, what is missing or doubtful.
    pub notes: Vec<String>,
}

/// What was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompareKind {
    /// Recordings of `preheat run`, their documents, or commands run live.
    Runs,
    /// Results of `preheat lab`.
    Lab,
}

/// One of the two that are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The recording or file, as it was named; of a live comparison where it is kept.
    pub source: String,
    /// The command that was run.
    pub command: Vec<String>,
    /// When its first start began, as an RFC 3339 time in UTC.
    pub created: String,
    /// The version of preheat that recorded.
    pub preheat: String,
    /// On which machine.
    pub machine: Machine,
    /// The device, where that is known: its name for people.
    pub device: Option<String>,
    /// How cold the starts were made; none for the lab.
    pub temperature: Option<Temperature>,
    /// By what iterations were found; none for the lab.
    pub iterations_by: Option<IterationsBy>,
    /// What an iteration is here, for people: `steps of SGD`; empty for the lab.
    pub iteration: String,
    /// How many starts were made; for the lab, of the experiment with the most.
    pub starts: usize,
    /// How many of them count: without the first and those that failed.
    pub counted_starts: usize,
}

/// A change whose size is below the floor is no regression, however large a part it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floors {
    /// Of times that are there once in a start: time to first, the first iteration.
    pub seconds: f64,
    /// Of the steady iteration, which comes again and again.
    pub steady: f64,
    /// Of memory.
    pub bytes: f64,
}

/// The one thing to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// For a person: `+1.9 s: Python imports, sympy is new`. No full stop.
    pub text: String,
    /// The quantity that it is about, by its `id`; none where nothing changed.
    pub quantity: Option<String>,
    /// The cause that explains most of it; none where none does.
    pub cause: Option<Cause>,
    /// What is behind that cause: names of its items, the largest change first.
    pub items: Vec<String>,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Times.
    Seconds,
    /// Memory.
    Bytes,
    /// One time over another.
    Ratio,
    /// Iterations.
    Iterations,
    /// Things.
    Count,
}

/// What is said of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Surely less than it was: less time, less memory.
    Faster,
    /// Surely more than it was.
    Slower,
    /// Surely within the margin.
    Same,
    /// None of the three is sure.
    Inconclusive,
}

impl Verdict {
    /// The word in JSON, and for times.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// The word for people: memory is larger where time is slower.
    pub fn word(self, unit: Unit) -> &'static str {
        match (self, unit) {
            (Verdict::Faster, Unit::Bytes | Unit::Ratio) => "smaller",
            (Verdict::Slower, Unit::Bytes | Unit::Ratio) => "larger",
            (Verdict::Faster, Unit::Iterations | Unit::Count) => "fewer",
            (Verdict::Slower, Unit::Iterations | Unit::Count) => "more",
            (verdict, _) => verdict.as_str(),
        }
    }
}

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The lower end; none with fewer than three starts on a side.
    pub low: Option<f64>,
    /// The upper end; likewise.
    pub high: Option<f64>,
}

/// A quantity on one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The mean over the starts that count: the geometric mean of what is compared by
    /// its logarithm, else the arithmetic one. With its own 95 % interval.
    pub mean: Estimate,
    /// The value of each start that counts, in the order in which they ran.
    pub values: Vec<f64>,
}

/// Which series of the lab a quantity belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesKey {
    /// The experiment.
    pub experiment: ExperimentId,
    /// On what: `cuda`, or `torch on cuda`.
    pub subject: String,
    /// In which variant; empty where there are none.
    pub variant: String,
    /// What was done.
    pub series: String,
    /// The size that a sweep was at, in bytes.
    pub size: Option<u64>,
}

/// A quantity on both sides, and what is said of its change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// For programs: `time-to-first`, `first`, `steady`, `ratio`, `warmup`, `excess`,
    /// `device-memory`, `host-memory`; of the lab `first`, `steady`, `ratio` or `value`.
    pub id: String,
    /// For people: `time to first`, `first iteration`, …
    pub name: String,
    /// What its numbers count.
    pub unit: Unit,
    /// The series of the lab that it belongs to; none for runs.
    pub of: Option<SeriesKey>,
    /// What it was; none if that side has no such number.
    pub base: Option<Level>,
    /// What it is now; likewise. At least one of the two is there.
    pub new: Option<Level>,
    /// new − base; none if a side has no number.
    pub difference: Option<Estimate>,
    /// (new − base) ÷ base; none also where base is zero, and of what is compared by its
    /// difference (warm-up, excess).
    pub relative: Option<Estimate>,
    /// How probable so large a change is by chance alone; none without an interval.
    pub p: Option<f64>,
    /// The same, with regard to how many quantities are looked at (Holm).
    pub adjusted_p: Option<f64>,
    /// What is said of it.
    pub verdict: Verdict,
    /// Why it is inconclusive, for people; empty where it is not.
    pub why: String,
    /// Whether it can fail the comparison.
    pub gated: bool,
    /// Whether it does: slower, the whole interval beyond `max_regression`, and the
    /// change at least its floor.
    pub regressed: bool,
}

/// A cause on both sides: seconds on the path to the end of the first iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseChange {
    /// Which.
    pub cause: Cause,
    /// What it was; zeros where it did not occur.
    pub base: Level,
    /// What it is now.
    pub new: Level,
    /// new − base.
    pub difference: Estimate,
    /// As of a quantity.
    pub p: Option<f64>,
    /// As of a quantity.
    pub adjusted_p: Option<f64>,
    /// What is said of it; its margin is `max_regression` of the base's time to first.
    pub verdict: Verdict,
    /// What is behind the change, the largest first; of the one start of each side that
    /// is shown. Not all of it.
    pub items: Vec<ItemChange>,
    /// How many items changed in all.
    pub items_in_all: u64,
}

/// What happened to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Base has none of it.
    New,
    /// It is no longer there.
    Gone,
    /// It takes longer.
    Grown,
    /// It takes less.
    Shrunk,
}

impl Change {
    /// The words after a name: `sympy is new`.
    pub fn words(self) -> &'static str {
        match self {
            Change::New => "is new",
            Change::Gone => "is gone",
            Change::Grown => "takes longer",
            Change::Shrunk => "takes less",
        }
    }
}

/// One thing behind the change of a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemChange {
    /// Its name: `sympy`, `libcudnn_ops.so.9`, `cuLibraryLoadData`.
    pub name: String,
    /// Who asked for it or what it was about; may be empty.
    pub detail: String,
    /// How long it was; 0 if new. A module's time is with all that it imports.
    pub base: f64,
    /// How long it is; 0 if gone.
    pub new: f64,
    /// new − base.
    pub difference: f64,
    /// What happened to it.
    pub change: Change,
}
