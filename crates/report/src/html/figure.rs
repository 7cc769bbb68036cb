//! A chart on the page: the caption, the legend, the drawing in a scrollable box, and the
//! data as a table.

use super::escape::escape;
use super::svg::{Mark, swatch};

/// A figure. Text is escaped by [`Figure::html`], drawings are not.
#[derive(Default)]
pub(crate) struct Figure {
    pub title: String,
    pub note: String,
    /// As (mark, class, text).
    pub legend: Vec<(Option<Mark>, &'static str, String)>,
    /// Another legend, as HTML.
    pub key: String,
    /// Elements as returned by [`super::svg::Svg::finish`].
    pub drawings: Vec<String>,
    pub data: Table,
}

impl Figure {
    pub fn html(&self) -> String {
        let mut html = String::from("<figure>");
        if !self.title.is_empty() {
            html.push_str(&format!("<figcaption><b>{}</b>", escape(&self.title)));
            if !self.note.is_empty() {
                html.push_str(&format!(
                    " <span class=\"note\">{}</span>",
                    escape(&self.note)
                ));
            }
            html.push_str("</figcaption>");
        }
        html.push_str(&legend(&self.legend));
        html.push_str(&self.key);
        html.push_str(&format!(
            "<div class=\"plot\">{}</div>",
            self.drawings.concat()
        ));
        if !self.data.rows.is_empty() {
            html.push_str("<details class=\"data\"><summary>Show data</summary>");
            html.push_str(&self.data.html());
            html.push_str("</details>");
        }
        html.push_str("</figure>");
        html
    }
}

/// Renders a legend of marks and lines.
pub(crate) fn legend(entries: &[(Option<Mark>, &'static str, String)]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let entry = |(mark, class, text): &(Option<Mark>, &str, String)| {
        format!("<li>{}{}</li>", swatch(*mark, class), escape(text))
    };
    format!(
        "<ul class=\"legend\">{}</ul>",
        entries.iter().map(entry).collect::<String>()
    )
}

/// Renders figures side by side if there is space.
pub(crate) fn grid(figures: &[String]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    format!("<div class=\"grid\">{}</div>", figures.concat())
}

/// Renders a collapsed section; empty if there is no content.
pub(crate) fn folded(summary: &str, html: &str) -> String {
    if html.is_empty() {
        return String::new();
    }
    format!(
        "<details class=\"more\"><summary>{}</summary>{html}</details>",
        escape(summary)
    )
}

/// A table of text. The first column names the row; the others are right-aligned unless
/// they are listed in `words`.
#[derive(Default)]
pub(crate) struct Table {
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
    /// The columns with words instead of numbers.
    pub words: Vec<usize>,
}

impl Table {
    pub fn new(head: &[&'static str]) -> Table {
        Table {
            head: head.to_vec(),
            ..Table::default()
        }
    }

    pub fn html(&self) -> String {
        let class = |column: usize| {
            if column == 0 || self.words.contains(&column) {
                ""
            } else {
                " class=\"n\""
            }
        };
        let mut html = String::from("<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
        for (column, name) in self.head.iter().enumerate() {
            html.push_str(&format!(
                "<th scope=\"col\"{}>{}</th>",
                class(column),
                escape(name)
            ));
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            html.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                let cell = escape(cell);
                html.push_str(&match column {
                    0 => format!("<th scope=\"row\">{cell}</th>"),
                    _ => format!("<td{}>{cell}</td>", class(column)),
                });
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></div>");
        html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_include_their_data_as_a_table() {
        let mut data = Table::new(&["series", "first"]);
        data.rows.push(vec!["<a>".to_owned(), "1 ms".to_owned()]);
        let figure = Figure {
            title: "T & U".to_owned(),
            data,
            ..Figure::default()
        };
        let html = figure.html();
        assert!(html.contains("<b>T &amp; U</b>"));
        assert!(html.contains("<summary>Show data</summary>"));
        assert!(html.contains("<th scope=\"row\">&lt;a&gt;</th><td class=\"n\">1 ms</td>"));
    }

    #[test]
    fn empty_parts_are_omitted() {
        assert_eq!(legend(&[]), "");
        assert_eq!(grid(&[]), "");
        assert_eq!(folded("x", ""), "");
        assert!(!Figure::default().html().contains("details"));
    }
}
