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

const FILES: &str = "files that an import reads, probes or lists are not verified";
const CODE: &str = "code before an import is not considered";
const CHANCE: &str = "values drawn at random by an import are the same in each start";
const PROCESS: &str = "what an import reads of its process is that of the parent";

pub const KNOWN: &[Known] = &[
    known(&["m_file"], "edits_config", FILES),
    known(&["m_file"], "deletes_config", FILES),
    known(&["m_probe"], "creates_absent", FILES),
    known(&["m_list"], "adds_plugin", FILES),
    known(&["m_home"], "edits_home", FILES),
    known(
        &["m_arguments"],
        "adds_debug",
        "`in sys.argv` by an import is not seen",
    ),
    known(&["m_streams"], "closes_input", PROCESS),
    known(&["m_streams"], "closes_error", PROCESS),
    known(&["m_umask"], "masks", PROCESS),
    known(&["m_signal"], "ignores_signals", PROCESS),
    known(&["m_pid"], ANY, PROCESS),
    known(
        &["m_warns"],
        ANY,
        "a warning of an import is not attributed to the program",
    ),
    known(&["sets_time_zone", "m_time_zone"], ANY, CODE),
    known(&["handles_signal", "m_signal"], ANY, CODE),
    known(&["filters", "m_filter"], ANY, CODE),
    known(&["m_token"], ANY, CHANCE),
    known(&["m_default_rng"], ANY, CHANCE),
    known(&["m_subclass"], ANY, CHANCE),
    known(
        &["m_writes"],
        ANY,
        "an import that writes a file does so in the parent, and not in each start",
    ),
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
