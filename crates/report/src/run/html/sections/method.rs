//! How to read the page.

use super::super::RunPage;

/// What holds for every report of a run.
const METHOD: &str = "\
<p><b>Time to first</b> goes from exec of the command to the end of its first iteration; where \
nothing repeats, to the end of the program.</p>\
<p><b>First and steady.</b> An iteration is what the program repeats. The first is a quantity of \
its own. Steady is the median after warm-up, which ends at the last change of level; a series \
that never settles has no steady state.</p>\
<p><b>A cause</b> is where time went. At each instant it is that of the thread that runs the \
iterations; while that thread waits on another, it is what that other one is doing. So the causes \
add up to the time to first. What a steady iteration takes too is no cold start, and is told apart \
as steady work.</p>\
<p><b>A start is a fresh process.</b> The first start is reported apart: it may have found cold \
disks and caches. Numbers are those of the other starts, where there are any. The time line, the \
imports and the memory are those of one start, the one nearest to the median.</p>\
<p><b>Temperatures.</b> Process: a fresh process, everything may be cached. Disk: the files that \
it reads are evicted from the page cache first. Caches: kernel and compile caches start empty. They are \
not nested.</p>\
<p><b>Intervals</b> are 95 % intervals of a hierarchical bootstrap: starts are drawn again, then \
iterations within them, by the seed. With fewer than three starts there is none.</p>\
<p><b>Device work</b> is queued. Unless the recording waits for the device, an iteration ends when \
the program goes on, which may be before the device is done.</p>";

/// The section.
pub(in crate::run::html) fn add(page: &mut RunPage) {
    page.section(
        "method",
        "How to read this",
        "",
        &format!("<div class=\"method\">{METHOD}</div>"),
    );
}
