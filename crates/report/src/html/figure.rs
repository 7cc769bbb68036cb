//! A chart on the page: the caption, the legend, the drawing in a scrollable box, and the
//! data as a table.

use maud::{Markup, html};

use super::is_empty;
use super::svg::{Mark, swatch};

/// A figure.
#[derive(Default)]
pub(crate) struct Figure {
    pub title: String,
    pub note: String,
    /// As (mark, class, text).
    pub legend: Vec<(Option<Mark>, &'static str, String)>,
    /// Another legend.
    pub key: Markup,
    /// Elements as returned by [`super::svg::Svg::finish`].
    pub drawings: Vec<Markup>,
    pub data: Table,
}

impl Figure {
    pub fn html(&self) -> Markup {
        html! {
            figure {
                @if !self.title.is_empty() {
                    figcaption {
                        b { (self.title) }
                        @if !self.note.is_empty() { " " span class="note" { (self.note) } }
                    }
                }
                (legend(&self.legend))
                (self.key)
                div class="plot" { @for drawing in &self.drawings { (drawing) } }
                @if !self.data.rows.is_empty() {
                    (details("Show data", &self.data.html()))
                }
            }
        }
    }
}

/// Renders a legend of marks and lines.
pub(crate) fn legend(entries: &[(Option<Mark>, &'static str, String)]) -> Markup {
    key(entries
        .iter()
        .map(|(mark, class, text)| html! { (swatch(*mark, class)) (text) }))
}

/// Renders a legend of any symbols; empty if there are no entries.
pub(crate) fn key(entries: impl Iterator<Item = Markup>) -> Markup {
    list("legend", entries)
}

/// Renders a list of a class; empty if there are no items.
pub(crate) fn list(class: &str, items: impl Iterator<Item = Markup>) -> Markup {
    let items: Vec<Markup> = items.collect();
    html! {
        @if !items.is_empty() {
            ul class=(class) { @for item in items { li { (item) } } }
        }
    }
}

/// Renders figures side by side if there is space.
pub(crate) fn grid(figures: &[Markup]) -> Markup {
    html! {
        @if !figures.is_empty() {
            div class="grid" { @for figure in figures { (figure) } }
        }
    }
}

/// Renders a collapsed section; empty if there is no content.
pub(crate) fn folded(summary: &str, content: &Markup) -> Markup {
    html! {
        @if !is_empty(content) {
            details class="more" { summary { (summary) } (content) }
        }
    }
}

/// Renders collapsed data or help.
pub(crate) fn details(summary: &str, content: &Markup) -> Markup {
    html! { details class="data" { summary { (summary) } (content) } }
}

/// A table of text. The first column names the row; the others are right-aligned unless
/// they are listed in `words`.
#[derive(Default)]
pub(crate) struct Table {
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
    /// The columns with words instead of numbers.
    pub words: Vec<usize>,
    /// The class of the badge in the last column of each row; empty if it has none.
    pub badges: Vec<&'static str>,
    pub class: Option<&'static str>,
}

impl Table {
    pub fn new(head: &[&'static str]) -> Table {
        Table {
            head: head.to_vec(),
            ..Table::default()
        }
    }

    pub fn html(&self) -> Markup {
        html! {
            div class="scroll" tabindex="0" {
                table class=[self.class] {
                    thead {
                        tr {
                            @for (column, name) in self.head.iter().enumerate() {
                                th scope="col" class=[self.align(column)] { (name) }
                            }
                        }
                    }
                    tbody {
                        @for (index, row) in self.rows.iter().enumerate() {
                            (self.row(row, self.badges.get(index).copied()))
                        }
                    }
                }
            }
        }
    }

    fn row(&self, cells: &[String], badge: Option<&str>) -> Markup {
        let last = cells.len().saturating_sub(1);
        html! {
            tr {
                @for (column, cell) in cells.iter().enumerate() {
                    @if column == 0 {
                        th scope="row" { (cell) }
                    } @else {
                        td class=[self.align(column)] {
                            @if let Some(class) = badge.filter(|_| column == last) {
                                span class={ "badge " (class) } { (cell) }
                            } @else {
                                (cell)
                            }
                        }
                    }
                }
            }
        }
    }

    /// The class of a column.
    fn align(&self, column: usize) -> Option<&'static str> {
        (column > 0 && !self.words.contains(&column)).then_some("n")
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
        let html = figure.html().into_string();
        assert!(html.contains("<b>T &amp; U</b>"));
        assert!(html.contains("<summary>Show data</summary>"));
        assert!(html.contains("<th scope=\"row\">&lt;a&gt;</th><td class=\"n\">1 ms</td>"));
    }

    #[test]
    fn empty_parts_are_omitted() {
        assert_eq!(legend(&[]).0, "");
        assert_eq!(grid(&[]).0, "");
        assert_eq!(folded("x", &Markup::default()).0, "");
        assert!(!Figure::default().html().0.contains("details"));
    }
}
