//! The remedies chosen for a program by a measurement on this machine, stored with the
//! other knowledge about the program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::remedy::{Remedies, Remedy};

/// The remedies for a program that was not measured: a warm parent, which is used only if
/// it is running and matches the start.
pub(crate) fn unmeasured() -> Remedies {
    Remedies::from([Remedy::WarmParent])
}

/// Reads the decision for the program with this name.
pub(crate) fn read(directory: &Path, name: &str) -> Option<Remedies> {
    let text = fs::read_to_string(file(directory, name)).ok()?;
    // Skip remedies that this version does not know.
    Some(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// Writes the decision for the program with this name.
pub(crate) fn write(directory: &Path, name: &str, remedies: &Remedies) -> io::Result<()> {
    let text: String = remedies
        .iter()
        .map(|remedy| format!("{remedy}\n"))
        .collect();
    preheat_host::files::put(&file(directory, name), text.as_bytes())
}

fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.decision"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_read_as_it_was_written() {
        let at = std::env::temp_dir().join(format!("preheat-decision-{}", std::process::id()));
        fs::create_dir(&at).expect("a directory for the test");
        assert_eq!(read(&at, "x"), None);
        let kept = Remedies::from([Remedy::Prefetch, Remedy::WarmParent]);
        write(&at, "x", &kept).expect("the file is writable");
        assert_eq!(read(&at, "x"), Some(kept));
        write(&at, "x", &Remedies::new()).expect("the file is writable");
        assert_eq!(read(&at, "x"), Some(Remedies::new()));
        fs::remove_dir_all(&at).expect("the directory can be removed");
        assert_eq!(read(&at, "x"), None);
    }
}
