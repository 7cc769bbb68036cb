//! How it was measured, in short, and how to do it again.

use crate::html::command::command_line;
use crate::html::escape::escape;
use crate::html::page::Page;

/// What holds for every report.
const METHOD: &str = "\
<p><b>A start is a fresh process.</b> Each experiment and each of its variants is run in \
processes of its own, so that every start finds a process in which nothing has happened yet. \
The order of the starts is shuffled by the seed.</p>\
<p><b>The first start is reported apart.</b> It may have found cold disks and caches. Medians \
and intervals are those of the other starts, where there are any.</p>\
<p><b>Times end when the work has ended.</b> Work on a device is queued, so what is timed is \
synchronized at both ends, unless a series says otherwise.</p>\
<p><b>First and steady.</b> The first iteration is a quantity of its own. Steady is the median \
after warm-up, which ends at the last change of level; a series that never settles has no \
steady state. The ratio is first ÷ steady.</p>\
<p><b>Intervals</b> are 95 % intervals of a hierarchical bootstrap: starts are drawn again, \
then iterations within them, by the seed. With fewer than three starts there is none. A claim holds, or does not, only if the interval is \
clear of its threshold, which stands with the evidence; else it is inconclusive.</p>";

/// The section.
pub(in crate::html) fn add(page: &mut Page) {
    let command = command_line(&page.report.command);
    let mut html = format!("<div class=\"method\">{METHOD}</div>");
    if !command.is_empty() {
        html.push_str(&format!(
            "<h3>The command</h3><pre class=\"command\"><code>{}</code></pre>",
            escape(&command)
        ));
    }
    page.section("method", "How it was measured", "", &html);
}
