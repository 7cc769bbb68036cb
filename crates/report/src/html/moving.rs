//! Drawings that are moved by key, wheel and pointer: the script that they share, and
//! how they are moved, for people.

use super::escape::escape;

/// The script of a page: what the drawings share, how they are moved, then `charts`,
/// which says what each shows.
pub(crate) fn script(charts: &str) -> String {
    const SHARED: &str = concat!(
        include_str!("script/shared.js"),
        include_str!("script/chart.js"),
        include_str!("script/moves.js"),
        include_str!("script/bars.js"),
    );
    format!("(() => {{\n\"use strict\";\n{SHARED}{charts}}})();\n")
}

/// How the drawings are moved.
pub(crate) fn help() -> String {
    let keys = [
        ("+ −", "zoom"),
        ("← →", "move"),
        ("0", "all of it"),
        ("Home End", "to the beginning, to the end"),
        (", .", "select the bar before, after"),
        ("↑ ↓", "select above, below"),
        ("Enter", "zoom to what is selected"),
        ("Esc", "select nothing"),
    ];
    let keys: String = keys
        .iter()
        .map(|(key, what)| format!("<dt>{}</dt><dd>{}</dd>", escape(key), escape(what)))
        .collect();
    format!(
        "<details class=\"data\"><summary>How to move in it</summary><p>Drag to move; click to \
         select; double-click to zoom to a bar. The wheel zooms with Ctrl held, or once the \
         picture has been clicked. Keys, once it has been clicked or reached with Tab:</p>\
         <dl class=\"keys\">{keys}</dl></details>"
    )
}
