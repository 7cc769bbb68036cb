//! The compile cache, as two processes would use it.

use std::fs;
use std::path::Path;

use super::{Bench, Scratch, device, noise};
use crate::Argument::{Buffer, F32, I32};
use crate::{Cache, Context, From, KernelName, StageName};

const HIT: [StageName; 2] = [StageName::ReadCache, StageName::Load];

/// Compiles with a fresh device whose cache is `directory`; returns the stages and the
/// results of a kernel.
fn start(directory: &Path) -> (Vec<StageName>, Vec<f32>) {
    let device = device(Cache::Directory(directory.to_owned()));
    let context = device.context_with(2).expect("a context can be created");
    let (module, stages) = context.compile(From::Source).expect("the source compiles");
    let bench = Bench { context, module };
    let [x, y] = [noise(1, 700), noise(2, 700)].map(|values| bench.buffer(&values));
    let arguments = [Buffer(&*y), Buffer(&*x), F32(0.3), I32(700)];
    bench.launch(KernelName::Saxpy, 700, &arguments);
    let names = stages.iter().map(|stage| stage.name).collect();
    (names, bench.values(&*y))
}

#[test]
fn a_filled_cache_replaces_compilation_without_changing_results() {
    let scratch = Scratch::new();
    let directory = scratch.path().join("cache");
    let (cold, expected) = start(&directory);
    assert_eq!(cold[0], StageName::SourceToIntermediate);
    assert_eq!(cold.len(), 4);
    let (warm, found) = start(&directory);
    assert_eq!(warm, HIT);
    assert_eq!(found, expected);
}

#[test]
fn a_damaged_file_is_compiled_again_and_replaced() {
    let scratch = Scratch::new();
    let (_, expected) = start(scratch.path());
    let files: Vec<_> = fs::read_dir(scratch.path())
        .expect("it is a directory")
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    let [file] = &files[..] else {
        panic!("expected one file, found {files:?}");
    };
    let whole = fs::read(file).expect("it is ours");
    let mut flipped = whole.clone();
    // In the middle of the machine code, where it would be executed.
    let last = flipped.len() - 100;
    flipped[last] ^= 1;
    for damaged in [&whole[..whole.len() / 2], &flipped, b""] {
        fs::write(file, damaged).expect("it is ours");
        let (stages, found) = start(scratch.path());
        assert_eq!(stages[0], StageName::SourceToIntermediate);
        assert_eq!(found, expected);
        assert_eq!(start(scratch.path()).0, HIT, "it was replaced");
    }
}

#[test]
fn an_unusable_cache_directory_disables_the_cache() {
    let scratch = Scratch::new();
    let file = scratch.path().join("file");
    fs::write(&file, "").expect("it can be written");
    for _ in 0..2 {
        let (stages, _) = start(&file.join("cache"));
        assert_eq!(stages[0], StageName::SourceToIntermediate);
    }
}
