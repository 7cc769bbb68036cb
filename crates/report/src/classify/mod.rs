//! Renders classified iteration times. `words` has the shared texts, and `terminal` and
//! `html` are the renderers.

mod html;
mod terminal;
mod words;

pub use html::{ClassifySketch, classify_html};
pub use terminal::classify_terminal;
