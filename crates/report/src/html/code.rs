//! Inline code.

/// Converts text between backticks to `<code>` in text that is already escaped.
pub(crate) fn code(safe: &str) -> String {
    let mut parts = safe.split('`');
    let mut html = parts.next().unwrap_or_default().to_owned();
    while let Some(inner) = parts.next() {
        match parts.next() {
            Some(after) => html.push_str(&format!("<code>{inner}</code>{after}")),
            None => html.push_str(&format!("`{inner}")),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_only_paired_backticks() {
        assert_eq!(
            code("set `A=1` and `B`"),
            "set <code>A=1</code> and <code>B</code>"
        );
        assert_eq!(code("a ` alone"), "a ` alone");
        assert_eq!(code("none"), "none");
    }
}
