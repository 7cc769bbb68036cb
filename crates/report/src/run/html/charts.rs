//! The interactive charts: the timeline from exec to the third iteration, thread by thread, and
//! two flame graphs: imports nested by importing module, and functions nested by caller.
//!
//! A script draws them from the data in the page. Without JavaScript, the page shows a static
//! picture of the path and tables of the largest nodes. The size of the data is bounded: only
//! the longest bars and parts are kept.

use maud::{Markup, html};
use preheat_model::run::{Bar, Cause, FlameNode, RunView};
use serde_json::{Value, json};

use super::RunPage;
use crate::html::bands::{Bands, Layout, NARROW, WIDE};
use crate::html::cause_style;
use crate::html::cut;
use crate::html::figure::{Figure, Table};
use crate::html::moving::{
    DETAIL, NAME, Names, chart, element, help, longest, micros, plain, segment,
};
use crate::html::scale::{Axis, round_step};
use crate::html::svg::Svg;
use crate::units::duration;

/// The numbers of parts of the path in the static picture and in the data table: the
/// longest ones.
const MAX_DRAWN_PARTS: usize = 150;
const MAX_LISTED_PARTS: usize = 60;

/// Adds the section.
pub(super) fn timeline(page: &mut RunPage, view: &RunView) {
    if view.path.is_empty() && view.rows.is_empty() {
        return;
    }
    let causes: Vec<Cause> = view
        .path
        .iter()
        .map(|part| part.cause)
        .chain(
            view.rows
                .iter()
                .flat_map(|row| &row.bars)
                .filter_map(|bar| bar.cause),
        )
        .collect();
    let still = [WIDE, NARROW].map(|layout| {
        draw(layout, view).finish(
            &page.id(),
            layout.class,
            "The path from exec to the third iteration",
            "Each instant in the color of its cause.",
        )
    });
    let number = view.start + 1;
    let moving = chart(
        "timeline-chart",
        "With JavaScript, this is a timeline of all threads that can be zoomed.",
        &still,
    );
    let figure = Figure {
        title: format!("Start {number}, from exec to {}", duration(view.until)),
        note:
            "The path shows the cause of the time at each instant; the causes above are its sums. \
               Below it is each thread with its activity."
                .to_owned(),
        key: cause_style::key(&causes),
        drawings: vec![moving],
        data: path_table(view),
        ..Figure::default()
    };
    let content = html! { (figure.html()) (help()) };
    page.section("timeline", "Timeline", "", content);
}

fn draw(layout: Layout, view: &RunView) -> Svg {
    let layout = Layout {
        left: 4.0,
        right: layout.width - 4.0,
        row: 30.0,
        middle: 13.0,
        ..layout
    };
    let step = round_step(view.until, layout.ticks);
    let mut bands = Bands::new(layout, &[true], Axis::from_zero(view.until, step, duration));
    let top = bands.middle(0) - 11.0;
    for part in longest(&view.path, MAX_DRAWN_PARTS, |part| (part.begin, part.end)) {
        let (from, to) = (bands.axis.at(part.begin), bands.axis.at(part.end));
        let say = format!(
            "{}: {} {}",
            part.cause.as_str(),
            part.label,
            duration(part.end - part.begin)
        );
        bands.svg.rect(
            &format!("bar {}", cause_style::class(part.cause)),
            (from, top),
            ((to - from).max(0.6), 22.0),
            &say,
        );
    }
    for (begin, end) in &view.iterations {
        for at in [begin, end] {
            let at = bands.axis.at(*at);
            bands
                .svg
                .line("iteration-line", (at, top - 3.0), (at, top + 27.0));
        }
    }
    bands.svg
}

fn path_table(view: &RunView) -> Table {
    let mut table = Table::new(&["from", "to", "time", "cause", "main item"]);
    table.words = vec![3, 4];
    for part in longest(&view.path, MAX_LISTED_PARTS, |part| (part.begin, part.end)) {
        table.rows.push(vec![
            duration(part.begin),
            duration(part.end),
            duration(part.end - part.begin),
            part.cause.as_str().to_owned(),
            cut(&part.label, 90),
        ]);
    }
    table
}

/// The number of nodes in the data table.
const ROWS: usize = 60;

/// Adds the section on imports.
pub(super) fn imports(page: &mut RunPage, view: &RunView) {
    const COLUMNS: [&str; 4] = ["module", "total", "own", "imported by"];
    if let Some(figure) = figure("imports-chart", &view.imports, &COLUMNS) {
        page.section(
            "imports",
            "Imports",
            "Each module is below its importer, and its width is its time including nested imports. \
             Click a module, or select it and press Enter, to zoom to it; press Esc to zoom out. \
             Small modules are omitted.",
            figure,
        );
    }
}

/// Adds the section on functions.
pub(super) fn functions(page: &mut RunPage, view: &RunView) {
    const COLUMNS: [&str; 4] = ["function", "total", "own", "at"];
    if let Some(figure) = figure("functions-chart", &view.functions, &COLUMNS) {
        page.section(
            "functions",
            "Own CPU time",
            "The functions in which the program computed before the end of the first iteration, \
             outside all other causes. Each function is below its caller, and its width is its time \
             including the functions it called. Click a function to zoom to it; press Esc to zoom \
             out. Sampled every few milliseconds; small functions are omitted.",
            figure,
        );
    }
}

fn figure(id: &str, roots: &[FlameNode], columns: &'static [&'static str; 4]) -> Option<Markup> {
    if (roots.iter()).all(|node| node.children.is_empty() && node.seconds <= 0.0) {
        return None;
    }
    let sentence = "With JavaScript, this is an interactive flame graph; the data below has the \
                    same numbers.";
    let figure = Figure {
        drawings: vec![chart(id, sentence, &[])],
        data: node_table(roots, columns),
        ..Figure::default()
    };
    Some(figure.html())
}

fn node_table(roots: &[FlameNode], columns: &'static [&'static str; 4]) -> Table {
    let mut all: Vec<&FlameNode> = Vec::new();
    let mut open: Vec<&FlameNode> = roots.iter().collect();
    while let Some(node) = open.pop() {
        all.push(node);
        open.extend(&node.children);
    }
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let mut table = Table::new(columns);
    table.words = vec![3];
    for node in all.into_iter().take(ROWS) {
        table.rows.push(vec![
            cut(&node.name, 90),
            duration(node.seconds),
            duration(node.own),
            cut(&node.detail, 160),
        ]);
    }
    table
}

/// The maximum number of each that is drawn.
const BARS: usize = 3000;
const SEGMENTS: usize = 1500;
const NODES: usize = 2000;
const ITERATIONS: usize = 64;

/// The element that holds the data.
pub(super) fn data_block(view: &RunView) -> Markup {
    element(&data(view))
}

fn data(view: &RunView) -> Value {
    let mut names = Names::default();
    let path: Vec<Value> = longest(&view.path, SEGMENTS, |part| (part.begin, part.end))
        .into_iter()
        .map(|part| segment(part, &mut names))
        .collect();
    let bars = view.rows.iter().enumerate();
    let bars: Vec<(usize, &Bar)> = bars
        .flat_map(|(row, of)| of.bars.iter().map(move |bar| (row, bar)))
        .collect();
    let mut rows: Vec<Vec<Value>> = vec![Vec::new(); view.rows.len()];
    for (row, bar) in longest(&bars, BARS, |(_, bar)| (bar.begin, bar.end)) {
        rows[*row].push(json!([
            micros(bar.begin),
            micros(bar.end),
            bar.depth,
            bar.cause.map_or(-1, |cause| cause.index() as i64),
            names.of(&bar.label, NAME),
            names.of(&bar.detail, DETAIL),
            bar.spans
        ]));
    }
    let rows: Vec<Value> = rows
        .into_iter()
        .zip(&view.rows)
        .filter(|(bars, _)| !bars.is_empty())
        .map(|(bars, row)| {
            json!({"name": plain(&row.name, NAME), "process": plain(&row.process, NAME), "bars": bars})
        })
        .collect();
    let iterations: Vec<Value> = view
        .iterations
        .iter()
        .take(ITERATIONS)
        .map(|(begin, end)| json!([micros(*begin), micros(*end)]))
        .collect();
    let imports = flame(&view.imports, &mut names);
    let functions = flame(&view.functions, &mut names);
    json!({
        "until": micros(view.until),
        "first": view.iterations.first().map_or(0, |(_, end)| micros(*end)),
        "causes": Cause::ALL.map(Cause::as_str),
        "path": path,
        "iterations": iterations,
        "rows": rows,
        "imports": imports,
        "functions": functions,
        "names": names.all,
    })
}

/// A flame graph as a list in which each node comes after its parent and refers to it by
/// index: `[parent or −1, name, detail, begin, seconds, own]`. The longest nodes are kept,
/// each with its ancestors: no node is longer than its parent.
fn flame(roots: &[FlameNode], names: &mut Names) -> Vec<Value> {
    let mut all: Vec<(f64, &FlameNode)> = Vec::new();
    let mut open: Vec<(f64, &FlameNode)> = roots.iter().map(|node| (f64::INFINITY, node)).collect();
    while let Some((above, node)) = open.pop() {
        let length = node.seconds.min(above);
        all.push((length, node));
        open.extend(node.children.iter().map(|child| (length, child)));
    }
    let mut lengths: Vec<f64> = all.iter().map(|(length, _)| *length).collect();
    lengths.sort_by(|a, b| b.total_cmp(a));
    let least = lengths.get(NODES).copied().unwrap_or(f64::NEG_INFINITY);
    let mut list: Vec<Value> = Vec::new();
    let mut open: Vec<(i64, f64, &FlameNode)> = roots
        .iter()
        .rev()
        .map(|node| (-1, f64::INFINITY, node))
        .collect();
    while let Some((parent, above, node)) = open.pop() {
        let length = node.seconds.min(above);
        if length.is_nan() || length < least || list.len() >= NODES {
            continue;
        }
        let place = list.len() as i64;
        list.push(json!([
            parent,
            names.of(&node.name, NAME),
            names.of(&node.detail, DETAIL),
            micros(node.begin),
            micros(node.seconds),
            micros(node.own)
        ]));
        open.extend(
            node.children
                .iter()
                .rev()
                .map(|child| (place, length, child)),
        );
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_kept_with_its_ancestors() {
        let leaf = |name: &str, seconds| FlameNode {
            name: name.to_owned(),
            seconds,
            ..FlameNode::default()
        };
        let root = FlameNode {
            children: (0..3000)
                .map(|at| leaf("leaf", 1.0 - f64::from(at) / 1e4))
                .collect(),
            ..leaf("root", 2000.0)
        };
        let mut names = Names::default();
        let list = flame(&[root], &mut names);
        assert!(list.len() > 1500 && list.len() <= NODES, "{}", list.len());
        assert_eq!(list[0][0], -1);
        assert!(list[1..].iter().all(|module| module[0] == 0));
        assert_eq!(names.all, ["root", "", "leaf"]);
    }
}
