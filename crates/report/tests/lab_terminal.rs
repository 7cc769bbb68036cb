//! Snapshots of the terminal report of a lab.

mod common;
mod snapshot;

use preheat_report::lab_terminal;
use snapshot::{assert_snapshot, terminal};

#[test]
fn all_widths() {
    for width in [60, 80, 100, 120] {
        let text = lab_terminal(&common::report(), &terminal(width, false));
        assert_snapshot(&format!("lab-{width}"), &text);
    }
}
