//! A small card of names and values.

use super::escape::escape;

/// Renders a card with a title; rows with empty values are omitted.
pub(crate) fn facts(kind: &str, name: &str, rows: &[(String, String)]) -> String {
    let rows: String = rows
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(value)))
        .collect();
    format!(
        "<section class=\"fact\"><p class=\"kind\">{}</p><p class=\"name\">{}</p><dl>{rows}</dl></section>\n",
        escape(kind),
        escape(name)
    )
}
