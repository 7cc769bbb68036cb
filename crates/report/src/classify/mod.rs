//! Renders classified iteration times. `words` has the shared texts, `terminal` and `html`
//! are the renderers, and `sketch` holds the points of a series that are plotted.

mod html;
mod sketch;
mod terminal;
mod words;

pub use html::classify_html;
pub use sketch::ClassifySketch;
pub use terminal::classify_terminal;
