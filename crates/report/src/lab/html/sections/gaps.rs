//! Differing first starts, failures, what was not measured, and the method with the command to
//! repeat the measurement.

use crate::html::escape::{command_line, escape};
use crate::lab::gaps::{Gap, failures, first_starts, skipped};
use crate::lab::html::Page;
use crate::lab::overview::Subject;

/// Adds the section.
pub(in crate::lab::html) fn add(page: &mut Page, subjects: &[Subject]) {
    let starts: Vec<String> = first_starts(subjects)
        .into_iter()
        .map(|(what, sentence)| format!("<b>{}</b>: {}.", escape(&what), escape(&sentence)))
        .collect();
    let gaps = |gaps: Vec<Gap>| -> Vec<String> {
        gaps.into_iter()
            .map(|gap| {
                let subjects = escape(&gap.subjects.join(", "));
                format!(
                    "<b>{}</b> ({subjects}): {}",
                    escape(&gap.what),
                    escape(&gap.why)
                )
            })
            .collect()
    };
    let html = [
        list("The first start differed", &starts),
        list("Failed", &gaps(failures(page.report))),
        list("Not measured", &gaps(skipped(page.report))),
    ]
    .concat();
    page.section("gaps", "Exceptions", "", &html);
}

fn list(title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items
        .iter()
        .map(|item| format!("<li>{item}</li>"))
        .collect();
    format!("<h3>{title}</h3><ul class=\"plain\">{items}</ul>")
}

/// The explanation of the method, the same for every report.
const METHOD: &str = "\
<p><b>A start is a fresh process.</b> Each variant of each experiment runs in separate processes, \
so that nothing has been initialized before. The order of the starts is shuffled with the seed.</p>\
<p><b>The first start is reported separately.</b> It may have found cold disks and caches. Medians \
and intervals cover the other starts, if there are any.</p>\
<p><b>Timing includes the device.</b> Work on a device is queued, so preheat synchronizes before \
and after each timed operation, unless the name of a series says otherwise.</p>\
<p><b>First and steady.</b> The first iteration is reported separately. Steady is the median after \
warm-up, which ends at the last change of level; a series that never settles has no steady state. \
The ratio is first ÷ steady.</p>\
<p><b>Intervals</b> are 95 % intervals from a seeded hierarchical bootstrap, which resamples starts, \
then iterations within them. Fewer than three starts give no interval. A claim holds, or does not \
hold, only if the interval is clear of the threshold, which the evidence lists; otherwise it is \
inconclusive.</p>";

/// Adds the section.
pub(in crate::lab::html) fn add_method(page: &mut Page) {
    let command = command_line(&page.report.command);
    let mut html = format!("<div class=\"method\">{METHOD}</div>");
    if !command.is_empty() {
        html.push_str(&format!(
            "<h3>Command</h3><pre class=\"command\"><code>{}</code></pre>",
            escape(&command)
        ));
    }
    page.section("method", "Method", "", &html);
}
