//! The tools that all HTML pages share.
//!
//! A page loads nothing and runs nothing from the report: it has text, tables and drawings,
//! and a style sheet for light mode, dark mode, phones and printing. `page` is the document
//! with its content security policy, and its sections.
//!
//! Names and sentences of a report come from drivers, programs and files. `maud` escapes all of
//! them: a function returns `Markup` and takes plain text. Only the modules here may declare
//! text to be markup, with `PreEscaped`: style sheets, scripts and JSON. This file formats text:
//! inline code, commands, long names and control characters.
//!
//! `svg`, `scale`, `plot` and `bands` draw, `moving` has the interactive charts; `figure` adds a
//! caption and the data to a drawing; `cause_style` and `bands` show causes in the same colors
//! everywhere.

pub(crate) mod bands;
pub(crate) mod cause_style;
pub(crate) mod figure;
pub(crate) mod moving;
pub(crate) mod page;
pub(crate) mod plot;
pub(crate) mod scale;
pub(crate) mod svg;

use maud::{Markup, html};

/// Style rules shared by the pages about programs.
pub(crate) const PROGRAM_STYLE: &str = include_str!("program.css");

/// Converts text between backticks to `<code>`.
pub(crate) fn code(text: &str) -> Markup {
    let mut parts = text.split('`');
    html! {
        (parts.next().unwrap_or_default())
        @while let Some(inner) = parts.next() {
            @if let Some(after) = parts.next() { code { (inner) } (after) }
            @else { "`" (inner) }
        }
    }
}

/// True if there is no content.
pub(crate) fn is_empty(markup: &Markup) -> bool {
    markup.0.is_empty()
}

/// Appends `more`.
pub(crate) fn append(markup: &mut Markup, more: &Markup) {
    markup.0.push_str(&more.0);
}

/// Replaces control characters by spaces, except for line breaks: no page contains terminal
/// escapes or NUL. A line break is a space in HTML.
fn without_controls(page: String) -> String {
    let unwanted = |c: char| c.is_control() && c != '\n';
    match page.contains(unwanted) {
        true => page.replace(unwanted, " "),
        false => page,
    }
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
        let text = "<b title=\"x\" id='y'> & \u{1b}[1m\0\u{9b}\t";
        let escaped = without_controls(html! { (text) }.into_string());
        assert_eq!(
            escaped,
            "&lt;b title=&quot;x&quot; id='y'&gt; &amp;  [1m   "
        );
        let attribute = html! { p title=(text) {} }.into_string();
        assert_eq!(
            without_controls(attribute),
            format!("<p title=\"{escaped}\"></p>")
        );
        assert_eq!(html! { ("µs × 4") }.into_string(), "µs × 4");
    }

    #[test]
    fn converts_only_paired_backticks() {
        assert_eq!(
            code("set `A=1` and `B`").0,
            "set <code>A=1</code> and <code>B</code>"
        );
        assert_eq!(code("a ` alone").0, "a ` alone");
        assert_eq!(code("none").0, "none");
        assert_eq!(
            code("`<a>` & <b>").0,
            "<code>&lt;a&gt;</code> &amp; &lt;b&gt;"
        );
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
