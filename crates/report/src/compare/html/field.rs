//! Plots differences around zero: a dot for the difference, a whisker for its interval, and
//! a band for the margin of a regression.
//!
//! Small differences need as much space as large ones, so the scale is linear within the
//! margin and logarithmic beyond it (the inverse hyperbolic sine).

use preheat_model::compare::{Estimate, Verdict};

use super::class;
use crate::compare::words::{ends, margin};
use crate::html::escape::escape;

/// The point where the scale becomes logarithmic if there is no margin.
const USUAL_MARGIN: f64 = 0.05;
/// The largest end of an interval that extends the scale.
const FAR: f64 = 10.0;
/// The largest change that extends the scale.
const FURTHEST: f64 = 1000.0;
/// The approximate width of a character on the axis, in percent of the plot.
const SIGN: f64 = 2.4;

/// The scale shared by all differences in a table.
pub(super) struct Field {
    margin: Option<f64>,
    bend: f64,
    /// The difference at both ends.
    most: f64,
}

impl Field {
    /// Creates a scale that fits all `parts`.
    pub fn new<'a>(parts: impl Iterator<Item = &'a Estimate>, margin: f64) -> Field {
        let margin = Some(margin).filter(|margin| *margin > 0.0 && margin.is_finite());
        let bend = margin.unwrap_or(USUAL_MARGIN);
        // Clip distant ends of intervals, so that they do not compress everything else;
        // changes themselves are shown up to a much larger value.
        let far = |part: f64, most: f64| match part.abs() {
            part if part.is_finite() => part.min(most),
            _ => 0.0,
        };
        let most = parts.fold(2.0 * bend, |most, part| {
            let ends = [part.low, part.high].into_iter().flatten();
            let ends = ends.map(|end| far(end, FAR)).fold(0.0, f64::max);
            most.max(ends).max(far(part.value, FURTHEST))
        });
        Field {
            margin,
            bend,
            most: most * 1.08,
        }
    }

    /// The position of a difference in percent of the width.
    fn at(&self, part: f64) -> f64 {
        let share = (part / self.bend).asinh() / (self.most / self.bend).asinh();
        let share = if share.is_finite() { share } else { 0.0 };
        50.0 + share.clamp(-1.0, 1.0) * 50.0
    }

    fn band(&self) -> String {
        let Some(margin) = self.margin else {
            return String::new();
        };
        let (from, to) = (self.at(-margin), self.at(margin));
        format!(
            "<span class=\"band\" style=\"left:{from:.1}%;width:{:.1}%\"></span>",
            to - from
        )
    }

    /// The axis labels.
    pub fn axis(&self) -> String {
        let steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
        let steps = steps.into_iter().chain((1..6).map(|p| 10f64.powi(p)));
        let steps = steps.filter(|step| *step > self.bend && *step < self.most);
        let mut named: Vec<(f64, String)> = Vec::new();
        let mut end = self.at(0.0) + SIGN;
        for step in std::iter::once(self.bend).chain(steps) {
            let text = margin(step);
            let half = (text.chars().count() + 2) as f64 * SIGN / 2.0;
            let at = self.at(step);
            if at - half >= end && at + half <= 102.0 {
                end = at + half;
                named.push((step, text));
            }
        }
        let name = |part: f64, text: &str| {
            format!(
                "<span class=\"at\" style=\"left:{:.1}%\">{}</span>",
                self.at(part),
                escape(text)
            )
        };
        let names: String = named
            .iter()
            .flat_map(|(part, text)| [name(-part, &format!("−{text}")), name(*part, text)])
            .collect();
        format!(
            "<span class=\"field axis\" aria-hidden=\"true\"><span class=\"at\" style=\"left:50%\">0</span>{names}</span>"
        )
    }

    /// Draws one difference with a tooltip.
    pub fn draw(&self, part: Option<&Estimate>, verdict: Verdict, tooltip: &str) -> String {
        let mut html = format!(
            "<span class=\"field {}\" title=\"{}\" aria-hidden=\"true\">{}<span class=\"zero\"></span>",
            class(verdict),
            escape(tooltip),
            self.band()
        );
        if let Some(part) = part {
            if let Some((low, high)) = ends(part) {
                let (from, to) = (self.at(low.min(high)), self.at(low.max(high)));
                html.push_str(&format!(
                    "<span class=\"whisker\" style=\"left:{from:.1}%;width:{:.1}%\"></span>",
                    to - from
                ));
            }
            if part.value.is_finite() {
                html.push_str(&format!(
                    "<span class=\"dot\" style=\"left:{:.1}%\"></span>",
                    self.at(part.value)
                ));
            }
        }
        html.push_str("</span>");
        html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(value: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            value,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn zero_is_centered_and_everything_fits() {
        let parts = [part(0.27, 0.26, 0.28), part(-0.02, -0.03, -0.01)];
        let field = Field::new(parts.iter(), 0.05);
        assert_eq!(field.at(0.0), 50.0);
        assert!(field.at(0.28) > 90.0 && field.at(0.28) < 100.0);
        assert!((field.at(0.1) + field.at(-0.1) - 100.0).abs() < 1e-9);
        // Small differences are distinguishable next to large ones.
        assert!(field.at(0.05) - 50.0 > 12.0);
        assert!(field.axis().contains(">5 %<") && field.axis().contains(">−20 %<"));
    }

    #[test]
    fn invalid_numbers_are_not_drawn() {
        let bad = part(f64::NAN, f64::NAN, f64::INFINITY);
        let field = Field::new([&bad].into_iter(), f64::NAN);
        let html = field.draw(Some(&bad), Verdict::Inconclusive, "\"x\"");
        assert!(!html.contains("dot") && !html.contains("whisker") && !html.contains("band"));
        assert!(html.contains("title=\"&quot;x&quot;\""));
        assert!(!field.axis().contains("NaN"));
    }

    #[test]
    fn distant_values_are_at_the_edge() {
        let far = part(1e300, -1e300, 1e300);
        let field = Field::new([&far].into_iter(), 0.05);
        assert_eq!(field.at(1e300), 100.0);
        assert_eq!(field.at(-1e300), 0.0);
        // The ends of an interval do not compress everything else.
        let unsure = part(0.2, -0.9, 1e5);
        let field = Field::new([&unsure].into_iter(), 0.05);
        assert!(field.at(0.2) > 65.0, "{}", field.at(0.2));
    }
}
