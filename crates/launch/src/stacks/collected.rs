//! Frames, stacks and samples as they are collected, each frame and stack once.

use std::collections::HashMap;

use preheat_model::run::{STACKS_SCHEMA, StackFrame, StackSample, Stacks};

use super::native::Symbols;

/// A frame in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FrameId(u32);

/// A stack in the table: its innermost frame, and below it its callers'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeId(u32);

/// An address in a file, whose symbol is looked up in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Native {
    /// The library, in the table.
    pub library: u32,
    /// The offset in the file.
    pub offset: u64,
}

/// A sample without its names.
struct Sample {
    time: u64,
    process: u32,
    thread: u32,
    stack: Option<NodeId>,
    native: Option<Native>,
}

#[derive(Default)]
pub(super) struct Table {
    frames: Vec<StackFrame>,
    frame_ids: HashMap<StackFrame, FrameId>,
    nodes: Vec<(Option<u32>, u32)>,
    node_ids: HashMap<(Option<NodeId>, FrameId), NodeId>,
    libraries: Vec<String>,
    library_ids: HashMap<String, u32>,
    samples: Vec<Sample>,
}

impl Table {
    /// A Python function at a line.
    pub(super) fn python(&mut self, function: &str, file: &str, line: u32) -> FrameId {
        self.frame(StackFrame {
            function: function.to_owned(),
            file: file.to_owned(),
            line,
            library: String::new(),
        })
    }

    fn frame(&mut self, frame: StackFrame) -> FrameId {
        if let Some(id) = self.frame_ids.get(&frame) {
            return *id;
        }
        let id = FrameId(self.frames.len() as u32);
        self.frames.push(frame.clone());
        self.frame_ids.insert(frame, id);
        id
    }

    /// A stack, its frames from the innermost on.
    pub(super) fn stack(&mut self, frames: &[FrameId]) -> Option<NodeId> {
        let mut node = None;
        for frame in frames.iter().rev() {
            node = Some(self.node(node, *frame));
        }
        node
    }

    fn node(&mut self, caller: Option<NodeId>, frame: FrameId) -> NodeId {
        *self.node_ids.entry((caller, frame)).or_insert_with(|| {
            self.nodes.push((caller.map(|caller| caller.0), frame.0));
            NodeId(self.nodes.len() as u32 - 1)
        })
    }

    /// A library, by its path.
    pub(super) fn library(&mut self, path: &str) -> u32 {
        if let Some(id) = self.library_ids.get(path) {
            return *id;
        }
        let id = self.libraries.len() as u32;
        self.libraries.push(path.to_owned());
        self.library_ids.insert(path.to_owned(), id);
        id
    }

    pub(super) fn add(
        &mut self,
        time: u64,
        (process, thread): (u32, u32),
        stack: Option<NodeId>,
        native: Option<Native>,
    ) {
        if stack.is_some() || native.is_some() {
            self.samples.push(Sample {
                time,
                process,
                thread,
                stack,
                native,
            });
        }
    }

    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// The document, with the names of native code.
    pub(super) fn finish(mut self) -> Stacks {
        let mut addresses: Vec<Native> = (self.samples.iter())
            .filter_map(|sample| sample.native)
            .collect();
        addresses.sort_unstable_by_key(|native| (native.library, native.offset));
        addresses.dedup();
        let mut names: HashMap<Native, StackFrame> = HashMap::new();
        for group in addresses.chunk_by(|a, b| a.library == b.library) {
            let path = &self.libraries[group[0].library as usize];
            let symbols = Symbols::of(path);
            for native in group {
                names.insert(*native, symbols.frame(native.offset));
            }
        }
        let mut samples = Vec::with_capacity(self.samples.len());
        for sample in std::mem::take(&mut self.samples) {
            let mut node = sample.stack;
            let native = sample.native.and_then(|native| names.get(&native));
            if let Some(frame) = native.filter(|frame| node.is_none() || !is_python(frame)) {
                let frame = self.frame(frame.clone());
                node = Some(self.node(node, frame));
            }
            if let Some(NodeId(node)) = node {
                samples.push(StackSample {
                    time: sample.time,
                    process: sample.process,
                    thread: sample.thread,
                    node,
                });
            }
        }
        samples.sort_by_key(|sample| sample.time);
        Stacks {
            schema: STACKS_SCHEMA.to_owned(),
            frames: self.frames,
            nodes: self.nodes,
            samples,
        }
    }
}

/// Returns true if native code is part of the interpreter. The Python function describes it better.
fn is_python(frame: &StackFrame) -> bool {
    let name = frame.library.rsplit('/').next().unwrap_or("");
    name.starts_with("python") || name.starts_with("libpython")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_share_their_callers() {
        let mut table = Table::default();
        let [main, f, g] = ["main", "f", "g"].map(|name| table.python(name, "a.py", 1));
        let one = table.stack(&[f, main]);
        let two = table.stack(&[g, main]);
        assert_eq!(table.stack(&[f, main]), one);
        table.add(7, (1, 2), two, None);
        table.add(5, (1, 2), one, None);
        table.add(6, (1, 2), None, None);
        assert_eq!(table.len(), 2);
        let stacks = table.finish();
        assert!(stacks.is_valid());
        assert_eq!(stacks.nodes.len(), 3);
        let names = |node| {
            let frames = stacks.frames_of(node).map(|frame| frame.function.as_str());
            frames.collect::<Vec<_>>()
        };
        assert_eq!(names(stacks.samples[0].node), ["f", "main"]);
        assert_eq!(names(stacks.samples[1].node), ["g", "main"]);
    }

    #[test]
    fn native_code_without_a_file_has_only_its_library() {
        let mut table = Table::default();
        let library = table.library("[vdso]");
        assert_eq!(table.library("[vdso]"), library);
        table.add(
            1,
            (1, 1),
            None,
            Some(Native {
                library,
                offset: 16,
            }),
        );
        let stacks = table.finish();
        assert_eq!(stacks.frames[0].library, "[vdso]");
        assert_eq!(stacks.frames[0].function, "");
    }
}
