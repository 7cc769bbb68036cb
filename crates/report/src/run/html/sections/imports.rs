//! The imports as a tree that can be entered. The script draws it; the largest are in
//! the data as a table too.

use preheat_analyze::run::{ImportNode, RunView};

use super::super::RunPage;
use crate::html::cut::cut;
use crate::html::figure::{Figure, Table};
use crate::units::duration;

/// So many modules are in the table.
const ROWS: usize = 60;

/// The section.
pub(in crate::run::html) fn add(page: &mut RunPage, view: &RunView) {
    if view
        .imports
        .iter()
        .all(|node| node.children.is_empty() && node.seconds <= 0.0)
    {
        return;
    }
    let figure = Figure {
        drawings: vec![
            "<div class=\"moving\" id=\"imports-chart\" hidden></div>\
             <noscript><p class=\"note\">With JavaScript this is a picture that can be entered; \
             the same is in the data below.</p></noscript>"
                .to_owned(),
        ],
        data: table(&view.imports),
        ..Figure::default()
    };
    page.section(
        "imports",
        "Imports",
        "Every module lies below the one that asked for it and is as wide as it took, with all \
         that it imported in turn. Click a module, or select it and press Enter, to enter it; Esc \
         leaves it. Small ones are left out.",
        &figure.html(),
    );
}

fn table(roots: &[ImportNode]) -> Table {
    let mut all: Vec<&ImportNode> = Vec::new();
    let mut open: Vec<&ImportNode> = roots.iter().collect();
    while let Some(node) = open.pop() {
        all.push(node);
        open.extend(&node.children);
    }
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let mut table = Table::new(&["module", "with all within", "its own", "asked for by"]);
    table.words = vec![3];
    for node in all.into_iter().take(ROWS) {
        table.rows.push(vec![
            cut(&node.name, 90),
            duration(node.seconds),
            duration(node.own),
            cut(&node.asked, 160),
        ]);
    }
    table
}
