//! However a file is damaged, reading it ends without a panic and with little memory.
//!
//! This is the bounded, deterministic sibling of the fuzz target in `fuzz/`.

use std::collections::BTreeMap;
use std::fs;

use preheat_model::run::trace::SpanKind;
use preheat_trace::{files, read, read_process};
use preheat_wire::{
    Allocation, Allocator, BytecodeWrite, Copied, Event, HEADER_BYTES, Image, Iteration,
    NoBytecode, SLOT_BYTES, Shape, Total, Usage,
};

#[path = "support/memory.rs"]
mod memory;
mod support;

use support::EXEC;
use support::writer::{
    ProcessFile, allocation_slot, copied_slot, image_slot, text_slots, usage_slot,
};

#[global_allocator]
static COUNTING: memory::Counting = memory::Counting;

fn at(time: u64) -> u64 {
    EXEC + time
}

/// A file with every kind of record.
fn everything() -> Vec<u8> {
    let mut file = ProcessFile::new(100, at(10));
    file.chunks_of(4096).parent(1).made(3, 5).on(100, "python");
    for shape in 0..9 {
        let known = Shape::from_number(shape).expect("there are nine");
        file.symbol(shape as u16, known, "cuSomething", "libcuda.so.1");
    }
    file.text(1, "step")
        .event(Event::Arguments, at(10), "python\0train.py");
    for event in [
        Event::Main,
        Event::PythonBegan,
        Event::File,
        Event::Program,
        Event::Note,
    ] {
        file.event(
            event,
            at(11),
            "/usr/lib/python3/dist-packages/torch/__init__.py",
        );
    }
    let used = usage_slot(&Usage {
        cpu: 3,
        ..Usage::default()
    });
    let address = allocation_slot(&Allocation {
        pointer: 1,
        ..Allocation::default()
    });
    for round in 0..6u64 {
        let now = at(100 + round * 100);
        file.on(100 + round as u32 % 3, "worker")
            .import(
                now,
                now + 50,
                &Usage::default(),
                ["torch", "__main__", "<module>", ""],
                3,
            )
            .load(
                now + 1,
                now + 2,
                &Usage::default(),
                "/usr/lib/libcudart.so.12",
            )
            .bytecode(
                now + 2,
                now + 3,
                (NoBytecode::Missing, BytecodeWrite::TurnedOff),
                "/usr/lib/torch/__init__.py",
            )
            .iteration(Iteration::ModelCall, now + 3, now + 40, 1)
            .range(now + 4, 0, 1, 0)
            .sparse(now + 4, now + 30)
            .call(0, now + 5, now + 6, 0, 0, &[])
            .call(1, now + 6, now + 7, 0, 0, &[used])
            .call(2, now + 7, now + 8, 0, 64, &[address])
            .call(3, now + 8, now + 9, 0, 1, &[])
            .call(
                4,
                now + 9,
                now + 10,
                0,
                64,
                &[copied_slot(&Copied::default())],
            )
            .call(5, now + 10, now + 11, 0, 8 + round, &[])
            .call(
                6,
                now + 11,
                now + 12,
                0,
                9,
                &[used, image_slot(&Image::default())],
            )
            .call(
                7,
                now + 12,
                now + 13,
                0,
                8 + round,
                &text_slots(b"kernel_with_a_longer_name<4>"),
            )
            .call(8, now + 13, now + 14, 0, 1 + round, &[address])
            .memory(now + 15, 5, 10, 2)
            .allocator(now + 16, &Allocator::default())
            .thread_sample(now + 17, 100, 100, 4, 5)
            .process_sample(now + 17, 100, 4, 5, 6)
            .line(now + 18, round);
    }
    file.totals(
        &[Total {
            calls: 1,
            nanoseconds: 2,
        }; 9],
    )
    .event(Event::Exit, at(1000), "");
    file.bytes().to_vec()
}

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
        (self.next() % limit as u64) as usize
    }
}

/// Reads a damaged file and checks the invariants of the result.
fn survives(bytes: &[u8], case: &dyn std::fmt::Display) {
    let (result, peak) = memory::peak_of(|| read_process(bytes, EXEC));
    // One block, the shapes and symbols of all numbers, and an amount in proportion to the
    // file.
    assert!(
        peak < (6 << 20) + 8 * bytes.len(),
        "{case}: {peak} bytes of memory"
    );
    let Ok((process, problems)) = result else {
        return;
    };
    assert!(problems.len() <= 7, "{case}: {problems:?}");
    assert!(
        process
            .sparse
            .iter()
            .all(|interval| interval.0 < interval.1)
    );
    let disjoint = |pair: &[(u64, u64)]| pair[0].1 < pair[1].0;
    assert!(process.sparse.windows(2).all(disjoint), "{case}");
    for thread in &process.threads {
        assert!(thread.spans.is_sorted_by_key(|span| span.begin), "{case}");
        for span in &thread.spans {
            assert!(span.begin <= span.end, "{case}: {span:?}");
            let table = match span.what {
                SpanKind::Call => usize::MAX,
                SpanKind::Heavy => process.usages.len(),
                SpanKind::Allocate => process.allocations.len(),
                SpanKind::Free => process.frees.len(),
                SpanKind::Copy => process.copies.len(),
                SpanKind::Launch | SpanKind::Lookup => process.functions.len(),
                SpanKind::Module => process.modules.len(),
                SpanKind::Import => process.imports.len(),
                SpanKind::Load => process.loads.len(),
                SpanKind::Bytecode => process.bytecode.len(),
                _ => process.texts.len(),
            };
            assert!((span.detail as usize) < table, "{case}: {span:?}");
        }
    }
}

#[test]
fn any_damage_is_tolerated() {
    let sound = everything();
    let (process, problems) = read_process(&sound, EXEC).expect("it can be read");
    assert_eq!(problems, [""; 0]);
    assert!(process.threads.len() == 3 && process.modules.len() == 6);
    let mut cases: BTreeMap<&str, usize> = BTreeMap::new();
    let mut damaged = |kind: &'static str, bytes: &[u8], place: usize| {
        *cases.entry(kind).or_default() += 1;
        survives(bytes, &format_args!("{kind} at {place}"));
    };
    for length in (0..sound.len()).step_by(SLOT_BYTES) {
        damaged("cut", &sound[..length], length);
        damaged("cut within a slot", &sound[..length + 17], length);
    }
    // Fields of the file header, of the chunk headers and of the first records of each
    // chunk.
    let extremes = [
        0u32,
        1,
        31,
        4096,
        1 << 20,
        i32::MAX.cast_unsigned(),
        u32::MAX - 63,
        u32::MAX,
    ];
    let chunks = (HEADER_BYTES..sound.len()).step_by(4096);
    let heads = (0..88)
        .step_by(4)
        .chain(chunks.flat_map(|at| (at..at + 192).step_by(4)));
    for place in heads {
        for extreme in extremes {
            let mut bytes = sound.clone();
            bytes[place..place + 4].copy_from_slice(&extreme.to_le_bytes());
            damaged("extreme", &bytes, place);
        }
    }
    let slots = (HEADER_BYTES..sound.len()).step_by(SLOT_BYTES);
    for place in slots {
        for (kind, more) in [(2, 255), (6, 255), (7, 1), (9, 255), (1, 0)] {
            let mut bytes = sound.clone();
            bytes[place + 16] = kind;
            bytes[place + 17] = more;
            damaged("other kind and length", &bytes, place);
        }
        let mut bytes = sound.clone();
        bytes[place..]
            .iter_mut()
            .filter(|byte| **byte == 0)
            .for_each(|byte| *byte = b'x');
        damaged("text without end", &bytes, place);
    }
    let mut numbers = Numbers(2026);
    for case in 0..14_000 {
        let mut bytes = sound.clone();
        for _ in 0..=numbers.below(8) {
            let place = numbers.below(bytes.len());
            let length = 1 + numbers.below(64).min(bytes.len() - place - 1);
            match numbers.below(4) {
                0 => bytes[place..place + length].fill(0xff),
                1 => bytes[place..place + length].fill(0),
                2 => bytes[place..place + length].fill_with(|| numbers.next() as u8),
                _ => bytes[place] ^= 1 << numbers.below(8),
            }
        }
        damaged("random", &bytes, case);
    }
    assert!(cases.values().sum::<usize>() >= 20_000, "{cases:?}");
}

#[test]
fn damaged_recordings_are_tolerated() {
    let path = support::directory("damaged");
    fs::create_dir(path.join("start-1")).expect("the directory can be created");
    let sound = everything();
    let mut numbers = Numbers(7);
    for case in 0..300 {
        for name in ["100-0", "100-1", "launcher"] {
            let mut bytes = sound.clone();
            for _ in 0..numbers.below(20) {
                let place = numbers.below(bytes.len());
                bytes[place] = numbers.next() as u8;
            }
            bytes.truncate(bytes.len() - numbers.below(2) * numbers.below(bytes.len()));
            let file = path.join(format!("start-1/{name}.process"));
            fs::write(file, bytes).expect("the file can be written");
        }
        let mut start = support::start("start-1", 2000);
        match case % 5 {
            0 => start.exec = u64::MAX,
            1 => start.end = 0,
            2 => (start.exec, start.end) = (0, u64::MAX),
            _ => {}
        }
        support::save(&path, &support::manifest(vec![start]));
        let recording = read(&path).expect("a damaged recording is readable");
        for process in &recording.starts[0].processes {
            assert!(process.made <= process.began, "case {case}");
            assert!(
                process
                    .threads
                    .iter()
                    .all(|thread| { thread.spans.iter().all(|span| span.begin <= span.end) })
            );
        }
        files(&path);
    }
}
