//! The renderers of a comparison.
//!
//! - `words` – numbers, differences and intervals in their units
//! - `gate` – what the comparison decides, in a sentence
//! - `order` – what changed before what did not; what series of the lab are called
//! - `terminal`, `html` – the renderers; the document is `crate::json`'s

mod gate;
mod html;
mod order;
mod terminal;
mod words;

pub use html::compare_html;
pub use terminal::compare_terminal;
