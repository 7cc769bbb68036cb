//! Reading any damaged file ends without a panic, with little memory, and never yields an
//! invalid time.
//!
//! This is the bounded, deterministic sibling of the fuzz target in `fuzz/`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use preheat_times::{Settings, read};

#[path = "../../trace/tests/support/memory.rs"]
mod memory;
mod support;

use support::{SAMPLES, sample};

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

/// Seeded pseudo-random numbers (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Reads a damaged file and checks the invariants of the result.
fn survives(bytes: &[u8], mixed_lengths: bool) -> bool {
    let settings = Settings {
        name: "file".to_owned(),
        mixed_lengths,
        ..Settings::default()
    };
    let mut found = Vec::new();
    // Serialized: allocations of other tests would count too.
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock();
    let (result, peak) =
        memory::peak_of(|| read(bytes, &settings, &mut |_, times| found.push(times)));
    drop(one);
    let shown = || String::from_utf8_lossy(&bytes[..bytes.len().min(400)]).into_owned();
    // Two buffers, the decompressor, and what the file's size justifies.
    assert!(
        peak < (8 << 20) + 64 * bytes.len(),
        "{peak} bytes for {}",
        shown()
    );
    for times in &found {
        assert!(!times.starts.is_empty(), "{}", shown());
        for start in &times.starts {
            assert!(!start.is_empty(), "{}", shown());
            assert!(
                start.iter().all(|t| (1e-12..=1e9).contains(t)),
                "{start:?} in {}",
                shown()
            );
        }
        if !mixed_lengths && !bytes.windows(7).any(|word| word == b"preheat") {
            let length = times.starts[0].len();
            assert!(
                times.starts.iter().all(|s| s.len() == length),
                "{}",
                shown()
            );
        }
    }
    match &result {
        Ok(_) => assert!(!found.is_empty()),
        Err(why) => {
            let why = why.to_string();
            assert!(!why.is_empty() && why.len() < 1000, "{why}");
            assert!(!why.chars().any(char::is_control), "{why:?}");
        }
    }
    // Anything accepted as JSON here must be valid JSON.
    let json = bytes
        .trim_ascii_start()
        .first()
        .is_some_and(|byte| b"[{".contains(byte));
    if json && result.is_ok() && std::str::from_utf8(bytes).is_ok() {
        let known: Result<serde::de::IgnoredAny, _> = serde_json::from_slice(bytes);
        assert!(known.is_ok(), "{:?}: {}", known.err(), shown());
    }
    result.is_ok()
}

#[test]
fn random_damage_does_not_panic() {
    let words: [&[u8]; 27] = [
        b"NaN",
        b"-",
        b"0",
        b"1e400",
        b"null",
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b"\"",
        b"\\",
        b"\\u12",
        b"\\ud800",
        b"\\udfff",
        b"\\u0000",
        b"\n",
        b"\n\n",
        b" ",
        b"#",
        b"crash",
        b"1",
        b".",
        b"e",
        b"\"times\":",
        b"\"runs\":",
        b"\xff",
    ];
    let mut numbers = Numbers(2026);
    let mut read: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for name in SAMPLES {
        let sound = sample(name);
        assert!(survives(&sound, false), "{name}");
        let rounds = if name.ends_with("bz2") { 1500 } else { 4000 };
        for round in 0..rounds {
            let mut bytes = sound.clone();
            for _ in 0..=numbers.below(3) {
                let at = numbers.below(bytes.len());
                let length = numbers.below(12).min(bytes.len() - at);
                let word = words[numbers.below(words.len())].to_vec();
                match numbers.below(6) {
                    0 => bytes.truncate(at),
                    1 => drop(bytes.drain(at..at + length)),
                    2 => drop(bytes.splice(at..at, word)),
                    3 => drop(bytes.splice(at..at + length, word)),
                    4 => {
                        let copy = bytes[at..at + length].to_vec();
                        let to = numbers.below(bytes.len());
                        bytes.splice(to..to, copy);
                    }
                    _ if !bytes.is_empty() => bytes[at] ^= 1 << numbers.below(8),
                    _ => {}
                }
                if bytes.is_empty() {
                    break;
                }
            }
            let count = read.entry(name).or_default();
            count.0 += 1;
            count.1 += usize::from(survives(&bytes, round % 2 == 0));
        }
    }
    println!("attempts and successes: {read:?}");
    for (name, (_, good)) in &read {
        // Some damage is harmless; otherwise the files would be too easy to reject.
        assert!(*good > 0 || name.ends_with("bz2"), "{read:?}");
    }
}

#[test]
fn truncated_files_do_not_panic() {
    for name in SAMPLES {
        let sound = sample(name);
        for length in 0..sound.len() {
            survives(&sound[..length], true);
        }
    }
}

#[test]
fn numbers_agree_with_serde_json() {
    let mut numbers = Numbers(7);
    for _ in 0..2000 {
        let bits = numbers.next();
        let digits = match numbers.below(3) {
            0 => format!("{}", f64::from_bits(bits).abs()),
            1 => format!("{:e}", (bits >> 11) as f64 * 1e-19),
            _ => format!("{}.{:09}", bits % 100, bits >> 34),
        };
        let text = format!("[{digits}]");
        let known: Option<Vec<f64>> = serde_json::from_str(&text).ok();
        let mut found = Vec::new();
        let result = read(text.as_bytes(), &Settings::default(), &mut |_, t| {
            found.push(t)
        });
        match known {
            Some(known) if (1e-12..=1e9).contains(&known[0]) => {
                result.unwrap_or_else(|why| panic!("{text}: {why}"));
                assert_eq!(found[0].starts, [known]);
            }
            _ => assert!(result.is_err(), "{text}"),
        }
    }
}
