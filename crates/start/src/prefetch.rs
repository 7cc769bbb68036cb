//! Prefetch: a few threads read the files that earlier starts of the program read before
//! the end of their first iteration, while the program starts.
//!
//! - Applies if some of these files are not in the page cache. A sample of them is checked,
//!   which costs a millisecond.
//! - Apply: a background process reads them. It shares nothing with the program, and exits
//!   when it is done or the program exits.
//! - Verify: check the sample again.
//! - Undo: nothing to do, since the page cache gives up its memory when needed.

mod read;

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use crate::background;
use crate::context::StartContext;
use crate::observations::Observations;
use crate::reason::Reason;

/// The sample: at most this many files at even steps, and this many of the largest.
const MAX_EVEN_SAMPLES: usize = 96;
const MAX_LARGEST_SAMPLES: usize = 32;

/// The number of bytes that are checked per sampled file.
const CHECKED_PER_FILE: u64 = 4;

/// The number of bytes that are read of a file whose ranges are unknown.
const MAX_UNKNOWN_RANGE: u64 = 256 << 20;

/// The observations to read ahead, cached or not; an error is the reason why there are none.
pub(crate) fn applies<'a>(context: &StartContext<'a>) -> Result<&'a Observations, Reason> {
    let observed = context.observations.ok_or(Reason::Unmeasured)?;
    if observed.files.is_empty() {
        return Err(Reason::ReadsNothing);
    }
    Ok(observed)
}

/// Starts the background process that reads ahead.
pub(crate) fn apply(context: &StartContext<'_>) -> Result<(), Reason> {
    let observed = applies(context)?;
    if is_there(observed) {
        return Err(Reason::InMemory);
    }
    let budget = preheat_host::available_memory().unwrap_or(0) / 2;
    let program = std::process::id();
    let begun = background::run(|| {
        background::detach(&[], false);
        let _ = std::env::set_current_dir("/");
        read::all(observed, budget, program);
    });
    begun.map_err(|why| Reason::NoBackground(why.into()))
}

/// Returns true if the whole sample is in the page cache.
fn is_there(observed: &Observations) -> bool {
    sample(observed).all(|path| {
        let Some(file) = read::open(path) else {
            return true; // Missing or unreadable.
        };
        let parts = parts(observed, path, &file);
        let bytes: u64 = parts.iter().map(|part| part.end - part.start).sum();
        let mut places =
            (0..CHECKED_PER_FILE).map(|place| at(&parts, bytes * place / CHECKED_PER_FILE));
        places.all(|at| at.is_none_or(|at| read::is_byte_there(&file, at)))
    })
}

/// The files with the most bytes in known ranges, and an even selection of all files.
fn sample(observed: &Observations) -> impl Iterator<Item = &Path> {
    let mut largest: Vec<_> = observed
        .ranges
        .iter()
        .map(|(path, parts)| {
            let bytes: u64 = parts.iter().map(|part| part.end - part.start).sum();
            (bytes, path.as_path())
        })
        .collect();
    largest.sort_unstable_by(|one, other| other.cmp(one));
    largest.truncate(MAX_LARGEST_SAMPLES);
    let step = observed.files.len().div_ceil(MAX_EVEN_SAMPLES).max(1);
    let evenly = observed
        .files
        .iter()
        .step_by(step)
        .map(|path| path.as_path());
    largest.into_iter().map(|(_, path)| path).chain(evenly)
}

/// The ranges to read of a file.
fn parts(observed: &Observations, path: &Path, file: &File) -> Vec<Range<u64>> {
    if let Some(parts) = observed.ranges.get(path) {
        return parts.clone();
    }
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    std::iter::once(0..length.min(MAX_UNKNOWN_RANGE))
        .filter(|part| !part.is_empty())
        .collect()
}

/// The file offset of the byte with this number, counting only the bytes in `parts`.
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
#[path = "../../../tests/waiting.rs"]
mod waiting;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::PathBuf;

    use preheat_host::Scratch;

    use super::*;
    use crate::context::tests::sample as sample_case;

    /// Files on disk that are not in the page cache. `None` if that is impossible, as on a
    /// file system in memory.
    fn cold(count: usize, bytes: usize) -> Option<(Scratch, Vec<PathBuf>)> {
        let program = std::env::current_exe().expect("a path");
        let beside = program.parent().expect("a directory");
        let scratch = Scratch::below(beside, "prefetch").expect("a directory for the test");
        let path = |number: usize| scratch.path().join(number.to_string());
        let paths: Vec<_> = (0..count).map(path).collect();
        for path in &paths {
            fs::write(path, vec![7; bytes]).expect("a file");
            let file = File::open(path).expect("it opens");
            file.sync_all().expect("it is written to disk");
            drop_pages(&file);
        }
        let is_cold = paths.iter().all(|path| there(path) == 0);
        is_cold.then_some((scratch, paths))
    }

    fn drop_pages(file: &File) {
        use rustix::fs::{Advice, fadvise};
        fadvise(file, 0, None, Advice::DontNeed).expect("a file has pages");
    }

    fn there(path: &Path) -> u64 {
        let parts = preheat_launch::cached_parts(path).expect("the kernel reports them");
        parts.iter().map(|part| part.end - part.start).sum()
    }

    #[test]
    fn only_the_observed_ranges_are_read() {
        let Some((_scratch, paths)) = cold(40, 3 << 20) else {
            return;
        };
        let part = 1 << 20..(1 << 20) + 4096;
        let ranges = BTreeMap::from([(paths[1].clone(), Vec::from([part]))]);
        let observed = Observations {
            files: paths[..39].to_vec(),
            ranges,
            ..Observations::default()
        };
        assert!(!is_there(&observed));
        read::all(&observed, u64::MAX, std::process::id());
        // `all` does not wait for pages that were already being read.
        waiting::until("everything is read", &[], || is_there(&observed));
        for (number, path) in paths.iter().enumerate() {
            match number {
                1 => assert!((4096..2 << 20).contains(&there(path)), "{}", there(path)),
                39 => assert_eq!(there(path), 0),
                _ => assert_eq!(there(path), 3 << 20, "{number}"),
            }
        }
        let why =
            apply(&sample_case(&[], Some(observed)).context()).expect_err("everything is cached");
        assert!(why.to_string().contains("already"), "{why}");
    }

    #[test]
    fn reading_stops_at_the_budget_and_when_the_program_has_exited() {
        let Some((_scratch, files)) = cold(10, 1 << 20) else {
            return;
        };
        let observed = Observations {
            files,
            ..Observations::default()
        };
        let all = || observed.files.iter().map(|path| there(path)).sum::<u64>();
        let ended = std::process::Command::new("true").spawn();
        let mut ended = ended.expect("it starts");
        ended.wait().expect("it ends");
        read::all(&observed, u64::MAX, ended.id());
        assert_eq!(all(), 0);
        read::all(&observed, (3 << 20) + 5, std::process::id());
        assert_eq!(all(), 3 << 20);
    }

    #[test]
    fn a_byte_number_is_mapped_to_a_file_offset() {
        let parts = [10..12, 20..23];
        let found: Vec<_> = (0..6).map(|number| at(&parts, number)).collect();
        let expected = [Some(10), Some(11), Some(20), Some(21), Some(22), None];
        assert_eq!(found, expected);
    }

    #[test]
    fn it_does_not_apply_without_files() {
        for observed in [None, Some(Observations::default())] {
            assert!(apply(&sample_case(&[], observed).context()).is_err());
        }
        assert!(preheat_host::available_memory().unwrap_or(0) > 0);
    }
}
