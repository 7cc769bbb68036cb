//! Judged iteration times: `words` says what they show in sentences, `terminal` and `html`
//! show it. `sketch` is what is kept of a series to draw it.

mod html;
mod sketch;
mod terminal;
mod words;

pub use html::classify_html;
pub use sketch::ClassifySketch;
pub use terminal::classify_terminal;
