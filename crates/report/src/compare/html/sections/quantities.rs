//! Every quantity of a run: both levels, the change and its interval.

use preheat_model::compare::Quantity;

use super::super::ComparePage;
use super::super::rows::table;
use crate::compare::words::margin;

/// Adds the section.
pub(in crate::compare::html) fn add(page: &mut ComparePage) {
    let report = page.report;
    let quantities: Vec<&Quantity> = report.quantities.iter().collect();
    let html = table(report, &quantities, |quantity| {
        let gated = match quantity.gated {
            true => String::new(),
            false => "not gated".to_owned(),
        };
        (quantity.name.clone(), gated)
    });
    let lead = format!(
        "Each dot is a change, the line through it its 95 % interval, and the band ± {} the margin \
         of a regression. Decreases are to the left of zero, increases to the right. The scale is \
         linear near zero and logarithmic further out.",
        margin(report.max_regression)
    );
    page.section("quantities", "Quantities", &lead, &html);
}
