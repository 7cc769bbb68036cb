//! Compares a rendered report with its kept snapshot in `tests/snapshots`.
//!
//! `INSTA_UPDATE=always cargo test -p preheat-report` updates the snapshots; `git diff`
//! then shows what changed.

use preheat_report::Terminal;

/// Compares `text` with the snapshot of this name. A control character is shown as its
/// escape, so that a snapshot can be read.
pub fn assert_snapshot(name: &str, text: &str) {
    let readable = text.replace('\u{1b}', "\\e");
    insta::with_settings!(
        { snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true },
        { insta::assert_snapshot!(name, readable) }
    );
}

/// A terminal of this width, in a Unicode locale.
pub fn terminal(width: usize, color: bool) -> Terminal {
    Terminal {
        width,
        color,
        unicode: true,
    }
}
