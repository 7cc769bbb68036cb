//! Sampled stacks: the document `preheat.stacks/1` beside the process files of a start.
//!
//! `preheat-launch` writes it, `preheat-trace` reads it. docs/recording.md describes it.

use serde::{Deserialize, Serialize};

/// The schema written by this version.
pub const STACKS_SCHEMA: &str = "preheat.stacks/1";

/// The file name in the directory of a start.
pub const STACKS_FILE: &str = "launcher.stacks";

/// The sampled stacks of one start. Each sample is of a thread that was on a processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stacks {
    /// Always [`STACKS_SCHEMA`].
    pub schema: String,
    /// Functions at a line, without duplicates.
    pub frames: Vec<StackFrame>,
    /// The stacks as a tree: the index of the caller's node, and the index of the frame.
    /// Callers come first.
    pub nodes: Vec<(Option<u32>, u32)>,
    /// The samples, in chronological order.
    pub samples: Vec<StackSample>,
}

/// A function, and a line in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StackFrame {
    /// The function name; empty for code without symbols.
    pub function: String,
    /// The source file; empty if unknown.
    pub file: String,
    /// The line; 0 if unknown.
    pub line: u32,
    /// The library or executable of native code; empty for Python.
    pub library: String,
}

/// A sample of a running thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Quadruple", into = "Quadruple")]
pub struct StackSample {
    /// The time in nanoseconds: since boot in the file, since `exec` after reading.
    pub time: u64,
    /// The process id.
    pub process: u32,
    /// The thread id.
    pub thread: u32,
    /// The innermost frame, as an index into `nodes`.
    pub node: u32,
}

/// A sample in the file: its fields as a tuple.
type Quadruple = (u64, u32, u32, u32);

impl From<Quadruple> for StackSample {
    fn from((time, process, thread, node): Quadruple) -> StackSample {
        StackSample {
            time,
            process,
            thread,
            node,
        }
    }
}

impl From<StackSample> for Quadruple {
    fn from(sample: StackSample) -> Quadruple {
        (sample.time, sample.process, sample.thread, sample.node)
    }
}

impl Stacks {
    /// Returns true if every index is valid and callers come first.
    pub fn is_valid(&self) -> bool {
        let nodes = self.nodes.iter().enumerate().all(|(at, (caller, frame))| {
            caller.is_none_or(|caller| (caller as usize) < at)
                && (*frame as usize) < self.frames.len()
        });
        let samples = self.samples.iter();
        nodes
            && samples
                .map(|sample| sample.node as usize)
                .all(|node| node < self.nodes.len())
    }

    /// The frames of a node, from the innermost to the outermost.
    pub fn frames_of(&self, node: u32) -> impl Iterator<Item = &StackFrame> {
        let mut next = Some(node);
        std::iter::from_fn(move || {
            let (caller, frame) = *self.nodes.get(next? as usize)?;
            next = caller;
            self.frames.get(frame as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_indices_are_detected() {
        let stacks = Stacks {
            frames: vec![StackFrame::default()],
            nodes: vec![(None, 0), (Some(0), 0)],
            samples: vec![StackSample::from((5, 1, 1, 1))],
            ..Stacks::default()
        };
        assert!(stacks.is_valid());
        assert_eq!(stacks.frames_of(1).count(), 2);
        let text = serde_json::to_string(&stacks).expect("JSON");
        assert!(
            text.ends_with(r#""nodes":[[null,0],[0,0]],"samples":[[5,1,1,1]]}"#),
            "{text}"
        );
        for wrong in [
            Stacks {
                nodes: vec![(Some(0), 0)],
                ..stacks.clone()
            },
            Stacks {
                nodes: vec![(None, 1), (Some(0), 0)],
                ..stacks.clone()
            },
            Stacks {
                samples: vec![StackSample::from((5, 1, 1, 2))],
                ..stacks
            },
        ] {
            assert!(!wrong.is_valid());
        }
    }
}
