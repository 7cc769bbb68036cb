//! Every quantity of a run: both levels, the change and its interval.

use super::super::ComparePage;
use super::super::rows::table;
use crate::compare::order::{by_sides, only_in};
use crate::compare::words::{margin, sentence};
use crate::html::escape::escape;
use crate::units::tie;

/// Adds the section.
pub(in crate::compare::html) fn add(page: &mut ComparePage) {
    let report = page.report;
    let (both, one_side) = by_sides(report);
    let mut html = table(report, &both, |quantity| {
        let gated = match quantity.gated {
            true => String::new(),
            false => "not gated".to_owned(),
        };
        (quantity.name.clone(), gated)
    });
    for text in only_in(&one_side) {
        html.push_str(&format!(
            "<p class=\"note\">{}</p>",
            escape(&tie(&sentence(&text)))
        ));
    }
    let lead = format!(
        "Each dot is a change, the line through it its 95 % interval, and the band ± {} the margin \
         of a regression. Decreases are to the left of zero, increases to the right. The scale is \
         linear near zero and logarithmic further out.",
        margin(report.max_regression)
    );
    page.section("quantities", "Quantities", &lead, &html);
}
