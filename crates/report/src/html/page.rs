//! A page: the document with its head, content security policy and footer, the sections under
//! construction, notes, tiles and cards of facts.
//!
//! A page loads nothing. Its policy forbids everything but its style sheet and its script,
//! which is allowed by digest: text in a report can never run as code.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use preheat_model::Machine;
use sha2::{Digest, Sha256};

use super::{is_empty, without_controls};
use crate::units::{bytes, tie};

/// The style rules of all pages.
const STYLE: &str = include_str!("style.css");

/// A document.
#[derive(Default)]
pub(crate) struct Frame<'a> {
    pub title: String,
    /// Style rules in addition to those of all pages.
    pub style: &'a str,
    pub header: Markup,
    pub body: Markup,
    /// The script to run after loading; may be empty.
    pub script: &'a str,
    /// The version of preheat that recorded or measured.
    pub version: &'a str,
}

impl Frame<'_> {
    pub fn html(&self) -> String {
        let allowed = match self.script {
            "" => String::new(),
            text => format!("; script-src '{}'", source(text)),
        };
        let page = html! {
            (DOCTYPE) "\n"
            html lang="en" { "\n"
                head { "\n"
                    meta charset="utf-8"; "\n"
                    meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                    meta name="color-scheme" content="light dark"; "\n"
                    meta http-equiv="Content-Security-Policy"
                        content={
                            "default-src 'none'; style-src 'unsafe-inline'; img-src data:" (allowed)
                        }; "\n"
                    link rel="icon" href="data:,"; "\n"
                    title { (self.title) } "\n"
                    // Style sheets have no escapes; both are part of the program.
                    style { "\n" (PreEscaped(STYLE)) (PreEscaped(self.style)) } "\n"
                } "\n"
                body { "\n"
                    (self.header) (self.body)
                    footer {
                        "Written by preheat " (self.version) ". Values are rounded to three \
                         digits; the JSON document has full precision, in seconds and bytes."
                    } "\n"
                    @if !self.script.is_empty() {
                        // Scripts have no escapes; it is part of the program.
                        script { (PreEscaped(self.script)) } "\n"
                    }
                } "\n"
            } "\n"
        };
        without_controls(page.into_string())
    }
}

/// The source expression `sha256-…` for a content security policy.
pub(crate) fn source(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// A page under construction.
pub(crate) struct Page<'a, R> {
    pub report: &'a R,
    /// As (id, title, content).
    sections: Vec<(&'static str, &'static str, Markup)>,
    ids: usize,
}

impl<'a, R> Page<'a, R> {
    pub fn new(report: &'a R) -> Page<'a, R> {
        Page {
            report,
            sections: Vec::new(),
            ids: 0,
        }
    }

    /// Returns an id that is unique on the page.
    pub fn id(&mut self) -> String {
        self.ids += 1;
        format!("c{}", self.ids)
    }

    /// Adds a section, unless `content` is empty. `lead` explains it in a sentence or two.
    pub fn section(&mut self, id: &'static str, title: &'static str, lead: &str, content: Markup) {
        if is_empty(&content) {
            return;
        }
        let content = html! {
            @if !lead.is_empty() { p class="lead" { (lead) } }
            (content)
        };
        self.sections.push((id, title, content));
    }

    /// Renders the table of contents and all sections.
    pub fn finish(&self) -> Markup {
        html! {
            @if !self.sections.is_empty() {
                nav aria-label="Contents" {
                    ul {
                        @for (id, title, _) in &self.sections {
                            li { a href={ "#" (id) } { (title) } }
                        }
                    }
                } "\n"
            }
            main { "\n"
                @for (id, title, content) in &self.sections {
                    section id=(id) aria-labelledby={ (id) "-h" } { "\n"
                        h2 id={ (id) "-h" } { (title) } "\n"
                        (content) "\n"
                    } "\n"
                }
            } "\n"
        }
    }
}

/// Renders the top of a page.
pub(crate) fn header(
    class: Option<&str>,
    eyebrow: &str,
    headline: &str,
    content: &Markup,
) -> Markup {
    html! {
        header class=[class] { "\n"
            p class="eyebrow" { (eyebrow) } "\n"
            h1 { (headline) } "\n"
            (content) "\n"
        } "\n"
    }
}

/// Renders the decision below the headline. `class` colors it.
pub(crate) fn gate(class: &str, text: &Markup) -> Markup {
    html! { p class={ "gate " (class) } { span { (text) } } }
}

/// Renders a paragraph of a class; empty if the text is.
pub(crate) fn paragraph(class: &str, text: &str) -> Markup {
    html! { @if !text.is_empty() { p class=(class) { (text) } } }
}

/// Renders a note below a chart or a table.
pub(crate) fn note(text: &str) -> Markup {
    paragraph("note", text)
}

/// Renders an explanation of the method: paragraphs that begin with a term.
pub(crate) fn method(paragraphs: &[(&str, &str)]) -> Markup {
    html! {
        div class="method" {
            @for (term, text) in paragraphs { p { b { (term) } (text) } }
        }
    }
}

/// Renders a command, on one line.
pub(crate) fn command(text: &str) -> Markup {
    html! { pre class="command" { code { (text.replace('\n', " ")) } } }
}

/// Renders a tile: a number with its name above and an explanation below. `class` colors it.
pub(crate) fn tile(name: &str, number: &str, class: Option<&str>, more: &str) -> Markup {
    html! {
        section class="tile" {
            p class="name" { (name) }
            p class={ "big" @if let Some(class) = class { " " (class) } } { (tie(number)) }
            p class="more" { (tie(more)) }
        }
    }
}

/// Renders cards of facts.
pub(crate) fn cards(cards: &[Markup]) -> Markup {
    html! { div class="facts" { @for card in cards { (card) } } }
}

/// Renders a card with a title; rows with empty values are omitted.
pub(crate) fn facts(kind: &str, name: &str, rows: &[(String, String)]) -> Markup {
    html! {
        section class="fact" {
            p class="kind" { (kind) }
            p class="name" { (name) }
            dl {
                @for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
                    dt { (name) } dd { (value) }
                }
            }
        } "\n"
    }
}

/// A row of a card.
pub(crate) fn fact(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// The rows of a machine, below the name of its processor.
pub(crate) fn machine(machine: &Machine) -> Vec<(String, String)> {
    vec![
        fact("cores", machine.cores.to_string()),
        fact("memory", bytes(machine.memory)),
        fact("system", &*machine.os),
        fact("kernel", &*machine.kernel),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_allows_only_the_script_of_the_page() {
        let quiet = Frame::default().html();
        assert!(!quiet.contains("script"));
        let frame = Frame {
            title: "<a>".to_owned(),
            script: "let a = 1;",
            ..Frame::default()
        };
        let html = frame.html();
        assert!(html.contains("<title>&lt;a&gt;</title>"));
        assert!(html.contains("; script-src 'sha256-"));
        assert!(html.contains("<script>let a = 1;</script>"));
    }

    #[test]
    fn a_page_has_no_control_characters_but_line_breaks() {
        let frame = Frame {
            title: "a\u{1b}[1m\0".to_owned(),
            body: html! { p title="\u{9b}" { "b\r\u{7}" } },
            ..Frame::default()
        };
        let html = frame.html();
        assert!(html.contains("<title>a [1m </title>"));
        assert!(html.contains("<p title=\" \">b  </p>"));
        assert!(!html.contains(|c: char| c.is_control() && c != '\n'));
    }

    #[test]
    fn matches_the_digest_of_the_standard() {
        assert_eq!(
            source(""),
            "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
        assert_eq!(
            source("abc"),
            "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
        );
    }
}
