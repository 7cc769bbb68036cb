//! The document around a page: its head, its policy and its foot.
//!
//! A page loads nothing and forbids itself everything but its own style sheet and, if
//! it has one, its own script, named by fingerprint: a name in a report can never
//! become a program.

use super::digest;
use super::escape::escape;

/// What every page looks like.
const STYLE: &str = include_str!("style.css");

/// A document before it is put together. `title` and `version` are escaped here, the
/// rest is put in as it is.
#[derive(Default)]
pub(crate) struct Frame<'a> {
    pub title: String,
    /// Rules beside those of every page.
    pub style: &'a str,
    pub header: String,
    pub body: String,
    /// Runs when the page is there; may be empty.
    pub script: &'a str,
    /// The version of preheat that recorded or measured.
    pub version: &'a str,
}

impl Frame<'_> {
    pub fn html(&self) -> String {
        let (allowed, script) = match self.script {
            "" => (String::new(), String::new()),
            text => (
                format!("; script-src '{}'", digest::source(text)),
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
             <footer>Written by preheat {version}. Times are in seconds and sizes in bytes in the \
             JSON document; here they are rounded to three digits.</footer>\n{script}</body>\n</html>\n",
            title = escape(&self.title),
            style = self.style,
            header = self.header,
            body = self.body,
            version = escape(self.version),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_script_may_run() {
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
}
