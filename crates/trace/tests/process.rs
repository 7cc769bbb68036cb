//! Process files: every kind of record is decoded into its table.

use preheat_model::run::trace::{self, Process, SpanKind};
use preheat_trace::read_process;
use preheat_wire::{
    Allocation, Allocator, BytecodeWrite, Copied, Event, Image, Iteration, NoBytecode, Record,
    Shape, State, Total, Usage,
};

mod support;

use support::EXEC;
use support::writer::{
    ProcessFile, allocation_slot, copied_slot, image_slot, text_slots, usage_slot,
};

/// Reads an undamaged file.
fn read(file: &ProcessFile) -> Process {
    let (process, problems) = read_process(file.bytes(), EXEC).expect("it can be read");
    assert_eq!(problems, [""; 0]);
    process
}

/// The types of the spans of the first thread.
fn types(process: &Process) -> Vec<SpanKind> {
    process.threads[0]
        .spans
        .iter()
        .map(|span| span.what)
        .collect()
}

fn at(time: u64) -> u64 {
    EXEC + time
}

const USED: Usage = Usage {
    cpu: 5,
    major_faults: 2,
    minor_faults: 3,
    blocks_read: 4,
    waits: 1,
    preemptions: 6,
    reserved: 0,
};

#[test]
fn calls_have_the_details_of_their_shapes() {
    let mut file = ProcessFile::new(100, at(10));
    file.on(100, "python");
    let shapes = [
        (Shape::Plain, "cuCtxGetCurrent"),
        (Shape::Heavy, "cuInit"),
        (Shape::Allocate, "cuMemAlloc"),
        (Shape::Free, "cuMemFree"),
        (Shape::Copy, "cuMemcpyHtoD"),
        (Shape::Module, "cuModuleLoadData"),
    ];
    for (number, (shape, name)) in (0..).zip(shapes) {
        file.symbol(number, shape, name, "libcuda.so.1");
    }
    let image = Image {
        bytes: 900,
        machine_code: [80, 90, 0, 0, 0, 0, 0, 0],
        ptx: [90, 0, 0, 0],
    };
    let allocation = Allocation {
        pointer: 77,
        ..Allocation::default()
    };
    let copied = Copied {
        destination: 1,
        source: 2,
        ..Copied::default()
    };
    file.call(0, at(20), at(21), 0, 0, &[])
        .call(1, at(30), at(35), 0, 0, &[usage_slot(&USED)])
        .call(2, at(40), at(41), 2, 4096, &[allocation_slot(&allocation)])
        .call(3, at(42), at(43), 0, 77, &[])
        .call(4, at(44), at(45), 0, 512, &[copied_slot(&copied)])
        .call(
            5,
            at(46),
            at(47),
            0,
            9,
            &[usage_slot(&USED), image_slot(&image)],
        );
    let process = read(&file);
    assert_eq!(
        types(&process),
        [
            SpanKind::Call,
            SpanKind::Heavy,
            SpanKind::Allocate,
            SpanKind::Free,
            SpanKind::Copy,
            SpanKind::Module
        ]
    );
    assert_eq!(process.symbol(&process.threads[0].spans[1]), "cuInit");
    assert_eq!(process.symbols[1].library, "libcuda.so.1");
    assert_eq!(
        (process.usages[0].cpu, process.usages[0].bytes_read),
        (5, 2048)
    );
    let allocated = process.allocations[0];
    assert_eq!(
        (allocated.bytes, allocated.pointer, allocated.status),
        (4096, 77, 2)
    );
    assert_eq!(process.frees, [77]);
    let copy = process.copies[0];
    assert_eq!((copy.bytes, copy.destination, copy.source), (512, 1, 2));
    let module = &process.modules[0];
    assert_eq!(
        (module.bytes, module.handle, module.usage.major_faults),
        (900, 9, 2)
    );
    assert_eq!(
        (module.machine_code.as_slice(), module.ptx.as_slice()),
        (&[80, 90][..], &[90][..])
    );
    assert_eq!((process.began, process.ended), (10, 47));
}

#[test]
fn launches_are_named_by_lookups_and_aliases_on_any_thread() {
    let mut file = ProcessFile::new(100, at(0));
    // The backward thread's chunk comes before the definitions that it uses.
    file.on(101, "autograd")
        .call(3, at(50), at(51), 0, 0x20, &[]);
    file.on(100, "python")
        .symbol(1, Shape::Lookup, "cuLibraryGetKernel", "libcuda.so.1")
        .symbol(2, Shape::Alias, "cuKernelGetFunction", "libcuda.so.1")
        .symbol(3, Shape::Launch, "cuLaunchKernel", "libcuda.so.1");
    let kernel = Allocation {
        pointer: 0x10,
        ..Allocation::default()
    };
    file.call(1, at(10), at(11), 0, 0x10, &text_slots(b"_Z4gemmv"))
        .call(2, at(12), at(13), 0, 0x20, &[allocation_slot(&kernel)])
        .call(3, at(20), at(21), 0, 0x20, &[])
        .call(3, at(22), at(23), 0, 0x99, &[])
        .call(1, at(24), at(25), 500, 0x10, &text_slots(b"missing"));
    let process = read(&file);
    let name = |thread: usize, span: usize| {
        let span = process.threads[thread].spans[span];
        (
            span.what,
            process.functions[span.detail as usize].name.as_str(),
        )
    };
    assert_eq!(name(0, 0), (SpanKind::Launch, "_Z4gemmv"));
    assert_eq!(name(1, 0), (SpanKind::Lookup, "_Z4gemmv"));
    assert_eq!(name(1, 1), (SpanKind::Lookup, "_Z4gemmv"));
    assert_eq!(name(1, 2), (SpanKind::Launch, "_Z4gemmv"));
    assert_eq!(name(1, 3), (SpanKind::Launch, ""));
    assert_eq!(name(1, 4), (SpanKind::Lookup, ""));
}

#[test]
fn imports_loads_iterations_and_ranges_are_spans() {
    let mut file = ProcessFile::new(100, at(0));
    file.on(100, "python")
        .text(1, "SGD.step")
        .text(2, "step")
        .text(3, "mine");
    file.import(
        at(1),
        at(9),
        &USED,
        ["torch._dynamo", "torch.optim", "__init__", "train.py:7"],
        12,
    )
    .import(at(2), at(3), &Usage::default(), ["json", "", "", ""], 1)
    .load(at(4), at(5), &USED, "libcudnn.so.9")
    .bytecode(
        at(6),
        at(8),
        (NoBytecode::Stale, BytecodeWrite::NotWritable),
        "/lib/torch/_dynamo/__init__.py",
    )
    .iteration(Iteration::OptimizerStep, at(20), at(30), 1)
    .iteration(Iteration::ModelCall, at(30), at(31), 99)
    .range(at(40), at(50), 2, 3)
    .range(at(51), at(52), 2, 0);
    let process = read(&file);
    assert_eq!(
        types(&process),
        [
            SpanKind::Import,
            SpanKind::Import,
            SpanKind::Load,
            SpanKind::Bytecode,
            SpanKind::Iteration(Iteration::OptimizerStep),
            SpanKind::Iteration(Iteration::ModelCall),
            SpanKind::Range,
            SpanKind::Range
        ]
    );
    let spans = &process.threads[0].spans;
    let compiled = &process.bytecode[0];
    assert_eq!(compiled.path, "/lib/torch/_dynamo/__init__.py");
    assert_eq!(compiled.why, trace::NoBytecode::Stale);
    assert_eq!(compiled.write, trace::BytecodeWrite::NotWritable);
    let import = &process.imports[0];
    assert_eq!(
        (import.name.as_str(), import.importer.as_str()),
        ("torch._dynamo", "torch.optim")
    );
    assert_eq!(
        (import.function.as_str(), import.main.as_str()),
        ("__init__", "train.py:7")
    );
    assert_eq!(
        (import.line, import.failed, import.usage.cpu),
        (12, false, 5)
    );
    assert_eq!(
        (process.imports[1].name.as_str(), spans[1].depth),
        ("json", 1)
    );
    assert_eq!(process.loads[0].path, "libcudnn.so.9");
    let text = |number: u32| process.texts[number as usize].as_str();
    assert_eq!(text(spans[4].detail), "SGD.step");
    assert_eq!(text(spans[5].detail), "", "a text that was never defined");
    assert_eq!(
        (text(spans[6].detail), text(u32::from(spans[6].symbol))),
        ("step", "mine")
    );
    assert_eq!(spans[7].symbol, 0);
}

#[test]
fn events_and_samples_fill_the_process() {
    let mut file = ProcessFile::new(100, at(5));
    file.parent(99).on(100, "python");
    file.event(Event::Program, at(5), "/usr/bin/python3")
        .event(Event::Arguments, at(5), "python\0\0train.py\0")
        .event(Event::Main, at(6), "")
        .event(Event::PythonBegan, at(7), "")
        .event(Event::PythonReady, at(8), "3.11.2")
        .event(Event::File, at(9), "/a.py")
        .event(Event::Library, at(9), "/b.so")
        .event(Event::File, at(9), "/a.py")
        .event(Event::Note, at(9), "Something is not recorded.")
        .memory(at(20), 60, 100, 1)
        .memory(at(15), 90, 100, 1)
        .allocator(
            at(21),
            &Allocator {
                used: 1,
                reserved: 2,
                peak_used: 3,
                peak_reserved: 4,
            },
        )
        .event(Event::Exit, at(30), "");
    let process = read(&file);
    assert_eq!((process.pid, process.parent), (100, 99));
    assert_eq!(process.program, "/usr/bin/python3");
    assert_eq!(process.arguments, ["python", "", "train.py"]);
    assert_eq!((process.main, process.python_began), (Some(6), Some(7)));
    assert_eq!((process.python_ready, process.ended), (Some(8), 30));
    assert_eq!(process.files, ["/a.py", "/b.so"]);
    assert_eq!(process.notes, ["Something is not recorded."]);
    let memory: Vec<(u64, u64)> = process.memory.iter().map(|at| (at.time, at.used)).collect();
    assert_eq!(memory, [(15, 10), (20, 40)]);
    assert_eq!(process.allocator[0].peak_reserved, 4);
}

#[test]
fn threads_span_chunks_and_open_records_end_with_the_process() {
    let mut file = ProcessFile::new(100, at(0));
    file.chunks_of(4096);
    for number in 0..1000 {
        file.on(100 + number as u32 % 2, "worker")
            .call(0, at(number), at(number) + 1, 0, 0, &[]);
    }
    file.on(101, "late name").call(0, at(2000), 0, 0, 0, &[]);
    file.on(100, "worker")
        .call(0, at(2500), at(3000), 0, 0, &[]);
    let process = read(&file);
    let threads: Vec<(u32, usize)> = process
        .threads
        .iter()
        .map(|thread| (thread.id, thread.spans.len()))
        .collect();
    assert_eq!(threads, [(100, 501), (101, 501)]);
    assert!(process.threads[0].spans.is_sorted_by_key(|span| span.begin));
    let open = process.threads[1].spans.last().expect("it has spans");
    assert_eq!((open.begin, open.end), (2000, 3000));
}

#[test]
fn threads_continue_in_the_remainder_of_another_chunk() {
    let mut file = ProcessFile::new(100, at(0));
    for number in 1..=20 {
        file.on(100 + number, "short")
            .load(at(5), at(6), &USED, "x.so")
            .ended();
    }
    let process = read(&file);
    assert_eq!((process.threads.len(), process.loads.len()), (20, 20));
    assert_eq!(file.bytes().len(), 4096 + 16384);
}

#[test]
fn unknown_records_are_skipped_by_their_size() {
    let mut file = ProcessFile::new(100, at(0));
    let strange = |kind, symbol| Record {
        begin: at(1),
        end: at(2),
        kind,
        symbol,
        ..Record::default()
    };
    file.on(100, "main")
        .symbol(1, Shape::Plain, "f", "l")
        .record(strange(200, 0), &[[9; 32]; 3])
        .record(strange(9, 999), &[[9; 32]; 2])
        .record(strange(4, 999), &[])
        .call(1, at(5), at(6), 0, 0, &[]);
    let process = read(&file);
    assert_eq!(types(&process), [SpanKind::Call]);
}

#[test]
fn sparse_intervals_of_all_threads_are_merged() {
    let mut file = ProcessFile::new(100, at(0));
    file.on(100, "main")
        .symbol(1, Shape::Plain, "f", "l")
        .sparse(at(40), at(60))
        .sparse(at(90), 0)
        .call(1, at(5), at(100), 0, 0, &[]);
    // Intervals of two threads may touch.
    file.on(101, "other")
        .sparse(at(10), at(20))
        .sparse(at(55), at(70))
        .sparse(at(30), at(30));
    let process = read(&file);
    assert_eq!(process.sparse, [(10, 20), (40, 70), (90, 100)]);
    // They are not spans.
    assert_eq!(types(&process), [SpanKind::Call]);
    for (interval, whole) in [
        ((0, 10), true),
        ((0, 11), false),
        ((20, 40), true),
        ((19, 25), false),
        ((45, 50), false),
        ((5, 95), false),
        ((100, 200), true),
    ] {
        assert_eq!(process.is_in_detail(interval), whole, "{interval:?}");
    }
}

#[test]
fn totals_are_summed_over_threads() {
    let mut file = ProcessFile::new(100, at(0));
    let total = |calls, nanoseconds| Total { calls, nanoseconds };
    file.on(100, "a").totals(&[total(0, 0), total(3, 30)]);
    file.on(101, "b")
        .totals(&[total(0, 0), total(4, 40), total(0, 0), total(1, 1)]);
    file.state(State::Full, 8, at(500));
    let process = read(&file);
    assert_eq!(process.totals, [(1, 7, 70), (3, 1, 1)]);
    assert_eq!((process.dropped, process.full_at), (8, Some(500)));
}

#[test]
fn a_recorder_that_stopped_leaves_a_note() {
    for (state, word) in [
        (State::NoSpace, "The disk was full"),
        (State::Off, "disabled itself"),
    ] {
        let mut file = ProcessFile::new(100, at(0));
        let dropped = if state == State::NoSpace { 3 } else { 0 };
        file.state(state, dropped, at(dropped));
        let process = read(&file);
        assert!(process.notes[0].contains(word), "{:?}", process.notes);
        // The limit of the file was not reached.
        assert_eq!(process.dropped, 0);
    }
}

#[test]
fn long_texts_cross_blocks() {
    // More than one block of records with many slots each, so that some cross its end.
    let mut file = ProcessFile::new(100, at(0));
    let path = format!("/{}", "x".repeat(3000));
    file.chunks_of(4 << 20).on(100, "main");
    for number in 0..300 {
        file.load(at(number), at(number), &USED, &format!("{path}{number}"));
    }
    let process = read(&file);
    assert_eq!(process.loads.len(), 300);
    for (number, load) in process.loads.iter().enumerate() {
        assert_eq!(load.path, format!("{path}{number}"));
    }
}
