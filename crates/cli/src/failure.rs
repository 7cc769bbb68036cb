//! What a command that failed has to say for itself.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use preheat_analyze::run::Manifest;
use preheat_launch::STDERR;

/// So many lines of a failed command's complaints are shown.
const LINES: usize = 20;
/// They are looked for in so many bytes at the end: it may have written any number.
const TAIL: u64 = 64 << 10;

/// What is said of a failed start, with the end of its own complaints.
pub fn failure(side: &str, place: &Path, manifest: &Manifest) -> String {
    let Some(start) = manifest.starts.last() else {
        return format!("{side} failed");
    };
    let mut sentence = format!(
        "{side} failed with exit code {} in its start {}, so no more starts were made",
        start.exit_code,
        manifest.starts.len()
    );
    let said = File::open(place.join(&start.directory).join(STDERR)).and_then(tail);
    let said = said.unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    let end = &lines[lines.len().saturating_sub(LINES)..];
    if end.is_empty() {
        sentence.push_str("; it says nothing");
    } else {
        sentence.push_str("; it says:");
    }
    for line in end {
        // As plain text: a terminal must not be told to do anything.
        let plain: String = line.chars().filter(|c| !c.is_control()).collect();
        sentence.push_str(&format!("\n  {plain}"));
    }
    sentence
}

/// The last bytes of a file, from the beginning of a line where there is one.
fn tail(mut file: impl Read + Seek) -> io::Result<Vec<u8>> {
    let before = file.seek(SeekFrom::End(0))?.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    // Something that was left behind may be writing still.
    file.take(TAIL).read_to_end(&mut bytes)?;
    if before > 0
        && let Some(end) = bytes.iter().position(|byte| *byte == b'\n')
        && end + 1 < bytes.len()
    {
        bytes.drain(..=end);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_complaints_is_read() {
        let tail_of = |text: &str| String::from_utf8(tail(io::Cursor::new(text)).unwrap()).unwrap();
        assert_eq!(tail_of(""), "");
        assert_eq!(tail_of("one\ntwo\n"), "one\ntwo\n");
        let long = "a line\n".repeat(1 << 20) + "the end\n";
        let end = tail_of(&long);
        assert!(end.starts_with("a line\n") && end.ends_with("a line\nthe end\n"));
        assert!(end.len() as u64 <= TAIL);
        let one = "x".repeat(1 << 20);
        assert_eq!(tail_of(&one).len() as u64, TAIL);
        assert_eq!(tail_of(&(one + "\n")).len() as u64, TAIL);
    }
}
