//! Damaged files lose only the damaged parts.

use preheat_model::run::trace::Process;
use preheat_trace::{ReadError, read_process};
use preheat_wire::{HEADER_BYTES, Record, SLOT_BYTES, Shape, Usage};

mod support;

use support::EXEC;
use support::writer::ProcessFile;

fn at(time: u64) -> u64 {
    EXEC + time
}

/// A hundred calls on each of two threads, in chunks of a page.
fn calls() -> ProcessFile {
    let mut file = ProcessFile::new(100, at(0));
    file.chunks_of(4096)
        .on(100, "main")
        .symbol(1, Shape::Plain, "f", "l");
    for number in 0..200 {
        file.on(100 + (number / 100) as u32, "t")
            .call(1, at(number), at(number) + 1, 0, 0, &[]);
    }
    file
}

fn read(bytes: &[u8]) -> (Process, Vec<String>) {
    read_process(bytes, EXEC).expect("it can be read")
}

fn spans(process: &Process) -> Vec<(u32, usize)> {
    process
        .threads
        .iter()
        .map(|thread| (thread.id, thread.spans.len()))
        .collect()
}

#[test]
fn a_truncated_file_keeps_its_complete_records() {
    let file = calls();
    let slot = HEADER_BYTES + 64 + 12 * SLOT_BYTES;
    let (process, problems) = read(&file.bytes()[..slot + 5]);
    // One of the slots before it is the second one of the symbol.
    assert_eq!(spans(&process), [(100, 10)]);
    assert!(problems[0].starts_with(&format!("it ends at offset {}, but", slot + 5)));
    assert!(
        problems[1].starts_with("the chunk at offset 4096 should have"),
        "{problems:?}"
    );
}

#[test]
fn reading_resumes_after_a_broken_chain() {
    for bytes in [0u32, 63, 4097, u32::MAX] {
        let mut file = calls();
        file.put(HEADER_BYTES + 12, &bytes.to_le_bytes());
        let (process, problems) = read(file.bytes());
        assert_eq!(spans(&process), [(101, 100)], "{bytes}");
        assert_eq!(
            problems,
            ["the 4096 bytes at offset 4096 are not a chunk and were skipped"]
        );
    }
    // Too long for the file, but otherwise valid: it is kept, and so are the following
    // ones.
    let mut file = calls();
    file.put(HEADER_BYTES + 12, &(1u32 << 31).to_le_bytes());
    let (process, _) = read(file.bytes());
    assert_eq!(spans(&process), [(100, 100), (101, 100)]);
}

#[test]
fn an_impossible_number_of_slots_is_ignored() {
    let mut file = calls();
    file.put(HEADER_BYTES + 16, &u32::MAX.to_le_bytes());
    let (process, problems) = read(file.bytes());
    assert_eq!(spans(&process), [(100, 100), (101, 100)]);
    assert_eq!(
        problems,
        [
            "the chunk at offset 4096 should have 4294967295 entries, but only 126 are present",
            "24 slots are empty, the first at offset 7424"
        ]
    );
}

#[test]
fn impossible_times_are_left_out() {
    let mut file = calls();
    file.on(102, "odd")
        .call(1, at(5), at(3), 0, 0, &[])
        .call(1, u64::MAX, 0, 0, 0, &[]);
    file.call(1, 3, at(5), 0, 0, &[])
        .call(1, at(500), at(501), 0, 0, &[]);
    let (process, problems) = read(file.bytes());
    assert_eq!(spans(&process), [(100, 100), (101, 100), (102, 1)]);
    assert!(problems[0].starts_with("3 records have impossible times and were left out, the"));
    assert_eq!(process.ended, 501);
}

#[test]
fn spans_out_of_order_are_sorted() {
    let mut file = ProcessFile::new(100, at(0));
    file.on(100, "main").symbol(1, Shape::Plain, "f", "l");
    for begin in [5, 1, 9, 3] {
        file.call(1, at(begin), at(20), 0, 0, &[]);
    }
    let (process, _) = read(file.bytes());
    let depths: Vec<(u64, u8)> = process.threads[0]
        .spans
        .iter()
        .map(|span| (span.begin, span.depth))
        .collect();
    assert_eq!(depths, [(1, 0), (3, 1), (5, 2), (9, 3)]);
}

#[test]
fn a_record_beyond_its_chunk_keeps_its_time() {
    let mut file = ProcessFile::new(100, at(0));
    file.on(100, "main")
        .load(at(1), at(9), &Usage::default(), "/lib/x.so");
    file.put(HEADER_BYTES + 64 + 17, &[200]);
    let (process, problems) = read(file.bytes());
    assert_eq!(
        (
            process.threads[0].spans[0].end,
            process.loads[0].path.as_str()
        ),
        (9, "/lib/x.so")
    );
    assert!(
        problems[0].contains("should have 200 further slots, but only 2"),
        "{problems:?}"
    );
}

#[test]
fn impossible_numbers_allocate_no_memory() {
    let mut file = ProcessFile::new(100, at(0));
    let define = |kind, value| Record {
        kind,
        value,
        ..Record::default()
    };
    file.on(100, "main")
        .record(define(6, u64::MAX >> 8), &[])
        .record(define(7, 1 << 40), &[]);
    let (process, problems) = read(file.bytes());
    assert_eq!((process.texts.len(), process.symbols.len()), (1, 0));
    assert!(problems[0].contains("defines text 72057594037927935, which is out of range"));
    assert!(problems[1].contains("defines symbol 1099511627776"));
}

#[test]
fn other_files_are_rejected() {
    assert!(matches!(
        read_process(b"", 0),
        Err(ReadError::TooShort { bytes: 0 })
    ));
    assert!(matches!(
        read_process(&[7; 9000], 0),
        Err(ReadError::NotAProcessFile)
    ));
    let mut file = calls();
    file.put(8, &7u16.to_le_bytes());
    assert!(matches!(
        read_process(file.bytes(), 0),
        Err(ReadError::Newer { found: 7, .. })
    ));
    file.put(8, &0u16.to_le_bytes());
    assert!(matches!(
        read_process(file.bytes(), 0),
        Err(ReadError::Older { found: 0, .. })
    ));
}
