//! A page under construction: its sections, unique ids and cards of facts.

use super::escape::escape;

/// A page under construction.
pub(crate) struct Page<'a, R> {
    pub report: &'a R,
    /// As (id, title, html).
    sections: Vec<(&'static str, &'static str, String)>,
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

    /// Adds a section, unless `html` is empty. `lead` explains it in a sentence or two; `html`
    /// is not escaped.
    pub fn section(&mut self, id: &'static str, title: &'static str, lead: &str, html: &str) {
        if html.is_empty() {
            return;
        }
        let lead = match lead {
            "" => String::new(),
            lead => format!("<p class=\"lead\">{}</p>", escape(lead)),
        };
        self.sections.push((id, title, format!("{lead}{html}")));
    }

    /// Renders the table of contents and all sections.
    pub fn finish(&self) -> String {
        let entries: String = self
            .sections
            .iter()
            .map(|(id, title, _)| format!("<li><a href=\"#{id}\">{title}</a></li>"))
            .collect();
        let mut html = match self.sections.len() {
            0 => String::new(),
            _ => format!("<nav aria-label=\"Contents\"><ul>{entries}</ul></nav>\n"),
        };
        html.push_str("<main>\n");
        for (id, title, body) in &self.sections {
            html.push_str(&format!(
                "<section id=\"{id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{title}</h2>\n\
                 {body}\n</section>\n"
            ));
        }
        html.push_str("</main>\n");
        html
    }
}

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
