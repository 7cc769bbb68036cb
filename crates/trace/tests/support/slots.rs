//! The slots of records, in the recorder's layout.

use preheat_wire::{
    Allocation, Allocator, Copied, DeviceMemory, Image, Record, SLOT_BYTES, Sampled, Slot, Usage,
};

/// Up to four words as a slot.
fn pack(words: &[u64]) -> Slot {
    let mut slot = [0; SLOT_BYTES];
    for (place, word) in slot.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    slot
}

/// Two halves as a word.
fn halves(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Encodes the first slot of a record.
pub fn record_slot(record: &Record) -> Slot {
    let rest = [record.kind, record.more];
    let low = u32::from(u16::from_le_bytes(rest)) | u32::from(record.symbol) << 16;
    let third = halves(low, record.status.cast_unsigned());
    pack(&[record.begin, record.end, third, record.value])
}

/// Encodes a text as slots.
pub fn text_slots(text: &[u8]) -> Vec<Slot> {
    let padded = |part: &[u8]| {
        let mut slot = [0; SLOT_BYTES];
        slot[..part.len()].copy_from_slice(part);
        slot
    };
    text.chunks(SLOT_BYTES).map(padded).collect()
}

/// Encodes a `Usage`.
pub fn usage_slot(usage: &Usage) -> Slot {
    pack(&[
        usage.cpu,
        halves(usage.major_faults, usage.minor_faults),
        halves(usage.blocks_read, usage.waits),
        halves(usage.preemptions, usage.reserved),
    ])
}

/// Encodes an `Allocation`.
pub fn allocation_slot(allocation: &Allocation) -> Slot {
    pack(&[allocation.pointer, allocation.stream])
}

/// Encodes a `Copied`.
pub fn copied_slot(copied: &Copied) -> Slot {
    pack(&[copied.destination, copied.source, copied.stream])
}

/// Encodes an `Image`.
pub fn image_slot(image: &Image) -> Slot {
    let mut slot = pack(&[image.bytes]);
    let architectures = image.machine_code.iter().chain(&image.ptx);
    for (place, architecture) in slot[8..].chunks_exact_mut(2).zip(architectures) {
        place.copy_from_slice(&architecture.to_le_bytes());
    }
    slot
}

/// Encodes a `DeviceMemory`.
pub fn device_memory_slot(memory: &DeviceMemory) -> Slot {
    pack(&[memory.total, halves(memory.device, memory.after)])
}

/// Encodes a `Sampled`.
pub fn sampled_slot(sampled: &Sampled) -> Slot {
    pack(&[
        halves(sampled.process, sampled.state),
        sampled.waited_or_read,
        sampled.major_faults,
        sampled.file_backed,
    ])
}

/// Encodes an `Allocator`.
pub fn allocator_slot(said: &Allocator) -> Slot {
    pack(&[said.used, said.reserved, said.peak_used, said.peak_reserved])
}
