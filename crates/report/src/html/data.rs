//! The data of the interactive charts, as JSON in the page.
//!
//! Names are truncated and stored once. Times are whole microseconds. The JSON is escaped so
//! that it cannot end its element.

use std::collections::HashMap;

use preheat_model::run::Segment;
use serde_json::{Value, json};

use super::escape::cut;

/// The maximum length of a name.
pub(crate) const NAME: usize = 80;
/// The maximum length of a detail.
pub(crate) const DETAIL: usize = 160;

/// The element that holds the data.
pub(crate) fn element(data: &Value) -> String {
    let text = safe(&data.to_string());
    format!("<script type=\"application/json\" id=\"view\">{text}</script>\n")
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
