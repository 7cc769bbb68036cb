//! Reads a recording that was just made, and finds the source lines of its clock readings.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use addr2line::Loader;
use anyhow::{Context, Result};
use preheat_analyze::run::{body, frames, native_calls, timed_lines, timers_in};
use preheat_launch::{locate_optional_imports, save_manifest};
use preheat_model::run::{Address, Body, Recording, SourceLine, TimedFile, Timers};
use twox_hash::XxHash64;

/// Reads a recording as `preheat report` would, and completes it with facts about this
/// machine: the source of its clock readings and imports, and whether `preheat start` can
/// serve the command.
pub fn read(directory: &Path) -> Result<Recording> {
    let mut recording = preheat_trace::read(directory)
        .with_context(|| format!("the recording in {} cannot be read", directory.display()))?;
    locate_timers(&mut recording, directory);
    locate_optional_imports(&mut recording, directory);
    let command: Vec<OsString> = recording.manifest.command.iter().map(Into::into).collect();
    if let Err(why) = preheat_start::serves(&command) {
        recording.manifest.started_plainly = Some(why.to_string());
        // Otherwise a later report would predict savings that `start` cannot deliver.
        let _ = save_manifest(&recording.manifest, directory);
    }
    Ok(recording)
}

// Finds the purpose of the clocks that a program reads: the source lines of its addresses,
// from debug information, and which readings its source subtracts.
//
// This is done once, on the machine of the recording: the source and the executable are
// available there, and a recording must give the same results on any machine.

/// Longer sources are not searched.
const MAX_SOURCE: u64 = 4 << 20;

/// Completes the recording in this directory, in memory and on disk. Files that are not
/// found are skipped: their readings are then paired by order.
pub fn locate_timers(recording: &mut Recording, directory: &Path) {
    let mut timers = Timers {
        addresses: addresses(recording),
        ..Timers::default()
    };
    let mut sources: BTreeMap<String, String> = BTreeMap::new();
    let base = Path::new(&recording.manifest.directory);
    for (file, lines) in lines(recording, &timers) {
        let lines: Vec<u32> = lines.into_iter().collect();
        let source = match &*file {
            ON_THE_COMMAND_LINE => command(recording),
            FROM_STANDARD_INPUT => source(Path::new(STANDARD_INPUT)),
            _ => source(&base.join(&file)),
        };
        let Some(source) = source else {
            continue;
        };
        let found = timers_in(&file, &source, &lines);
        sources.insert(file.clone(), source);
        timers.files.push(TimedFile {
            file,
            differences: found.differences,
            variables: found.variables,
            one_line: found.one_line,
            unlike: found.unlike,
            within: found.within,
            chains: found.chains,
            conditions: found.conditions,
            returns: found.returns,
        });
    }
    timers.bodies = bodies(recording, &timers, &sources);
    if timers != recording.manifest.timers {
        recording.manifest.timers = timers;
        // Without it, readings are paired by order when the recording is read again.
        let _ = save_manifest(&recording.manifest, directory);
    }
}

/// The source texts of the regions that are subtracted, numbered in their order.
fn bodies(recording: &Recording, timers: &Timers, sources: &BTreeMap<String, String>) -> Vec<Body> {
    let mut texts: Vec<String> = Vec::new();
    let mut bodies = Vec::new();
    for (file, from, to) in timed_lines(recording, timers) {
        let source = sources.get(&file);
        let Some(text) = source.and_then(|source| body(&file, source, from, to)) else {
            continue;
        };
        let code = XxHash64::oneshot(0, text.as_bytes()) as u32;
        let known = texts.iter().position(|other| *other == text);
        let number = known.unwrap_or_else(|| {
            texts.push(text);
            texts.len() - 1
        });
        bodies.push(Body {
            file,
            from,
            to,
            text: number as u32,
            code: Some(code),
        });
    }
    bodies
}

/// The lines of each source file that read a clock.
fn lines(recording: &Recording, timers: &Timers) -> BTreeMap<String, BTreeSet<u32>> {
    let mut lines: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for process in recording.starts.iter().flat_map(|start| &start.processes) {
        let places: BTreeSet<u32> = process.readings.iter().map(|one| one.place).collect();
        let texts = places
            .iter()
            .filter_map(|at| process.texts.get(*at as usize));
        for frame in texts.flat_map(|text| frames(text, &process.program, timers)) {
            if frame.line > 0 {
                lines.entry(frame.file).or_default().insert(frame.line);
            }
        }
    }
    lines
}

/// Python's file name for a program read from standard input.
const FROM_STANDARD_INPUT: &str = "<stdin>";
/// The standard input of this process, which the recorded program shares. Opening it again
/// does not move the position in the file; a pipe is skipped.
const STANDARD_INPUT: &str = "/proc/self/fd/0";
/// Python's file name for a program passed with `-c`.
const ON_THE_COMMAND_LINE: &str = "<string>";

/// The program passed with `-c`, if all processes that have one agree.
fn command(recording: &Recording) -> Option<String> {
    let processes = recording.starts.iter().flat_map(|start| &start.processes);
    let mut given = processes.filter_map(|process| {
        let mut arguments = process.arguments.iter().skip_while(|word| *word != "-c");
        arguments.nth(1)
    });
    let first = given.next()?;
    given.all(|other| other == first).then(|| first.clone())
}

fn source(path: &Path) -> Option<String> {
    // Checked before opening: a pipe would block until there is a writer.
    let plain = fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= MAX_SOURCE);
    if !plain {
        return None;
    }
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_SOURCE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The source lines of the addresses at which native programs have read clocks, and of their
/// callers.
fn addresses(recording: &Recording) -> Vec<Address> {
    let mut wanted: BTreeMap<&str, BTreeMap<u64, Option<u64>>> = BTreeMap::new();
    for process in recording.starts.iter().flat_map(|start| &start.processes) {
        let places: BTreeSet<u32> = process.readings.iter().map(|one| one.place).collect();
        for place in places {
            let text = process.texts.get(place as usize);
            for call in text.map_or(Vec::new(), |text| native_calls(text)) {
                let addresses = wanted.entry(&process.program).or_default();
                let calls = addresses.entry(call.address).or_default();
                *calls = calls.or(call.calls);
            }
        }
    }
    let mut found = Vec::new();
    for (program, addresses) in wanted {
        let loader = fs::metadata(program).ok().and(Loader::new(program).ok());
        for (address, calls) in addresses {
            found.push(address_of(loader.as_ref(), program, address, calls));
        }
    }
    found
}

/// The source line of one address. It is a return address: the call is just before it, and
/// calls the function at `calls`.
fn address_of(loader: Option<&Loader>, program: &str, address: u64, calls: Option<u64>) -> Address {
    let mut found = Address {
        program: program.to_owned(),
        address,
        ..Address::default()
    };
    let Some(loader) = loader else { return found };
    let call = address.saturating_sub(1);
    let symbol = |address: Option<u64>| {
        let name = address.and_then(|address| loader.find_symbol(address));
        name.unwrap_or_default().to_owned()
    };
    found.symbol = symbol(Some(call));
    found.function.clone_from(&found.symbol);
    found.calls = symbol(calls);
    let mut lines = lines_of(loader, call, &found.symbol).into_iter();
    if let Some(line) = lines.next() {
        found.file = line.file;
        found.line = line.line;
        found.function = line.function;
    }
    found.inlined_into = lines.collect();
    found
}

/// The lines of an address, innermost first: several where functions were inlined. Lines of
/// installed headers count only where there is no other.
fn lines_of(loader: &Loader, address: u64, symbol: &str) -> Vec<SourceLine> {
    let mut lines = Vec::new();
    if let Ok(mut frames) = loader.find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let location = frame.location.as_ref();
            let name = (frame.function.as_ref()).and_then(|function| function.raw_name().ok());
            if let Some((file, line)) = location.and_then(|at| Some((at.file?, at.line?))) {
                lines.push(SourceLine {
                    file: file.to_owned(),
                    line,
                    function: name.map_or_else(|| symbol.to_owned(), |name| name.into_owned()),
                });
            }
        }
    }
    if lines.iter().any(|line| !is_installed(&line.file)) {
        lines.retain(|line| !is_installed(&line.file));
    }
    lines
}

/// Returns true if a source file is a header of the system or of a toolkit.
fn is_installed(file: &str) -> bool {
    file.starts_with("/usr/include/") || file.contains("/include/c++/")
}
