//! Damaged and malicious bundles: refused with a message, and nothing is left of them.

use std::io::Read;

use ::tar::EntryType;

use super::super::header::Checksum;
use super::super::header::Header;
use super::super::tar::{BLOCK, Member, header as block, padding};
use super::*;

/// A bundle of these files that is otherwise valid.
fn bundle(scratch: &Scratch, files: &[(&str, &[u8])]) -> Vec<u8> {
    let cache_dir = scratch.join("place");
    let mut header = Header::new("now", cache_dir.to_str().expect("text"), &here());
    header.files = files.len() as u64;
    header.bytes = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let members: Vec<Member> = files
        .iter()
        .map(|(path, bytes)| member(path, bytes))
        .collect();
    let mut sum = Checksum::new();
    members
        .iter()
        .for_each(|member| sum.add(&member.identity()));
    header.files_xxh64 = sum.digits();
    let mut made = Header::front(&header.text(None).expect("a document"));
    for (member, (_, bytes)) in members.iter().zip(files) {
        made.extend(member.front());
        made.extend(*bytes);
        made.resize(made.len() + padding(member.size), 0);
    }
    made.extend([0; 2 * BLOCK]);
    made
}

fn member(path: &str, bytes: &[u8]) -> Member {
    let mut sum = Checksum::new();
    sum.add(bytes);
    Member {
        path: path.to_owned(),
        mode: 0o644,
        modified: (1, 2),
        size: bytes.len() as u64,
        checksum: sum.value(),
    }
}

/// Returns the reason why a bundle is refused, and checks that nothing is left of it.
fn refusal(scratch: &Scratch, mut bundle: impl Read) -> String {
    let before = scratch.files("");
    let done = unpack(&mut bundle, None, &here(), &mut on);
    let Err(BundleError::Refused(why)) = done else {
        panic!("it is not refused: {done:?}");
    };
    assert_eq!(scratch.files(""), before, "{why}");
    assert!(!scratch.join("place").exists(), "{why}");
    why
}

const VALID_ENTRY: (&str, &[u8]) = ("triton_cache_dir/k/a", b"some code");

#[test]
fn a_valid_bundle_is_accepted() {
    let scratch = Scratch::new();
    let made = bundle(&scratch, &[VALID_ENTRY, ("numba_cache_dir/x", b"")]);
    let done = unpack(&mut made.as_slice(), None, &here(), &mut on).expect("it is right");
    assert_eq!((done.files, done.bytes), (2, 9));
}

#[test]
fn paths_outside_the_caches_are_refused() {
    let scratch = Scratch::new();
    for path in [
        "/etc/passwd",
        "../up",
        "triton_cache_dir/../../up",
        "triton_cache_dir/./a",
        "triton_cache_dir//a",
        "triton_cache_dir/",
        "triton_cache_dir",
        "triton_cache_dir/a\0b",
        ".unpack-1/a",
        "bin/ls",
        "",
    ] {
        let why = refusal(
            &scratch,
            bundle(&scratch, &[VALID_ENTRY, (path, b"x")]).as_slice(),
        );
        let is_expected = why.contains("not within a cache") || why.contains("damaged");
        assert!(is_expected, "{path:?}: {why}");
    }
    for (twice, word) in [
        ("triton_cache_dir/k/a", "twice"),
        ("triton_cache_dir/k/a/b", "twice"),
    ] {
        let why = refusal(
            &scratch,
            bundle(&scratch, &[VALID_ENTRY, (twice, b"x")]).as_slice(),
        );
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn links_devices_and_setuid_files_are_refused() {
    let scratch = Scratch::new();
    for (kind, mode) in [
        (EntryType::Link, 0o644),
        (EntryType::Symlink, 0o644),
        (EntryType::Char, 0o644),
        (EntryType::Fifo, 0o644),
        (EntryType::Regular, 0o4755),
    ] {
        let mut made = bundle(&scratch, &[VALID_ENTRY]);
        // The last header is that of the file, before its content and the end.
        let at = made.len() - 4 * BLOCK;
        made[at..at + BLOCK].copy_from_slice(&block(VALID_ENTRY.0, kind, mode, 9, 1));
        let why = refusal(&scratch, made.as_slice());
        assert!(why.contains("never packs"), "{kind:?}: {why}");
    }
}

#[test]
fn wrong_sizes_are_refused() {
    let scratch = Scratch::new();
    let mut made = bundle(&scratch, &[VALID_ENTRY]);
    let at = made.len() - 4 * BLOCK;
    made[at..at + BLOCK].copy_from_slice(&block(
        VALID_ENTRY.0,
        EntryType::Regular,
        0o644,
        1 << 32,
        1,
    ));
    // The stream never ends.
    let endless = made.as_slice().chain(io::repeat(0));
    let why = refusal(&scratch, endless);
    assert!(why.contains("contains more"), "{why}");
    let cache_dir = scratch.join("place");
    let mut large = Header::new("now", cache_dir.to_str().expect("text"), &here());
    large.files = 1;
    let front = Header::front(&large.text(None).expect("a document"));
    let done = unpack(&mut front.as_slice(), None, &here(), &mut on);
    assert!(matches!(done, Err(BundleError::Failed(why)) if why.contains("are free")));
    assert!(!cache_dir.exists());
}

#[test]
fn a_truncated_bundle_is_refused() {
    let scratch = Scratch::new();
    let made = bundle(&scratch, &[VALID_ENTRY, ("numba_cache_dir/x", b"1")]);
    // The last block of zeros is not read.
    for length in (0..made.len() - BLOCK).step_by(97) {
        let why = refusal(&scratch, &made[..length]);
        assert!(
            why.contains("damaged") || why.contains("not a preheat bundle"),
            "{why}"
        );
    }
}

/// A repeatable stream of numbers: SplitMix64.
fn numbers(mut state: u64) -> impl FnMut() -> usize {
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) as usize
    }
}

#[test]
fn changed_bytes_are_detected_or_do_not_matter() {
    let scratch = Scratch::new();
    let files = [
        VALID_ENTRY,
        ("numba_cache_dir/x", &[9; 700]),
        ("cuda_cache_path/index", b"i"),
    ];
    let made = bundle(&scratch, &files);
    let cache_dir = scratch.join("place");
    let mut next = numbers(5);
    let (mut refused, mut accepted) = (0, 0);
    for _ in 0..1000 {
        let mut bad = made.clone();
        for _ in 0..1 + next() % 3 {
            let at = next() % bad.len();
            match next() % 4 {
                0 => bad[at] ^= 1 << (next() % 8),
                1 => bad[at] = next() as u8,
                2 => drop(bad.drain(at..bad.len().min(at + next() % 600))),
                _ => bad.insert(at, next() as u8),
            }
        }
        match unpack(&mut bad.as_slice(), None, &here(), &mut on) {
            // Padding and unread fields do not matter.
            Ok(done) => {
                assert_eq!(
                    (done.cache_dir.as_path(), done.files),
                    (cache_dir.as_path(), 3)
                );
                for (path, bytes) in files {
                    assert_eq!(fs::read(cache_dir.join(path)).expect("it exists"), bytes);
                }
                accepted += 1;
            }
            Err(BundleError::Refused(why) | BundleError::Failed(why)) => {
                assert!(!why.is_empty());
                refused += 1;
            }
            Err(BundleError::Interrupted) => panic!("nothing interrupts it"),
        }
        let left = scratch.files("");
        assert!(
            left.iter().all(|(path, _)| path.starts_with(&cache_dir)),
            "{left:?}"
        );
        let _ = fs::remove_dir_all(&cache_dir);
    }
    assert!(
        refused > 300 && accepted > 10,
        "{refused} refused, {accepted} accepted"
    );
}
