//! The comparison of two measurements: the document `preheat.compare/2`, which every renderer
//! shows. Units are seconds and bytes.
//!
//! Documented in docs/compare-json.md and docs/schema/preheat.compare-2.schema.json; change
//! all three together.

use serde::{Deserialize, Serialize};

use crate::lab::ExperimentId;
use crate::run::{Cause, IterationsBy, Temperature};
use crate::stats::Estimate;
use crate::{Machine, Quantity};

pub use crate::units::Unit;

/// The schema id that this version writes.
pub const COMPARE_SCHEMA: &str = "preheat.compare/2";
/// All schema ids that this version reads.
pub const COMPARE_SCHEMAS: [&str; 2] = [COMPARE_SCHEMA, "preheat.compare/1"];

/// The effect of a change on cold start. Differences are always new − base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareReport {
    /// Always [`COMPARE_SCHEMA`].
    pub schema: String,
    /// The version of preheat that compared.
    pub preheat: String,
    /// The type of measurements compared: recorded runs or lab results.
    pub kind: CompareKind,
    /// The old state.
    pub base: Side,
    /// The new state.
    pub new: Side,
    /// A change within ± this fraction is not a regression: 0.05 for `--max-regression 5%`.
    pub max_regression: f64,
    /// Changes below these are not regressions either.
    pub floors: Floors,
    /// The headline.
    pub headline: Headline,
    /// The overall verdict: that of the headline's quantity; if nothing changed, `same` if
    /// all gated quantities exist and are the same, else `inconclusive`.
    pub verdict: Verdict,
    /// True if a gated quantity regressed: exit code 1.
    pub regressed: bool,
    /// True if a gated quantity is inconclusive, or one named in the gate was not measured
    /// on either side, or no gated quantity was measured at all: exit code 3 if requested.
    pub inconclusive: bool,
    /// The quantities in display order: time to first, first, steady, ratio, warm-up,
    /// excess, device memory, host memory; for the lab, series by series.
    pub quantities: Vec<QuantityChange>,
    /// The causes, largest difference first; none for the lab. Their differences add up to
    /// that of the arithmetic mean of time to first.
    pub causes: Vec<CauseChange>,
    /// Human-readable notes: other differences, and missing or doubtful data.
    pub notes: Vec<String>,
}

/// The type of measurements compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompareKind {
    /// Recordings of `preheat run`, their documents, or commands run live.
    Runs,
    /// Results of `preheat lab`.
    Lab,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The recording or file, as the user named it; for a live comparison, where it is
    /// stored.
    pub source: String,
    /// The command that was run.
    pub command: Vec<String>,
    /// The time when its first start began, as RFC 3339 in UTC.
    pub created: String,
    /// The version of preheat that recorded.
    pub preheat: String,
    /// The machine it ran on.
    pub machine: Machine,
    /// The human-readable device name, if known.
    pub device: Option<String>,
    /// The temperature of the starts; `None` for the lab.
    pub temperature: Option<Temperature>,
    /// The method by which iterations were found; `None` for the lab.
    pub iterations_by: Option<IterationsBy>,
    /// A human-readable description of an iteration: `steps of SGD`; empty for the lab.
    pub iteration: String,
    /// The number of starts; for the lab, in the experiment with the most.
    pub starts: usize,
    /// The number of starts that count: without the first and failed ones.
    pub counted_starts: usize,
}

/// Absolute changes below the floor are not regressions, however large they are relatively.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floors {
    /// For times that occur once per start: time to first, the first iteration.
    pub seconds: f64,
    /// For the steady iteration, which recurs.
    pub steady: f64,
    /// For memory.
    pub bytes: f64,
}

/// The most important result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// The text: `+1.9 s: Python imports, sympy is new`. No full stop.
    pub text: String,
    /// The `id` of the quantity it is about; `None` if nothing changed.
    pub quantity: Option<Compared>,
    /// The cause that explains most of it, if any.
    pub cause: Option<Cause>,
    /// The names of that cause's items, largest change first.
    pub items: Vec<String>,
}

/// The verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Significantly less: less time, less memory.
    Faster,
    /// Significantly more.
    Slower,
    /// Conclusively within the margin.
    Same,
    /// None of the above.
    Inconclusive,
}

impl Verdict {
    /// The name in JSON, and for times.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Inconclusive => "inconclusive",
        }
    }

    /// The display word: memory is "larger" where time is "slower".
    pub fn word(self, unit: Unit) -> &'static str {
        match (self, unit) {
            (Verdict::Same, _) => "unchanged",
            (Verdict::Faster, Unit::Bytes | Unit::Ratio) => "smaller",
            (Verdict::Slower, Unit::Bytes | Unit::Ratio) => "larger",
            (Verdict::Faster, Unit::Iterations | Unit::Count) => "fewer",
            (Verdict::Slower, Unit::Iterations | Unit::Count) => "more",
            (verdict, _) => verdict.as_str(),
        }
    }
}

/// A p-value below this is significant.
pub const SIGNIFICANT: f64 = 0.05;

/// The verdict of a test on its own, if only the correction for the number of tests made it
/// inconclusive.
fn uncorrected(
    verdict: Verdict,
    [p, adjusted]: [Option<f64>; 2],
    difference: Option<Estimate>,
) -> Option<Verdict> {
    let by_correction = verdict == Verdict::Inconclusive
        && p.is_some_and(|p| p < SIGNIFICANT)
        && adjusted.is_some_and(|p| p >= SIGNIFICANT);
    match difference?.value {
        _ if !by_correction => None,
        more if more > 0.0 => Some(Verdict::Slower),
        less if less < 0.0 => Some(Verdict::Faster),
        _ => None,
    }
}

/// A quantity on one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The mean over the starts that count, with its 95 % interval: geometric for
    /// quantities compared by logarithm, else arithmetic.
    pub mean: Estimate,
    /// The value of each start that counts, in the order they ran.
    pub values: Vec<f64>,
}

/// The lab series that a quantity belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesKey {
    /// The experiment.
    pub experiment: ExperimentId,
    /// The subject: `cuda`, or `torch on cuda`.
    pub subject: String,
    /// The variant; empty if there is only one.
    pub variant: String,
    /// The name of the series.
    pub series: String,
    /// The size within a sweep, in bytes.
    pub size: Option<u64>,
}

/// The subject of one line of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// A region that the program times itself.
    Region,
    /// A value that the lab measures once per start.
    Value,
    /// A quantity of a start.
    #[serde(untagged)]
    Quantity(Quantity),
}

impl Compared {
    /// The name in documents: `time-to-first`, `region`.
    pub fn id(self) -> &'static str {
        match self {
            Compared::Region => "region",
            Compared::Value => "value",
            Compared::Quantity(quantity) => quantity.id(),
        }
    }
}

impl From<Quantity> for Compared {
    fn from(quantity: Quantity) -> Compared {
        Compared::Quantity(quantity)
    }
}

impl PartialEq<Quantity> for Compared {
    fn eq(&self, other: &Quantity) -> bool {
        *self == Compared::Quantity(*other)
    }
}

/// A quantity on both sides, and the verdict on its change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantityChange {
    /// The machine-readable name. A lab has `first`, `steady`, `ratio` and `value`.
    pub id: Compared,
    /// The human-readable name: `time to first`, `first iteration`, …
    pub name: String,
    /// The unit of its numbers.
    pub unit: Unit,
    /// The lab series it belongs to; `None` for runs.
    pub of: Option<SeriesKey>,
    /// The base value, if that side has one.
    pub base: Option<Level>,
    /// The new value, if that side has one. At least one side has a value.
    pub new: Option<Level>,
    /// new − base; `None` if a side has no value.
    pub difference: Option<Estimate>,
    /// (new − base) ÷ base; also `None` where base is zero, and for quantities compared by
    /// their difference (warm-up, excess).
    pub relative: Option<Estimate>,
    /// The p-value of the change; `None` without an interval.
    pub p: Option<f64>,
    /// The p-value adjusted for the number of quantities (Holm).
    pub adjusted_p: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason why it is inconclusive, as text; empty otherwise.
    pub why: String,
    /// True if it can fail the comparison.
    pub gated: bool,
    /// True if it fails the comparison: it is slower, its whole interval is beyond
    /// `max_regression`, and the change is at least its floor.
    pub regressed: bool,
}

impl QuantityChange {
    /// The verdict without the correction for the number of quantities, if that made it
    /// inconclusive.
    pub fn uncorrected(&self) -> Option<Verdict> {
        uncorrected(self.verdict, [self.p, self.adjusted_p], self.difference)
    }
}

/// A cause on both sides: seconds on the path to the end of the first iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseChange {
    /// The cause.
    pub cause: Cause,
    /// The base value; zero where it did not occur.
    pub base: Level,
    /// The new value.
    pub new: Level,
    /// new − base.
    pub difference: Estimate,
    /// As for a quantity.
    pub p: Option<f64>,
    /// As for a quantity.
    pub adjusted_p: Option<f64>,
    /// The verdict; its margin is `max_regression` of the base's time to first.
    pub verdict: Verdict,
    /// The items behind the change, largest first, from the displayed start of each side;
    /// truncated.
    pub items: Vec<ItemChange>,
    /// The total number of changed items.
    pub items_in_all: u64,
}

impl CauseChange {
    /// The verdict without the correction for the number of quantities, if that made it
    /// inconclusive.
    pub fn uncorrected(&self) -> Option<Verdict> {
        let difference = Some(self.difference);
        uncorrected(self.verdict, [self.p, self.adjusted_p], difference)
    }
}

impl CompareReport {
    /// The number of quantities and causes that were tested, for which p-values are
    /// corrected.
    pub fn tests(&self) -> usize {
        let quantities = self.quantities.iter().filter(|of| of.p.is_some()).count();
        quantities + self.causes.iter().filter(|of| of.p.is_some()).count()
    }
}

/// The change of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Base does not have it.
    New,
    /// New does not have it.
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
            Change::Shrunk => "takes less time",
        }
    }
}

/// An item behind the change of a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemChange {
    /// Its name: `sympy`, `libcudnn_ops.so.9`, `cuLibraryLoadData`.
    pub name: String,
    /// Details such as the importer; may be empty.
    pub detail: String,
    /// The base time; 0 if new. A module's time includes everything it imports.
    pub base: f64,
    /// The new time; 0 if gone.
    pub new: f64,
    /// new − base.
    pub difference: f64,
    /// The kind of change.
    pub change: Change,
}
