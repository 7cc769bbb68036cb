//! Renders a comparison.
//!
//! - `words` – formats numbers, differences and intervals with their units
//! - `gate` – the decision as text
//! - `order` – sorts quantities, changed ones first; names lab series
//! - `terminal`, `html` – the renderers; JSON is in `crate::json`

mod gate;
mod html;
mod order;
mod terminal;
mod words;

pub use html::compare_html;
pub use terminal::compare_terminal;
