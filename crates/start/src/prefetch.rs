//! Prefetch: what earlier starts of the program have read until their first iteration is
//! read ahead, by a few threads, while the program starts.
//!
//! It applies where something of that is not in the page cache now: a few of the files
//! are looked at for that, which costs a millisecond. It is applied by a process in the
//! background, which has nothing of the program's and ends by itself, also when the
//! program does. It is verified by looking again. There is nothing to undo: the page
//! cache gives its memory to whoever needs it.

mod read;

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use crate::background;
use crate::case::Case;
use crate::invocation::Why;
use crate::seen::Seen;

/// Most files that are looked at.
const EVENLY: usize = 96;
const LARGEST: usize = 32;

/// Places in each that are looked at.
const PLACES: u64 = 4;

/// Of a file of which nobody knows what was read of it, so much is read at most.
const WHOLE: u64 = 256 << 20;

/// What would be read ahead, wherever it is now; or why nothing is known.
pub(crate) fn applies<'a>(case: &Case<'a>) -> Result<&'a Seen, Why> {
    let seen = case.seen.ok_or("the program was not measured yet")?;
    if seen.files.is_empty() {
        return Err("the program was not seen to read anything".into());
    }
    Ok(seen)
}

/// Have it read ahead.
pub(crate) fn apply(case: &Case<'_>) -> Result<(), Why> {
    let seen = applies(case)?;
    if is_there(seen) {
        return Err("what it reads is in memory already".into());
    }
    let budget = preheat_host::memory::available().unwrap_or(0) / 2;
    let program = std::process::id();
    let begun = background::run(|| {
        background::detach(&[], false);
        let _ = std::env::set_current_dir("/");
        read::all(seen, budget, program);
    });
    begun.map_err(|why| format!("it cannot be read in the background: {why}"))
}

/// Whether all that is looked at is in the page cache. What cannot be told is not.
fn is_there(seen: &Seen) -> bool {
    sample(seen).all(|path| {
        let Some(file) = read::open(path) else {
            return true; // It is gone, or not ours to read.
        };
        let parts = parts(seen, path, &file);
        let bytes: u64 = parts.iter().map(|part| part.end - part.start).sum();
        let mut places = (0..PLACES).map(|place| at(&parts, bytes * place / PLACES));
        places.all(|at| at.is_none_or(|at| read::is_byte_there(&file, at)))
    })
}

/// The largest, as far as that is known, and some of the others.
fn sample(seen: &Seen) -> impl Iterator<Item = &Path> {
    let mut largest: Vec<_> = seen
        .ranges
        .iter()
        .map(|(path, parts)| {
            let bytes: u64 = parts.iter().map(|part| part.end - part.start).sum();
            (bytes, path.as_path())
        })
        .collect();
    largest.sort_unstable_by(|one, other| other.cmp(one));
    largest.truncate(LARGEST);
    let step = seen.files.len().div_ceil(EVENLY).max(1);
    let evenly = seen.files.iter().step_by(step).map(|path| path.as_path());
    largest.into_iter().map(|(_, path)| path).chain(evenly)
}

/// What is to be read of a file.
fn parts(seen: &Seen, path: &Path, file: &File) -> Vec<Range<u64>> {
    if let Some(parts) = seen.ranges.get(path) {
        return parts.clone();
    }
    let length = file.metadata().map_or(0, |is| is.len());
    std::iter::once(0..length.min(WHOLE))
        .filter(|part| !part.is_empty())
        .collect()
}

/// Where the byte with this number lies, if only the parts are counted.
fn at(parts: &[Range<u64>], mut number: u64) -> Option<u64> {
    for part in parts {
        let length = part.end - part.start;
        if number < length {
            return Some(part.start + number);
        }
        number -= length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::tests::sample as sample_case;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::PathBuf;
    use std::time::{Duration, Instant};

    /// Files on a disk that are in nobody's memory. `None` where they cannot be: on a file
    /// system that is one.
    fn cold(name: &str, count: usize, bytes: usize) -> Option<(PathBuf, Vec<PathBuf>)> {
        let beside = std::env::current_exe().expect("a path");
        let directory = beside.with_file_name(format!("prefetch-{name}-{}", std::process::id()));
        fs::create_dir(&directory).expect("a directory for the test");
        let paths: Vec<_> = (0..count).map(|n| directory.join(n.to_string())).collect();
        for path in &paths {
            fs::write(path, vec![7; bytes]).expect("a file");
            let file = File::open(path).expect("it opens");
            file.sync_all().expect("it is on disk");
            drop_pages(&file);
        }
        let is_cold = paths.iter().all(|path| there(path) == 0);
        if !is_cold {
            fs::remove_dir_all(&directory).expect("it goes");
        }
        is_cold.then_some((directory, paths))
    }

    fn drop_pages(file: &File) {
        use std::os::fd::AsRawFd;
        // SAFETY: the descriptor is open; no memory is involved.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }

    fn there(path: &Path) -> u64 {
        let parts = preheat_launch::cached_parts(path).expect("it can be asked");
        parts.iter().map(|part| part.end - part.start).sum()
    }

    #[test]
    fn what_was_seen_is_read_and_nothing_else() {
        let Some((directory, paths)) = cold("all", 40, 3 << 20) else {
            return;
        };
        let part = 1 << 20..(1 << 20) + 4096;
        let ranges = BTreeMap::from([(paths[1].clone(), Vec::from([part]))]);
        let seen = Seen {
            files: paths[..39].to_vec(),
            ranges,
            ..Seen::default()
        };
        assert!(!is_there(&seen));
        read::all(&seen, u64::MAX, std::process::id());
        // What was on its way already is not waited for.
        let deadline = Instant::now() + Duration::from_secs(60);
        while !is_there(&seen) {
            assert!(Instant::now() < deadline, "it is not read");
            std::thread::yield_now();
        }
        for (number, path) in paths.iter().enumerate() {
            match number {
                1 => assert!((4096..2 << 20).contains(&there(path)), "{}", there(path)),
                39 => assert_eq!(there(path), 0),
                _ => assert_eq!(there(path), 3 << 20, "{number}"),
            }
        }
        let why = apply(&sample_case(&[], Some(seen)).case()).expect_err("all of it is there");
        assert!(why.contains("already"), "{why}");
        fs::remove_dir_all(&directory).expect("it goes");
    }

    #[test]
    fn a_budget_is_kept_and_a_program_that_is_gone_needs_nothing() {
        let Some((directory, files)) = cold("budget", 10, 1 << 20) else {
            return;
        };
        let seen = Seen {
            files,
            ..Seen::default()
        };
        let all = || seen.files.iter().map(|path| there(path)).sum::<u64>();
        let ended = std::process::Command::new("true").spawn();
        let mut ended = ended.expect("it starts");
        ended.wait().expect("it ends");
        read::all(&seen, u64::MAX, ended.id());
        assert_eq!(all(), 0);
        read::all(&seen, (3 << 20) + 5, std::process::id());
        assert_eq!(all(), 3 << 20);
        fs::remove_dir_all(&directory).expect("it goes");
    }

    #[test]
    fn a_byte_of_the_parts_is_found_in_the_file() {
        let parts = [10..12, 20..23];
        let found: Vec<_> = (0..6).map(|number| at(&parts, number)).collect();
        let expected = [Some(10), Some(11), Some(20), Some(21), Some(22), None];
        assert_eq!(found, expected);
    }

    #[test]
    fn without_files_there_is_nothing_to_do() {
        for seen in [None, Some(Seen::default())] {
            assert!(apply(&sample_case(&[], seen).case()).is_err());
        }
        assert!(preheat_host::memory::available().unwrap_or(0) > 0);
    }
}
