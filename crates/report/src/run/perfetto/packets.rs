//! The packets of a trace: descriptions of tracks, then events on them.
//!
//! All packets belong to one sequence, and repeated strings are interned: written once and
//! then referenced by number. An event takes about twenty bytes, and memory grows only with
//! the number of distinct names. The field numbers come from Perfetto's
//! `trace_packet.proto`, `track_event.proto`, `track_descriptor.proto` and
//! `interned_data.proto`.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::proto::Message;

/// The id of a described track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Track(u64);

/// An argument of an event.
pub(super) enum Argument<'a> {
    Text(&'static str, &'a str),
    Number(&'static str, u64),
}

/// The id of the only sequence.
const SEQUENCE: u64 = 1;
/// Fields of a packet.
const TIMESTAMP: u64 = 8;
const SEQUENCE_ID: u64 = 10;
const TRACK_EVENT: u64 = 11;
const INTERNED_DATA: u64 = 12;
const SEQUENCE_FLAGS: u64 = 13;
const TRACK_DESCRIPTOR: u64 = 60;
const FIRST_ON_SEQUENCE: u64 = 87;
/// Sequence flags: the interned data was cleared, or the packet needs it.
const CLEARED: u64 = 1;
const NEEDS_INTERNED: u64 = 2;
/// Event types.
const BEGIN: u64 = 1;
const END: u64 = 2;
const COUNTER: u64 = 4;

/// The interned strings of one kind.
struct Texts {
    /// The field of this kind in `InternedData`.
    field: u64,
    known: HashMap<String, u64>,
}

impl Texts {
    fn new(field: u64) -> Texts {
        Texts {
            field,
            known: HashMap::new(),
        }
    }

    /// The number of `text`; adds it to `interned` if it is new.
    fn number(&mut self, text: &str, interned: &mut Message) -> u64 {
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        // Perfetto reserves 0.
        let number = self.known.len() as u64 + 1;
        self.known.insert(text.to_owned(), number);
        let mut entry = Message::default();
        entry.number(1, number).text(2, text);
        interned.message(self.field, &entry);
        number
    }
}

/// Streams packets to `out`.
pub(super) struct Packets<W: Write> {
    out: W,
    tracks: u64,
    categories: Texts,
    names: Texts,
    arguments: Texts,
    /// The interned strings that are not written yet.
    interned: Message,
    packet: Message,
    event: Message,
    argument: Message,
}

impl<W: Write> Packets<W> {
    /// Begins a trace without tracks.
    pub fn new(out: W) -> io::Result<Packets<W>> {
        let mut packets = Packets {
            out,
            tracks: 0,
            categories: Texts::new(1),
            names: Texts::new(2),
            arguments: Texts::new(3),
            interned: Message::default(),
            packet: Message::default(),
            event: Message::default(),
            argument: Message::default(),
        };
        packets
            .packet
            .number(SEQUENCE_ID, SEQUENCE)
            .number(SEQUENCE_FLAGS, CLEARED)
            .number(FIRST_ON_SEQUENCE, 1);
        packets.write()?;
        Ok(packets)
    }

    /// Describes a track, below `parent` if there is one; `rank` orders it among its siblings.
    pub fn track(&mut self, parent: Option<Track>, name: &str, rank: u64) -> io::Result<Track> {
        self.describe(parent, name, |descriptor| {
            // Sort children by rank.
            descriptor.number(11, 3).number(12, rank);
        })
    }

    /// Describes the track of a process.
    pub fn process(&mut self, pid: u32, name: &str, command: &[String]) -> io::Result<Track> {
        let mut process = Message::default();
        process.number(1, u64::from(pid));
        for word in command {
            process.text(2, word);
        }
        process.text(6, name);
        self.describe(None, "", |descriptor| {
            descriptor.message(3, &process);
        })
    }

    /// Describes the track of a thread of a process.
    pub fn thread(&mut self, of: Track, pid: u32, id: u32, name: &str) -> io::Result<Track> {
        let mut thread = Message::default();
        thread.number(1, u64::from(pid)).number(2, u64::from(id));
        if !name.is_empty() {
            thread.text(5, name);
        }
        self.describe(Some(of), "", |descriptor| {
            descriptor.message(4, &thread);
        })
    }

    /// Describes a counter of bytes.
    pub fn counter(&mut self, parent: Track, name: &str) -> io::Result<Track> {
        const BYTES: u64 = 3;
        let mut counter = Message::default();
        counter.number(3, BYTES);
        self.describe(Some(parent), name, |descriptor| {
            descriptor.message(8, &counter);
        })
    }

    /// Begins a slice. Slices of a track nest: the one that began last ends first.
    pub fn begin(
        &mut self,
        track: Track,
        time: u64,
        name: &str,
        category: &str,
        arguments: &[Argument],
    ) -> io::Result<()> {
        let name = self.names.number(name, &mut self.interned);
        self.event
            .clear()
            .number(9, BEGIN)
            .number(11, track.0)
            .number(10, name);
        if !category.is_empty() {
            let category = self.categories.number(category, &mut self.interned);
            self.event.number(3, category);
        }
        for argument in arguments {
            self.argument.clear();
            match *argument {
                Argument::Text(name, text) => {
                    let name = self.arguments.number(name, &mut self.interned);
                    self.argument.number(1, name).text(6, text);
                }
                Argument::Number(name, number) => {
                    let name = self.arguments.number(name, &mut self.interned);
                    self.argument.number(1, name).number(3, number);
                }
            }
            self.event.message(4, &self.argument);
        }
        self.happen(time)
    }

    /// Ends the slice that began last.
    pub fn end(&mut self, track: Track, time: u64) -> io::Result<()> {
        self.event.clear().number(9, END).number(11, track.0);
        self.happen(time)
    }

    /// Sets the value of a counter.
    pub fn count(&mut self, track: Track, time: u64, value: u64) -> io::Result<()> {
        self.event
            .clear()
            .number(9, COUNTER)
            .number(11, track.0)
            .number(30, value);
        self.happen(time)
    }

    /// Flushes the output.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn describe(
        &mut self,
        parent: Option<Track>,
        name: &str,
        more: impl FnOnce(&mut Message),
    ) -> io::Result<Track> {
        self.tracks += 1;
        let mut descriptor = Message::default();
        descriptor.number(1, self.tracks);
        if let Some(Track(parent)) = parent {
            descriptor.number(5, parent);
        }
        if !name.is_empty() {
            descriptor.text(2, name);
        }
        more(&mut descriptor);
        self.packet
            .number(SEQUENCE_ID, SEQUENCE)
            .message(TRACK_DESCRIPTOR, &descriptor);
        self.write()?;
        Ok(Track(self.tracks))
    }

    /// Writes the event together with its newly interned strings.
    fn happen(&mut self, time: u64) -> io::Result<()> {
        // Perfetto drops events whose time it would interpret as negative.
        self.packet
            .number(TIMESTAMP, time.min(i64::MAX as u64))
            .number(SEQUENCE_ID, SEQUENCE)
            .number(SEQUENCE_FLAGS, NEEDS_INTERNED);
        if !self.interned.is_empty() {
            self.packet.message(INTERNED_DATA, &self.interned);
            self.interned.clear();
        }
        self.packet.message(TRACK_EVENT, &self.event);
        self.write()
    }

    /// Writes the packet to the trace.
    fn write(&mut self) -> io::Result<()> {
        const PACKET: u64 = 1;
        self.argument.clear().message(PACKET, &self.packet);
        self.packet.clear();
        self.out.write_all(self.argument.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_once() {
        let mut out = Vec::new();
        let mut packets = Packets::new(&mut out).unwrap();
        let track = packets.track(None, "track", 0).unwrap();
        for time in [1, 2, 3] {
            let bytes = [Argument::Number("bytes", time)];
            packets
                .begin(track, time, "a name", "idle", &bytes)
                .unwrap();
            packets.end(track, time).unwrap();
        }
        packets.finish().unwrap();
        let text = String::from_utf8_lossy(&out);
        for once in ["a name", "idle", "bytes", "track"] {
            assert_eq!(text.matches(once).count(), 1, "{once}");
        }
    }

    #[test]
    fn an_event_is_small() {
        let mut out = Vec::new();
        let mut packets = Packets::new(&mut out).unwrap();
        let track = packets.track(None, "track", 0).unwrap();
        for _ in 0..1000 {
            packets.begin(track, 1 << 34, "a", "idle", &[]).unwrap();
            packets.end(track, 1 << 34).unwrap();
        }
        packets.finish().unwrap();
        assert!(out.len() < 42_000, "{}", out.len());
    }
}
