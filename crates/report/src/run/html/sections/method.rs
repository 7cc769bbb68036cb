//! The explanation of the page.

use super::super::RunPage;

/// The explanation of the method, the same for every report.
const METHOD: &str = "\
<p><b>Time to first</b> is the time from exec of the command to the end of its first iteration, or to \
the end of the program if nothing repeats.</p>\
<p><b>First and steady.</b> An iteration is the unit that the program repeats. The first one is \
reported separately. Steady is the median after warm-up, which ends at the last change of level; a \
series that never settles has no steady state.</p>\
<p><b>A cause</b> is where time went. At each instant, the cause is that of the thread that runs the \
iterations; while that thread waits for another, it is what the other one is doing. So the causes \
add up to the time to first. Work that a steady iteration does too is not part of the cold start; it \
is shown as steady work.</p>\
<p><b>A start is a fresh process.</b> The first start is reported separately: it may have found cold \
disks and caches. Numbers are those of the other starts, if there are any. Timeline, imports and \
memory are those of the start nearest to the median.</p>\
<p><b>Temperatures.</b> Process: a fresh process; everything may be cached. Disk: the files it reads \
are first evicted from the page cache. Caches: kernel and compile caches start empty. Bytecode: \
Python finds no bytecode. No temperature includes another.</p>\
<p><b>Intervals</b> are 95 % intervals from a seeded hierarchical bootstrap, which resamples starts, \
then iterations within them. Fewer than three starts give no interval.</p>\
<p><b>Device work</b> is queued. Unless each iteration is synchronized, it ends when the program \
continues, which may be before the device is done.</p>";

/// Adds the section.
pub(in crate::run::html) fn add(page: &mut RunPage) {
    page.section(
        "method",
        "How to read this",
        "",
        &format!("<div class=\"method\">{METHOD}</div>"),
    );
}
