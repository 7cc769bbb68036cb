//! Searches for a path in a stream of bytes, chunk by chunk.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A search for a path.
pub(super) struct Mentions<'a> {
    path: &'a [u8],
    /// The end of the previous chunks, where the path may begin.
    end: Vec<u8>,
    pub found: bool,
}

impl<'a> Mentions<'a> {
    pub(super) fn of(path: &'a Path) -> Mentions<'a> {
        Mentions {
            path: path.as_os_str().as_bytes(),
            end: Vec::new(),
            found: false,
        }
    }

    pub(super) fn scan(&mut self, bytes: &[u8]) {
        if self.found || self.path.is_empty() {
            return;
        }
        let most = self.path.len() - 1;
        self.end.extend(&bytes[..bytes.len().min(most)]);
        self.found = has(&self.end, self.path) || has(bytes, self.path);
        if bytes.len() >= most {
            self.end.clear();
            self.end.extend(&bytes[bytes.len() - most..]);
        } else {
            self.end.drain(..self.end.len().saturating_sub(most));
        }
    }
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|&byte| byte == part[0]) {
        at += next;
        if bytes[at..].starts_with(part) {
            return true;
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_across_chunks() {
        let text = b"//kept/a \0 /kept/caches/x";
        for length in 1..text.len() {
            let mut mentions = Mentions::of(Path::new("/kept/caches"));
            text.chunks(length).for_each(|piece| mentions.scan(piece));
            assert!(mentions.found, "pieces of {length}");
            let mut mentions = Mentions::of(Path::new("/kept/cachet"));
            text.chunks(length).for_each(|piece| mentions.scan(piece));
            assert!(!mentions.found, "pieces of {length}");
        }
    }
}
