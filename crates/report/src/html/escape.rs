//! Text in HTML and SVG: escaping, inline code, commands and long names.
//!
//! All names and sentences of a report are escaped, since they come from drivers, programs
//! and files.

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

/// Joins the words, quoted for a shell.
pub(crate) fn command_line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Truncates `text` to at most `most` characters, with `…` in the middle.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let (front, back) = (kept - kept / 2, kept / 2);
    let front = text.chars().take(front);
    let back = text.chars().skip(count - back);
    front.chain(['…']).chain(back).collect()
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

    #[test]
    fn converts_only_paired_backticks() {
        assert_eq!(
            code("set `A=1` and `B`"),
            "set <code>A=1</code> and <code>B</code>"
        );
        assert_eq!(code("a ` alone"), "a ` alone");
        assert_eq!(code("none"), "none");
    }

    #[test]
    fn quotes_words_for_a_shell() {
        let words = ["--device=cuda", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(command_line(&words), "--device=cuda 'a b' 'it'\\''s' ''");
    }

    #[test]
    fn keeps_both_ends() {
        assert_eq!(cut("torch._dynamo", 20), "torch._dynamo");
        assert_eq!(cut("torch._dynamo.symbolic", 11), "torch…bolic");
        assert_eq!(cut("äöü", 1), "…");
        assert_eq!(cut("äöü", 0), "…");
    }
}
