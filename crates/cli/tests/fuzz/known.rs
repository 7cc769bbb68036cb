//! Differences between plain and warm starts that are known and not fixed yet. The fuzzer
//! checks that each one is still there: who fixes one removes its line.

/// A program and a change after which a warm start differs from a plain one.
pub struct Known {
    /// The program does at least this.
    pub statements: &'static [&'static str],
    /// One change, or `ANY`.
    pub change: &'static str,
    pub why: &'static str,
}

/// Whatever is changed, also nothing.
pub const ANY: &str = "any";

const CODE: &str = "code before an import is not considered";
const PROCESS: &str = "what an import reads of its process is that of the parent";

pub const KNOWN: &[Known] = &[
    known(&["m_streams"], "closes_input", PROCESS),
    known(&["m_streams"], "closes_error", PROCESS),
    known(&["m_signal"], "ignores_signals", PROCESS),
    known(&["handles_signal", "m_signal"], ANY, CODE),
];

const fn known(
    statements: &'static [&'static str],
    change: &'static str,
    why: &'static str,
) -> Known {
    Known {
        statements,
        change,
        why,
    }
}
