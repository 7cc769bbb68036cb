//! Names with their values, as a small card.

use super::escape::escape;

/// One thing and what is known of it.
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
