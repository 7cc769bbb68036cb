//! Differences between plain and warm starts that are known and not fixed yet. The fuzzer
//! checks that each one is still there: who fixes one removes its line.

#[allow(dead_code, reason = "no difference is known")]
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

pub const KNOWN: &[Known] = &[];
