//! Interactive charts: their place on the page, their script, the help on zooming and panning,
//! and their data, as JSON in the page.
//!
//! In the data, names are truncated and stored once, and times are whole microseconds. The
//! JSON is escaped so that it cannot end its element. The script is our own, since a page has to
//! work offline, under a strict content security policy, and with a few kilobytes.

use std::collections::HashMap;

use maud::{Markup, PreEscaped, html};
use preheat_model::run::Segment;
use serde_json::{Value, json};

use super::cut;
use super::figure::details;
use super::page::note;

/// The script of a page: the shared functions, then `charts`, which draws its charts.
pub(crate) fn script(charts: &str) -> String {
    const SHARED: &str = concat!(
        include_str!("script/shared.js"),
        include_str!("script/chart.js"),
        include_str!("script/moves.js"),
        include_str!("script/bars.js"),
    );
    format!("(() => {{\n\"use strict\";\n{SHARED}{charts}}})();\n")
}

/// The place of a chart that the script draws. Without JavaScript, the page shows the
/// sentence and the static drawings.
pub(crate) fn chart(id: &str, sentence: &str, still: &[Markup]) -> Markup {
    html! {
        div class="moving" id=(id) hidden {}
        noscript {
            (note(sentence))
            @for drawing in still { (drawing) }
        }
    }
}

/// The help on mouse and keyboard controls.
pub(crate) fn help() -> Markup {
    let keys = [
        ("+ −", "zoom"),
        ("← →", "pan"),
        ("0", "show everything"),
        ("Home End", "go to the beginning, to the end"),
        (", .", "select the previous, the next bar"),
        ("↑ ↓", "select the bar above, below"),
        ("Enter", "zoom to the selection"),
        ("Esc", "clear the selection"),
    ];
    let content = html! {
        p {
            "Drag to pan, click to select, double-click to zoom to a bar. The mouse wheel zooms \
             while Ctrl is held, or after the chart was clicked. Keys work after the chart was \
             clicked or focused with Tab:"
        }
        dl class="keys" { @for (key, action) in keys { dt { (key) } dd { (action) } } }
    };
    details("Controls", &content)
}

/// The maximum length of a name.
pub(crate) const NAME: usize = 80;
/// The maximum length of a detail.
pub(crate) const DETAIL: usize = 160;

/// The element that holds the data.
pub(crate) fn element(data: &Value) -> Markup {
    let text = safe(&data.to_string());
    // The content of a script has no escapes; `safe` keeps it from ending the element.
    html! { script type="application/json" id="view" { (PreEscaped(text)) } "\n" }
}

/// Escapes all characters in the JSON that are special in HTML.
fn safe(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text
}

/// The longest of `all` that can be drawn, in their original order.
pub(crate) fn longest<T>(all: &[T], most: usize, span: impl Fn(&T) -> (f64, f64)) -> Vec<&T> {
    let length = |at: &usize| span(&all[*at]).1 - span(&all[*at]).0;
    let mut places: Vec<usize> = (0..all.len())
        .filter(|at| length(at).is_finite() && length(at) >= 0.0)
        .collect();
    if places.len() > most {
        places.sort_by(|a, b| length(b).total_cmp(&length(a)));
        places.truncate(most);
        places.sort_unstable();
    }
    places.into_iter().map(|at| &all[at]).collect()
}

/// A truncated name without control characters.
pub(crate) fn plain(name: &str, most: usize) -> String {
    let letters = cut(name, most);
    letters
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

pub(crate) fn micros(seconds: f64) -> i64 {
    (seconds * 1e6).round() as i64
}

/// Interns names.
#[derive(Default)]
pub(crate) struct Names {
    pub all: Vec<String>,
    places: HashMap<String, usize>,
}

impl Names {
    pub fn of(&mut self, name: &str, most: usize) -> usize {
        let name = plain(name, most);
        if let Some(place) = self.places.get(&name) {
            return *place;
        }
        let place = self.all.len();
        self.all.push(name.clone());
        self.places.insert(name, place);
        place
    }
}

/// A segment of the path of causes.
pub(crate) fn segment(part: &Segment, names: &mut Names) -> Value {
    json!([
        micros(part.begin),
        micros(part.end),
        part.cause.index(),
        names.of(&part.label, NAME)
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_cannot_end_the_element() {
        let text = safe(&json!(["</script><!--", "a&b\u{2028}"]).to_string());
        assert!(!text.contains(['<', '>', '&', '\u{2028}']));
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, ["</script><!--", "a&b\u{2028}"]);
    }

    #[test]
    fn keeps_the_longest_in_order() {
        let spans = [(0.0, 5.0), (1.0, 2.0), (3.0, f64::NAN), (6.0, 9.0)];
        assert_eq!(longest(&spans, 2, |span| *span), [&(0.0, 5.0), &(6.0, 9.0)]);
        assert_eq!(longest(&spans, 9, |span| *span).len(), 3);
    }
}
