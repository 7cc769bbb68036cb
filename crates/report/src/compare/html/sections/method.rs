//! How to read the page.

use preheat_analyze::compare::CompareKind;

use super::super::ComparePage;

/// What holds for every comparison.
const METHOD: &str = "\
<p><b>A start is what counts once.</b> Iterations of one start are alike, so each start gives one \
number for each quantity. The very first start of a side is left out: it may have found cold disks \
and caches.</p>\
<p><b>Intervals</b> are 95 % intervals of Welch’s method, which lets the two sides vary \
differently. Times, memory and ratios are compared by their logarithms; what may be zero, such as \
a cause, by its difference. With fewer than three starts on a side there is none. Starts of the two \
sides take turns where commands are compared live, but are not paired.</p>\
<p><b>Verdicts.</b> Slower or faster is said only if chance alone would hardly do it, with regard \
to how many quantities are looked at (Holm’s adjustment): of comparisons in which nothing changed, \
at most 5 % say otherwise. Same means that the whole interval lies within the margin. All else is \
inconclusive, which is no proof of anything: more starts would tell.</p>\
<p><b>A regression</b> needs three things: the verdict slower (larger, of memory), the whole \
interval beyond the margin, and a change of at least the floor. Only gated quantities can fail a \
comparison.</p>";

/// What holds for comparisons of runs.
const RUNS: &str = "\
<p><b>Time to first</b> goes from exec of the command to the end of its first iteration; where \
nothing repeats, to the end of the program. Its causes add up to it, so that their differences add \
up to its difference.</p>\
<p><b>Items</b>, modules and calls for example, are those of one start of each side, the one \
nearest to the median. A module that is new is named, not each of those that it imports.</p>";

/// What holds for the lab.
const LAB: &str = "\
<p><b>Series</b> are matched by experiment, device, variant, name and size. What only one side has \
is not compared, and noted.</p>";

/// The section.
pub(in crate::compare::html) fn add(page: &mut ComparePage) {
    let own = match page.report.kind {
        CompareKind::Runs => RUNS,
        CompareKind::Lab => LAB,
    };
    page.section(
        "method",
        "How to read this",
        "",
        &format!("<div class=\"method\">{METHOD}{own}</div>"),
    );
}
