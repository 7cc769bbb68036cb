//! Reading a file of times with arbitrary content ends without a panic, with bounded memory
//! (enforced by libFuzzer's limit), and never yields an invalid time.
//!
//! The first byte selects the settings; the rest is the file. The samples in
//! crates/times/tests/samples, prefixed with any byte, are a good corpus.

#![no_main]

use libfuzzer_sys::fuzz_target;
use preheat_times::{Settings, TimeUnit, read};

fuzz_target!(|data: &[u8]| {
    let Some((how, file)) = data.split_first() else {
        return;
    };
    let settings = Settings {
        name: "file".to_owned(),
        unit: (how & 2 != 0).then(|| TimeUnit::ALL[usize::from(how >> 2) % TimeUnit::ALL.len()]),
        mixed_lengths: how & 1 != 0,
    };
    let _ = read(file, &settings, &mut |_, times| {
        assert!(!times.starts.is_empty());
        for start in &times.starts {
            assert!(!start.is_empty());
            assert!(start.iter().all(|time| time.is_finite() && *time > 0.0));
        }
    });
});
