//! Lists the files that a start used, so that they can be evicted from the page cache.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use preheat_wire::{Event, Kind};

use crate::layout;
use crate::problems::Problems;
use crate::slots::{BLOCK, each_record, text};
use crate::start::{ENDING, open};

/// All files that were opened, imported, mapped or executed, each once, as the program
/// named them. `path` is a process file, the directory of a start, or a whole recording.
///
/// Files that cannot be read are skipped: the list is best effort.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Files::default();
    if path.is_dir() {
        found.directory(path);
        for entry in entries(path) {
            if !entry.is_symlink() && entry.is_dir() {
                found.directory(&entry);
            }
        }
    } else {
        found.file(path);
    }
    found.order
}

/// The entries of a directory, sorted by name.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

#[derive(Default)]
struct Files {
    known: HashSet<PathBuf>,
    order: Vec<PathBuf>,
    buffer: Vec<u8>,
}

impl Files {
    fn directory(&mut self, directory: &Path) {
        for path in entries(directory) {
            let name = path.file_name().unwrap_or_default();
            if name.as_bytes().ends_with(ENDING.as_bytes()) {
                self.file(&path);
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let (Ok(mut source), mut problems) = (open(path), Problems::default()) else {
            return;
        };
        let Ok(layout) = layout::read(&mut source, &mut problems) else {
            return;
        };
        self.buffer.resize(BLOCK, 0);
        let (known, order) = (&mut self.known, &mut self.order);
        for chunk in layout.chunks.iter().filter(|chunk| !chunk.totals) {
            let buffer = &mut self.buffer;
            each_record(
                &mut source,
                chunk,
                buffer,
                &mut problems,
                |record, more, _| {
                    if record.kind != Kind::Event as u8 {
                        return;
                    }
                    let event = Event::from_u16(record.symbol);
                    if !matches!(event, Some(Event::File | Event::Library | Event::Program)) {
                        return;
                    }
                    let path = Path::new(OsStr::from_bytes(text(more, 0)));
                    if !path.as_os_str().is_empty() && !known.contains(path) {
                        known.insert(path.to_owned());
                        order.push(path.to_owned());
                    }
                },
            );
        }
    }
}
