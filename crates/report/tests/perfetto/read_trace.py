"""Reads a trace with the Perfetto schema and prints its content.

Usage: read_trace.py TRACE. Rejects traces that Perfetto would drop in part or misread, and
prints the reason: unknown fields, packets without a sequence, numbers of strings that were
not interned before, events on tracks that were not described before, slices that do not
nest, times that run backwards on a track. Prints one JSON document: tracks by their names
from the outermost, with their slices and values.
"""

import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    CounterDescriptor,
    Trace,
    TracePacket,
    TrackEvent,
)


def check(condition, sentence):
    if not condition:
        sys.exit("refused: " + sentence)


def check_known(message):
    check(not UnknownFieldSet(message), f"a field of {message.DESCRIPTOR.name} is unknown")
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in value if not hasattr(value, "DESCRIPTOR") else [value]:
            check_known(part)


class Reader:
    def __init__(self):
        self.tracks = {}
        self.interned = {"names": {}, "categories": {}, "arguments": {}}

    def packet(self, packet, first):
        check(packet.trusted_packet_sequence_id == 1, "a packet has no sequence")
        if first:
            check(packet.first_packet_on_sequence, "the first packet is not marked as the first")
            cleared = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
            check(packet.sequence_flags == cleared, "the packet does not clear the interned strings")
        for kind, entries in (
            ("names", packet.interned_data.event_names),
            ("categories", packet.interned_data.event_categories),
            ("arguments", packet.interned_data.debug_annotation_names),
        ):
            for entry in entries:
                check(entry.iid > 0, "a string has the number 0")
                check(entry.iid not in self.interned[kind], "a number is given twice")
                self.interned[kind][entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            self.describe(packet.track_descriptor)
        if packet.HasField("track_event"):
            needs = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            check(packet.sequence_flags == needs, "an event does not require the interned strings")
            check(packet.HasField("timestamp"), "an event has no time")
            self.event(packet.timestamp, packet.track_event)

    def describe(self, track):
        check(track.uuid > 0, "a track has the number 0")
        check(track.uuid not in self.tracks, "a track is described twice")
        parent = self.tracks[track.parent_uuid]["path"] if track.parent_uuid else []
        name = track.name
        if track.HasField("process"):
            name = track.process.process_name
        if track.HasField("thread"):
            name = f"thread {track.thread.tid} {track.thread.thread_name}".rstrip()
            check(not track.HasField("process"), "a track is of a process and of a thread")
        check(name, "a track has no name")
        counter = track.HasField("counter")
        if counter:
            check(track.counter.unit == CounterDescriptor.UNIT_SIZE_BYTES, "not in bytes")
        self.tracks[track.uuid] = {
            "path": parent + [name],
            "pid": track.process.pid or track.thread.pid,
            "counter": counter,
            "time": 0,
            "open": [],
            "slices": [],
            "values": [],
        }

    def event(self, time, event):
        check(event.track_uuid in self.tracks, "an event is on a track that nothing describes")
        track = self.tracks[event.track_uuid]
        check(time >= track["time"], f"time runs backwards on {track['path']}")
        track["time"] = time
        check((event.type == TrackEvent.TYPE_COUNTER) == track["counter"], "a wrong event")
        if event.type == TrackEvent.TYPE_COUNTER:
            track["values"].append([time, event.counter_value])
        elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
            names = self.interned["names"]
            check(event.name_iid in names, "a name is not interned")
            made = {
                "name": names[event.name_iid],
                "categories": [self.interned["categories"][iid] for iid in event.category_iids],
                "begin": time,
                "depth": len(track["open"]),
                "arguments": {
                    self.interned["arguments"][one.name_iid]: one.string_value or one.uint_value
                    for one in event.debug_annotations
                },
            }
            track["open"].append(made)
            track["slices"].append(made)
        else:
            check(event.type == TrackEvent.TYPE_SLICE_END, "an event of another type")
            check(track["open"], f"an end without a begin on {track['path']}")
            track["open"].pop()["end"] = time


def main():
    trace = Trace()
    with open(sys.argv[1], "rb") as file:
        trace.ParseFromString(file.read())
    check_known(trace)
    reader = Reader()
    for index, packet in enumerate(trace.packet):
        reader.packet(packet, index == 0)
    for track in reader.tracks.values():
        check(not track.pop("open"), f"a slice on {track['path']} does not end")
    json.dump(list(reader.tracks.values()), sys.stdout)


main()
