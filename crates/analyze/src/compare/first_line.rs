//! Comparisons of iterations whose beginning is not certain: lines of output end them, or nothing
//! precedes the first step of an optimizer.
//!
//! A warm-up without output precedes the first line. If the beginning of the first iteration is
//! known, such a warm-up is not part of it, but still part of the time to first; otherwise
//! it may be part of the first iteration. Neither makes a program slower.

use preheat_model::Quantity;

use super::judge::Settings;
use super::measure::{Measured, Samples};
use super::{Compared, QuantityChange, Verdict};
use crate::run::{FirstBegin, IterationsBy, RunReport};

/// The quantities that depend on the beginning of the first iteration.
const OF_FIRST: [Quantity; 4] = [
    Quantity::First,
    Quantity::Ratio,
    Quantity::Warmup,
    Quantity::Excess,
];

fn depends_on_first(id: Compared) -> bool {
    OF_FIRST.iter().any(|quantity| id == *quantity)
}

/// The evidence for the beginning of the first iterations of base and new; `None` if another
/// rule defines their iterations.
pub(super) struct FirstLine {
    sides: Option<(FirstBegin, FirstBegin)>,
    /// True if the first iteration of a side may contain something else.
    unknown: bool,
    /// True if lines end the iterations.
    by_lines: bool,
}

impl FirstLine {
    pub(super) fn of(base: &RunReport, new: &RunReport) -> FirstLine {
        FirstLine {
            sides: base.first_begin.zip(new.first_begin),
            unknown: [base, new]
                .iter()
                .any(|side| side.first_begin.is_some_and(|begin| !begin.known)),
            by_lines: base.iterations_by == IterationsBy::Lines,
        }
    }

    /// The warm-up iterations of each side before its first line, if their numbers differ.
    fn warm_ups(&self) -> Option<(usize, usize)> {
        let numbers = self.sides.map(|(base, new)| (base.silent, new.silent));
        numbers.filter(|(base, new)| base != new)
    }

    /// The settings without quantities that a warm-up may change.
    pub(super) fn gated(&self, settings: &Settings) -> Settings {
        let mut left_out: Vec<Quantity> = Vec::new();
        if self.unknown {
            left_out.extend(OF_FIRST);
        }
        if self.warm_ups().is_some() {
            left_out.push(Quantity::TimeToFirst);
        }
        settings.without(&left_out)
    }

    /// Omits the tests of quantities whose beginning is not known.
    pub(super) fn judgeable(&self, samples: &[Samples], measured: Vec<Measured>) -> Vec<Measured> {
        let each = samples.iter().zip(measured);
        each.map(|(samples, measured)| match self.unknown {
            true if depends_on_first(samples.id) => Measured {
                p: None,
                ..measured
            },
            _ => measured,
        })
        .collect()
    }

    /// States why quantities without a test have no verdict.
    pub(super) fn explain(&self, quantities: &mut [QuantityChange]) {
        if !self.unknown {
            return;
        }
        let judged = |quantity: &&mut QuantityChange| depends_on_first(quantity.id);
        for quantity in quantities.iter_mut().filter(judged) {
            quantity.verdict = Verdict::Inconclusive;
            "the beginning of the first iteration is not known".clone_into(&mut quantity.why);
        }
    }

    /// Sentences for the notes.
    pub(super) fn notes(&self) -> Vec<String> {
        let unknown = self.unknown.then(|| match self.by_lines {
            true => {
                "nothing that repeats between the lines shows where the first iteration begins: it \
                 may contain a warm-up without output, so it has no verdict and cannot fail; \
                 lines:BEGIN=>END marks its beginning"
                    .to_owned()
            }
            false => {
                "nothing shows where the first iteration begins: it may contain set-up, so it has \
                 no verdict and cannot fail; a timer around each iteration marks its beginning"
                    .to_owned()
            }
        });
        let warm_ups = self.warm_ups().map(|(base, new)| {
            format!(
                "warm-up iterations without output before the first line: {base} in base, {new} \
                 in new; time to first includes them and cannot fail"
            )
        });
        unknown.into_iter().chain(warm_ups).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareKind, DEFAULT_GATE};

    fn gate(base: (bool, usize), new: (bool, usize)) -> (Vec<Compared>, usize) {
        let side = |(known, silent)| FirstBegin { known, silent };
        let first_line = FirstLine {
            sides: Some((side(base), side(new))),
            unknown: !(base.0 && new.0),
            by_lines: true,
        };
        let settings = Settings::new(CompareKind::Runs, "0");
        (first_line.gated(&settings).gate, first_line.notes().len())
    }

    #[test]
    fn a_warm_up_without_output_cannot_fail() {
        let all = DEFAULT_GATE.map(Compared::Quantity).to_vec();
        let without = |of: Quantity| -> Vec<Compared> {
            all.iter().copied().filter(|other| *other != of).collect()
        };
        assert_eq!(gate((true, 0), (true, 0)), (all.clone(), 0));
        let (gated, notes) = gate((true, 0), (true, 5));
        assert_eq!(gated, without(Quantity::TimeToFirst));
        assert_eq!(notes, 1);
        let (gated, notes) = gate((true, 0), (false, 0));
        assert_eq!(gated, without(Quantity::First));
        assert_eq!(notes, 1);
    }
}
