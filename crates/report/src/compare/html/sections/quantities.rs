//! Every quantity of a run: what it was, what it is, and how sure the change is.

use preheat_analyze::compare::Quantity;

use super::super::ComparePage;
use super::super::rows::table;
use crate::compare::words::margin;

/// The section.
pub(in crate::compare::html) fn add(page: &mut ComparePage) {
    let report = page.report;
    let quantities: Vec<&Quantity> = report.quantities.iter().collect();
    let html = table(&quantities, report.max_regression, |quantity| {
        let gated = match quantity.gated {
            true => String::new(),
            false => "not gated".to_owned(),
        };
        (quantity.name.clone(), gated)
    });
    let lead = format!(
        "A dot is the change, the line through it its 95 % interval, the band ± {}: the margin of \
         a regression. Less is to the left of zero, more to the right; near zero the scale is \
         linear, further out logarithmic.",
        margin(report.max_regression)
    );
    page.section("quantities", "Quantities", &lead, &html);
}
