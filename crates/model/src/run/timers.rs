//! The clock readings of a program, and which of them it subtracts. Determined when a
//! recording is made, and stored in its manifest.

use serde::{Deserialize, Serialize};

/// The program's clock readings, according to its source and debug information.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timers {
    /// The differences of readings in each source file.
    pub files: Vec<TimedFile>,
    /// The lines of native addresses that read clocks.
    pub addresses: Vec<Address>,
    /// The source texts of regions, for comparison.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bodies: Vec<Body>,
}

/// The source text between two lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The path of the file.
    pub file: String,
    /// The first line.
    pub from: u32,
    /// The last line.
    pub to: u32,
    /// The id of the text: regions with the same id differ only in strings, comments and
    /// the names of results.
    pub text: u32,
    /// A hash of the text, which is the same in other recordings; none in older ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u32>,
}

/// The clock readings of one source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedFile {
    /// The path of the file.
    pub file: String,
    /// Pairs of lines (earlier, later) whose readings are subtracted.
    pub differences: Vec<(u32, u32)>,
    /// The id of the subtracted variable for each difference; empty if there is only one
    /// variable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<u32>,
    /// Lines with two readings, where the first is subtracted from the second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_line: Vec<u32>,
    /// Lines with several regions that do different work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlike: Vec<u32>,
    /// For each such line, the id of each region's text, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<(u32, Vec<u32>)>,
    /// Lines with a reading that ends one region and begins another: the regions, each with
    /// the numbers of its two readings among those of the line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chains: Vec<(u32, Vec<(u32, u32)>)>,
    /// Lines with a condition on the time that has passed, which ends no region.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<u32>,
    /// Lines that return a reading, so that the line of the caller counts.
    pub returns: Vec<u32>,
}

/// An address in an executable and its source line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The path of the executable.
    pub program: String,
    /// The address, relative to the load address of the executable.
    pub address: u64,
    /// The source file; empty if unknown.
    pub file: String,
    /// The line; 0 if unknown.
    pub line: u32,
    /// The function.
    pub function: String,
    /// The symbol that contains the address: the function that this one was inlined into, if
    /// it was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub symbol: String,
    /// The lines into which the compiler has put this one, with the function that it is in;
    /// innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inlined_into: Vec<SourceLine>,
    /// The symbol of the function that the call before this address calls; empty if it is
    /// not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub calls: String,
}

/// A line of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function.
    pub function: String,
}

impl Timers {
    /// Returns true if nothing is known.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.addresses.is_empty()
    }

    /// The text between two lines of a file.
    pub fn body(&self, file: &str, from: u32, to: u32) -> Option<&Body> {
        let of = |body: &&Body| (&*body.file, body.from, body.to) == (file, from, to);
        self.bodies.iter().find(of)
    }

    /// The clock readings of a file.
    pub fn file(&self, file: &str) -> Option<&TimedFile> {
        self.files.iter().find(|known| known.file == file)
    }
}
