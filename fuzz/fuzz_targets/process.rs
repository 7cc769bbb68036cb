//! Reading a process file with arbitrary content ends without a panic and with no more
//! memory than the file's size justifies (enforced by libFuzzer's limit).
//!
//! The first eight bytes are the time at which the start began; the rest is the file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((exec, file)) = data.split_first_chunk() else {
        return;
    };
    if let Ok((process, _)) = preheat_trace::read_process(file, u64::from_le_bytes(*exec)) {
        for thread in &process.threads {
            assert!(thread.spans.is_sorted_by_key(|span| span.begin));
            assert!(thread.spans.iter().all(|span| span.begin <= span.end));
        }
    }
});
