//! Where a program reads clocks, and which readings it subtracts from each other. Found when
//! a recording is made, and kept in its manifest.

use serde::{Deserialize, Serialize};

/// The program's clock readings, as its source and its debug information describe them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timers {
    /// Which readings each source file subtracts from each other.
    pub files: Vec<TimedFile>,
    /// Lines of the addresses that native programs read clocks at.
    pub addresses: Vec<Address>,
    /// Which regions have the same source text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<Body>,
}

/// The source text between two lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// Its path.
    pub file: String,
    /// The first line.
    pub from: u32,
    /// The last line.
    pub to: u32,
    /// The number of the text: equal numbers have the same, apart from strings, comments and
    /// the names of results.
    pub text: u32,
}

/// The clock readings of one source file that could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedFile {
    /// Its path.
    pub file: String,
    /// A line whose reading is subtracted from that of another line: (earlier, later).
    pub differences: Vec<(u32, u32)>,
    /// For each difference, the number of the variable that is subtracted. Without numbers,
    /// all are of one variable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<u32>,
    /// Lines with two readings of which the second is subtracted from the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_line: Vec<u32>,
    /// Lines that return a reading: the caller's line is what matters.
    pub returns: Vec<u32>,
}

/// An address in an executable, and the line that it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The executable's path.
    pub program: String,
    /// The address, relative to where the executable is loaded.
    pub address: u64,
    /// The source file; empty if it is not known.
    pub file: String,
    /// The line; 0 if it is not known.
    pub line: u32,
    /// The function.
    pub function: String,
}

impl Timers {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.addresses.is_empty()
    }

    /// The number of the text between two lines of a file.
    pub fn body(&self, file: &str, from: u32, to: u32) -> Option<u32> {
        let of = |body: &&Body| (&*body.file, body.from, body.to) == (file, from, to);
        self.bodies.iter().find(of).map(|body| body.text)
    }

    /// The clock readings of a file.
    pub fn file(&self, file: &str) -> Option<&TimedFile> {
        self.files.iter().find(|known| known.file == file)
    }
}
