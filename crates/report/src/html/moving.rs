//! Interactive charts: their shared script, and the help on zooming and panning.

use super::escape::escape;

/// The script of a page: the shared functions, then `charts`, which draws its charts.
pub(crate) fn script(charts: &str) -> String {
    const SHARED: &str = concat!(
        include_str!("script/shared.js"),
        include_str!("script/chart.js"),
        include_str!("script/moves.js"),
        include_str!("script/bars.js"),
    );
    format!("(() => {{\n\"use strict\";\n{SHARED}{charts}}})();\n")
}

/// The help on mouse and keyboard controls.
pub(crate) fn help() -> String {
    let keys = [
        ("+ −", "zoom"),
        ("← →", "pan"),
        ("0", "show everything"),
        ("Home End", "go to the beginning, to the end"),
        (", .", "select the previous, the next bar"),
        ("↑ ↓", "select the bar above, below"),
        ("Enter", "zoom to the selection"),
        ("Esc", "clear the selection"),
    ];
    let keys: String = keys
        .iter()
        .map(|(key, what)| format!("<dt>{}</dt><dd>{}</dd>", escape(key), escape(what)))
        .collect();
    format!(
        "<details class=\"data\"><summary>Controls</summary><p>Drag to pan, click to select, \
         double-click to zoom to a bar. The mouse wheel zooms while Ctrl is held, or after the \
         chart was clicked. Keys work after the chart was clicked or focused with Tab:</p>\
         <dl class=\"keys\">{keys}</dl></details>"
    )
}
