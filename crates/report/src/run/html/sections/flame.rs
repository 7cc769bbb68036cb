//! Flame graphs: imports, each below the module that asked for it, and functions, each
//! below its caller. The script draws them; the largest are in the data as a table too.

use preheat_model::run::{FlameNode, RunView};

use super::super::RunPage;
use crate::html::cut::cut;
use crate::html::figure::{Figure, Table};
use crate::units::duration;

/// So many nodes are in the table.
const ROWS: usize = 60;

/// The section of the imports.
pub(in crate::run::html) fn imports(page: &mut RunPage, view: &RunView) {
    const COLUMNS: [&str; 4] = ["module", "with all within", "its own", "asked for by"];
    if let Some(figure) = figure("imports-chart", &view.imports, &COLUMNS) {
        page.section(
            "imports",
            "Imports",
            "Every module lies below the one that asked for it and is as wide as it took, with all \
             that it imported in turn. Click a module, or select it and press Enter, to enter it; \
             Esc leaves it. Small ones are left out.",
            &figure,
        );
    }
}

/// The section of the functions.
pub(in crate::run::html) fn functions(page: &mut RunPage, view: &RunView) {
    const COLUMNS: [&str; 4] = ["function", "with what it called", "its own", "at"];
    if let Some(figure) = figure("functions-chart", &view.functions, &COLUMNS) {
        page.section(
            "functions",
            "Own CPU time",
            "The functions in which the program computed before the end of the first iteration, \
             outside everything that has another cause. Every function lies below its caller and \
             is as wide as it took. Click a function to enter it; Esc leaves it. Sampled every few \
             milliseconds; small ones are left out.",
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
             <noscript><p class=\"note\">With JavaScript this is a picture that can be entered; \
             the same is in the data below.</p></noscript>"
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
