//! Escapes text for HTML and SVG. All names and sentences of a report are escaped, since
//! they come from drivers, programs and files.

/// Escapes `text` for HTML and SVG content and for quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markup() {
        assert_eq!(
            escape("<b title=\"x\" id='y'> & \u{1b}[1m\n"),
            "&lt;b title=&quot;x&quot; id=&#39;y&#39;&gt; &amp;  [1m "
        );
        assert_eq!(escape("µs × 4"), "µs × 4");
    }
}
