//! Device memory allocated all at once, or piece by piece.
//!
//! A framework that allocates most of the device at its start pays for one large
//! allocation, and keeps the memory from others. The allocator of JAX and TensorFlow then
//! also fills a table on the host, with 8 bytes for each 256 bytes of device memory: 3.3
//! GiB and 1.8 s on an H200. One that allocates memory as needed pays for many driver
//! calls, most of them in the first iteration. Each is the remedy for the other, so one
//! remedy covers both. `preheat start` uses the same id for the settings it tries.

use preheat_model::RemedyId;

use super::super::trace::{Span, SpanKind};
use super::super::{Cause, LaterSaving};
use super::{RemedyInput, Suggestion, length, remedy};
use crate::units;

const ID: RemedyId = RemedyId::Allocator;

// Measured on an H200: docs/results/h200/lab-no-bytecode.json, experiment `alloc`.

/// The first allocation in a context: 134 µs for 4 KiB; later ones take 45 µs.
const ALLOCATE: f64 = 130e-6;
/// Seconds for each byte of a large one: 1 GiB takes 117 to 204 µs.
const ALLOCATE_BYTE: f64 = 0.1e-3 / (1u64 << 30) as f64;

/// One allocation of this share of the device memory counts as all of it: JAX uses 75 %.
const ALL_OF_IT: f64 = 0.5;
/// JAX and TensorFlow keep a table of their device memory. One byte of it represents this
/// many bytes on the device.
const DEVICE_BYTES_OF_TABLE: u64 = 32;
/// A lower bound for the speed at which the table is filled, in bytes per second: 1.8 GB/s
/// on an H200 machine. Further CPU time has another cause.
const TABLE_SPEED: f64 = 0.5e9;
/// PyTorch has separate segments of this size for tensors of at most 1 MiB, which cannot
/// use a large block in its pool.
const SMALL_SEGMENT: u64 = 2 << 20;
/// Calls that take less than this in total, in seconds, are not reported.
const MIN_SAVING: f64 = 100e-6;
/// Allocation of at least this share of the first iteration is worth removing.
const MUCH_OF_FIRST: f64 = 0.05;

/// The allocator behind the calls.
#[derive(Clone, Copy, PartialEq)]
enum Allocator {
    Torch,
    Jax,
    TensorFlow,
    Own,
}

/// Calls that allocate device memory.
#[derive(Default)]
struct Calls {
    number: usize,
    bytes: u64,
    seconds: f64,
}

impl Calls {
    fn of<'a>(case: &RemedyInput, spans: impl Iterator<Item = &'a Span>) -> Calls {
        let mut calls = Calls::default();
        for span in spans {
            calls.number += 1;
            calls.bytes += bytes(case, span);
            calls.seconds += length(span);
        }
        calls
    }
}

/// A different way of allocating device memory.
pub(super) fn allocator(case: &RemedyInput) -> Option<Suggestion> {
    let facts = case.facts()?;
    let spans: Vec<&Span> = (case.spans(SpanKind::Allocate))
        .filter(|span| {
            let cause = facts.judge(span, None).map(|judged| judged.cause);
            let cuda = facts.process.symbol(span).starts_with("cu");
            cuda && cause == Some(Cause::DeviceAllocation)
        })
        .collect();
    let device = facts.process.memory.iter().map(|sample| sample.total).max();
    let largest = spans.iter().max_by_key(|span| bytes(case, span))?;
    let whole = device.is_some_and(|device| {
        device > 0 && bytes(case, largest) as f64 >= ALL_OF_IT * device as f64
    });
    match whole {
        true => all_at_once(case, largest, device.unwrap_or(0)),
        false => piece_by_piece(case, &spans),
    }
}

fn bytes(case: &RemedyInput, span: &Span) -> u64 {
    case.facts().map_or(0, |facts| facts.bytes(span))
}

fn who(case: &RemedyInput) -> Allocator {
    let imports = case.facts().map_or(&[][..], |facts| &facts.process.imports);
    let imported = |name: &str| imports.iter().any(|import| import.name == name);
    match () {
        () if imported("torch") => Allocator::Torch,
        () if imported("jax") => Allocator::Jax,
        () if imported("tensorflow") => Allocator::TensorFlow,
        () => Allocator::Own,
    }
}

/// One allocation holds most of the device memory.
fn all_at_once(case: &RemedyInput, span: &Span, device: u64) -> Option<Suggestion> {
    let facts = case.facts()?;
    // Memory that is created separately from its addresses is mapped by further calls.
    let created = facts.process.symbol(span).starts_with("cuMemCreate");
    let calls = (case.spans(SpanKind::Call)).filter(|call| created && maps_memory(case, call));
    let seconds = length(span) + calls.map(length).sum::<f64>();
    let seconds = case.on_path(Cause::DeviceAllocation, seconds);
    let table = match who(case) {
        Allocator::Jax | Allocator::TensorFlow => {
            cpu_time_after(case, span).min(table_bytes(case, span) as f64 / TABLE_SPEED)
        }
        Allocator::Torch | Allocator::Own => 0.0,
    };
    if seconds + table < MIN_SAVING {
        return None;
    }
    let saving = (seconds - ALLOCATE).max(0.0) + table;
    let on_the_host = match table >= MIN_SAVING {
        true => format!(
            ", and the allocator then needs {} of CPU time to set up a table for it, {} of host \
             memory",
            units::duration(table),
            units::bytes(table_bytes(case, span)),
        ),
        false => String::new(),
    };
    let setting = match who(case) {
        Allocator::Jax => "XLA_PYTHON_CLIENT_PREALLOCATE=false allocates memory as needed",
        Allocator::TensorFlow => "TF_FORCE_GPU_ALLOW_GROWTH=true allocates memory as needed",
        Allocator::Torch | Allocator::Own => "Allocating only what is needed takes less time",
    };
    let tried = match who(case) {
        Allocator::Jax | Allocator::TensorFlow => " `preheat start --measure` tries it.",
        Allocator::Torch | Allocator::Own => "",
    };
    let mut suggestion = remedy(
        ID,
        "Allocate device memory as needed",
        format!(
            "One allocation takes {} of the device's {}, in {}{on_the_host}. {setting}: that saves {} at \
             startup and leaves memory to other programs, but iterations that need more memory wait \
             for the driver. A long run that has the device to itself may keep the \
             preallocation.{tried}",
            units::bytes(bytes(case, span)),
            units::bytes(device),
            units::duration(seconds),
            units::duration(saving),
        ),
        saving,
        "the first iteration needs one allocation of 130 µs instead, as on an H200",
        match table >= MIN_SAVING {
            true => &[Cause::DeviceAllocation, Cause::OwnCpu],
            false => &[Cause::DeviceAllocation],
        },
    );
    suggestion.remedy.helps = case.is_enough(saving);
    Some(suggestion)
}

fn table_bytes(case: &RemedyInput, span: &Span) -> u64 {
    bytes(case, span) / DEVICE_BYTES_OF_TABLE
}

/// Returns true if a call maps existing memory to an address.
fn maps_memory(case: &RemedyInput, call: &Span) -> bool {
    let name = case.facts().map_or("", |facts| facts.process.symbol(call));
    ["cuMemMap", "cuMemSetAccess", "cuMemAddressReserve"]
        .iter()
        .any(|begin| name.starts_with(begin))
}

/// The program's own CPU time on the path from the end of an allocation to the next
/// unrelated call of its thread, in seconds.
fn cpu_time_after(case: &RemedyInput, allocation: &Span) -> f64 {
    let threads = case.facts().map_or(&[][..], |facts| &facts.process.threads);
    let spans = (threads.iter())
        .map(|thread| &thread.spans[..])
        .find(|spans| spans.iter().any(|span| std::ptr::eq(span, allocation)));
    let mut from = allocation.end;
    let mut until = None;
    for span in spans.unwrap_or(&[]) {
        if span.begin >= from && maps_memory(case, span) {
            from = span.end;
        } else if span.begin >= from {
            until = Some(span.begin);
            break;
        }
    }
    let until = until.unwrap_or(from);
    let nanoseconds: u64 = (case.examined.parts.iter())
        .filter(|part| part.cause == Cause::OwnCpu)
        .map(|part| (part.end.min(until)).saturating_sub(part.begin.max(from)))
        .sum();
    case.on_path(Cause::OwnCpu, nanoseconds as f64 * 1e-9)
}

/// Memory is allocated as needed.
fn piece_by_piece(case: &RemedyInput, spans: &[&Span]) -> Option<Suggestion> {
    let who = who(case);
    let served = spans.iter().copied().filter(|span| match who {
        Allocator::Torch => bytes(case, span) > SMALL_SEGMENT,
        Allocator::Jax | Allocator::TensorFlow | Allocator::Own => true,
    });
    let first = case.examined.iterations.first().copied();
    let in_first = |span: &&Span| first.is_some_and(|(begin, _)| span.begin >= begin);
    let all = Calls::of(case, served.clone());
    let within = Calls::of(case, served.filter(in_first));
    let seconds = case.on_path(Cause::DeviceAllocation, all.seconds);
    if seconds < MIN_SAVING {
        return None;
    }
    // Scaled like all of them, of which they are a part.
    let in_first_seconds = within.seconds * seconds / all.seconds;
    let once = ALLOCATE + all.bytes as f64 * ALLOCATE_BYTE;
    let saving = (seconds - once).max(0.0);
    let of_first = case.report.first.unwrap_or(0.0);
    let much = in_first_seconds > 0.0 && in_first_seconds >= MUCH_OF_FIRST * of_first;
    let mut what = format!(
        "{} {} of device memory, {} in all",
        match all.number {
            1 => "1 call allocates".to_owned(),
            number => format!("{number} calls allocate"),
        },
        units::bytes(all.bytes),
        units::duration(seconds),
    );
    if within.number > 0 {
        let part = units::duration(in_first_seconds);
        what.push_str(&match (all.number, within.number) {
            (1, _) => ", in the first iteration".to_owned(),
            (_, number) => format!(", {number} of them ({part}) in the first iteration"),
        });
    }
    what.push_str(&format!(
        "; one allocation of that size takes about {}. ",
        units::duration(once)
    ));
    let helps = case.is_enough(saving) || (much && saving > 0.0);
    let assumption = match helps {
        true => {
            what.push_str(&advice(who, all.bytes));
            "one allocation takes as long as on an H200, and all of it is needed repeatedly"
        }
        false => {
            what.push_str(&of_the_start(case, saving));
            "one allocation takes as long as on an H200"
        }
    };
    let mut suggestion = remedy(
        ID,
        "Allocate device memory in one piece",
        what,
        saving,
        assumption,
        &[Cause::DeviceAllocation],
    );
    suggestion.remedy.helps = helps;
    suggestion.remedy.later = (within.number > 0 && saving > 0.0).then(|| LaterSaving {
        of: "the first iteration".to_owned(),
        seconds: in_first_seconds,
        after: 0,
    });
    Some(suggestion)
}

/// The small share that it saves. The calls may be anywhere before the end of the first
/// iteration.
fn of_the_start(case: &RemedyInput, saving: f64) -> String {
    match 100.0 * saving / case.report.time_to_first.value {
        percent if percent >= 0.1 => {
            format!("That saves only {percent:.1} % of the time to first.")
        }
        _ => "That saves less than 0.1 % of the time to first.".to_owned(),
    }
}

/// Instructions for allocating in one piece.
fn advice(who: Allocator, bytes: u64) -> String {
    match who {
        Allocator::Torch => format!(
            "Before the loop, allocate that much and release it to the pool of PyTorch: \
             `del torch.empty({bytes}, dtype=torch.uint8, device='cuda')`. \
             PYTORCH_ALLOC_CONF=expandable_segments:True makes segments grow in place instead; \
             `preheat start --measure` tries whether that is faster."
        ),
        Allocator::Jax => "XLA allocates most of the device in one piece unless \
                           XLA_PYTHON_CLIENT_PREALLOCATE=false or another allocator is set: that \
                           is faster if the program has the device to itself."
            .to_owned(),
        Allocator::TensorFlow => "TensorFlow allocates most of the device in one piece unless \
                                  TF_FORCE_GPU_ALLOW_GROWTH=true or another allocator is set: \
                                  that is faster if the program has the device to itself."
            .to_owned(),
        Allocator::Own => "Allocate it before the loop and divide it, or use a memory pool \
                           (cudaMallocAsync)."
            .to_owned(),
    }
}
