//! The document around a page: head, content security policy and footer.
//!
//! A page loads nothing. Its policy forbids everything but its style sheet and its script,
//! which is allowed by digest: text in a report can never run as code.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::escape::escape;

/// The style rules of all pages.
const STYLE: &str = include_str!("style.css");

/// A document. `title` and `version` are escaped by [`Frame::html`]; the other parts must
/// be HTML already.
#[derive(Default)]
pub(crate) struct Frame<'a> {
    pub title: String,
    /// Style rules in addition to those of all pages.
    pub style: &'a str,
    pub header: String,
    pub body: String,
    /// The script to run after loading; may be empty.
    pub script: &'a str,
    /// The version of preheat that recorded or measured.
    pub version: &'a str,
}

impl Frame<'_> {
    pub fn html(&self) -> String {
        let (allowed, script) = match self.script {
            "" => (String::new(), String::new()),
            text => (
                format!("; script-src '{}'", source(text)),
                format!("<script>{text}</script>\n"),
            ),
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; img-src data:{allowed}\">\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n{header}{body}\
             <footer>Written by preheat {version}. Values are rounded to three digits; the JSON \
             document has full precision, in seconds and bytes.</footer>\n{script}</body>\n</html>\n",
            title = escape(&self.title),
            style = self.style,
            header = self.header,
            body = self.body,
            version = escape(self.version),
        )
    }
}

/// The source expression `sha256-…` for a content security policy.
pub(crate) fn source(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
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
