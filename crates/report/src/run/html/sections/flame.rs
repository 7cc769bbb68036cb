//! Flame graphs: imports nested by importing module, and functions nested by caller. A
//! script draws them; the largest nodes are also in a data table.

use preheat_model::run::{FlameNode, RunView};

use super::super::RunPage;
use crate::html::escape::cut;
use crate::html::figure::{Figure, Table};
use crate::units::duration;

/// The number of nodes in the data table.
const ROWS: usize = 60;

/// Adds the section on imports.
pub(in crate::run::html) fn imports(page: &mut RunPage, view: &RunView) {
    const COLUMNS: [&str; 4] = ["module", "total", "own", "imported by"];
    if let Some(figure) = figure("imports-chart", &view.imports, &COLUMNS) {
        page.section(
            "imports",
            "Imports",
            "Each module is below its importer, and its width is its time including nested imports. \
             Click a module, or select it and press Enter, to zoom to it; press Esc to zoom out. \
             Small modules are omitted.",
            &figure,
        );
    }
}

/// Adds the section on functions.
pub(in crate::run::html) fn functions(page: &mut RunPage, view: &RunView) {
    const COLUMNS: [&str; 4] = ["function", "total", "own", "at"];
    if let Some(figure) = figure("functions-chart", &view.functions, &COLUMNS) {
        page.section(
            "functions",
            "Own CPU time",
            "The functions in which the program computed before the end of the first iteration, \
             outside all other causes. Each function is below its caller, and its width is its time \
             including the functions it called. Click a function to zoom to it; press Esc to zoom \
             out. Sampled every few milliseconds; small functions are omitted.",
            &figure,
        );
    }
}

fn figure(chart: &str, roots: &[FlameNode], columns: &'static [&'static str; 4]) -> Option<String> {
    if (roots.iter()).all(|node| node.children.is_empty() && node.seconds <= 0.0) {
        return None;
    }
    let figure = Figure {
        drawings: vec![format!(
            "<div class=\"moving\" id=\"{chart}\" hidden></div>\
             <noscript><p class=\"note\">With JavaScript, this is an interactive flame graph; \
             the data below has the same numbers.</p></noscript>"
        )],
        data: table(roots, columns),
        ..Figure::default()
    };
    Some(figure.html())
}

fn table(roots: &[FlameNode], columns: &'static [&'static str; 4]) -> Table {
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
