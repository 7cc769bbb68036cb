//! The files that a program leaves in its directory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Files by path: the mode, and the text or the target of a link.
pub type Files = BTreeMap<PathBuf, (u32, String)>;

/// All files below a directory, but for bytecode.
pub fn files(directory: &Path) -> Files {
    let mut found = Files::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).expect("it can be read").flatten() {
            let path = entry.path();
            let metadata = fs::symlink_metadata(&path).expect("it exists");
            if entry.file_name() == "__pycache__" {
                continue;
            }
            let text = if metadata.is_dir() {
                pending.push(path.clone());
                String::new()
            } else if metadata.is_symlink() {
                format!("{:?}", fs::read_link(&path))
            } else if metadata.is_file() {
                String::from_utf8_lossy(&fs::read(&path).expect("it can be read")).into_owned()
            } else {
                String::new()
            };
            found.insert(path, (metadata.permissions().mode(), text));
        }
    }
    found
}

/// Makes a directory what it was; files that are the same stay untouched.
pub fn restore(directory: &Path, before: &Files) {
    for path in files(directory)
        .keys()
        .filter(|path| !before.contains_key(*path))
    {
        let _ = match path.is_dir() && !path.is_symlink() {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
    }
    let now = files(directory);
    for (path, (mode, text)) in before {
        if now.get(path).is_none_or(|(_, now)| now != text) {
            fs::write(path, text).expect("it is written");
            fs::set_permissions(path, fs::Permissions::from_mode(*mode)).expect("it is ours");
        }
    }
}
