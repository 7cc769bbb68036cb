//! Renders the report of a recorded program, and exports it to other tools.

mod csv;
mod html;
mod otlp;
mod perfetto;
mod speedscope;
mod terminal;
pub(crate) mod text;

pub use csv::run_csv;
pub use html::run_html;
pub use otlp::{OtlpRequest, run_otlp};
pub use perfetto::run_perfetto;
pub use speedscope::run_speedscope;
pub use terminal::run_terminal;
