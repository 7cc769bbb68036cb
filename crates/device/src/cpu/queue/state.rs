//! The queue's bookkeeping: the current launch and its next chunk.
//!
//! Nothing here waits, wakes or executes; everything happens under the queue's lock.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Work;

#[derive(Default)]
pub(super) struct State {
    /// The first one is in progress.
    pub launches: VecDeque<Launch>,
    /// The first index of the current launch that no worker has claimed.
    pub next: usize,
    /// Chunks of the current launch that workers are executing.
    pub running: usize,
    pub submitted: u64,
    pub completed: u64,
    /// Sleeping workers that have not been woken.
    pub parked: usize,
    /// Workers that were woken but have not resumed yet.
    pub wakes: usize,
    /// Threads that sleep until the queue makes progress.
    pub waiting: usize,
    pub stop: bool,
}

pub(super) struct Launch {
    pub work: Arc<dyn Work>,
    pub indices: usize,
    pub chunk: usize,
}

/// Part of the current launch.
pub(super) struct Chunk {
    pub work: Arc<dyn Work>,
    pub begin: usize,
    pub end: usize,
}

impl State {
    pub fn can_claim(&self) -> bool {
        self.launches
            .front()
            .is_some_and(|launch| self.next < launch.indices)
    }

    pub fn chunks_left(&self) -> usize {
        self.launches.front().map_or(0, |launch| {
            (launch.indices - self.next).div_ceil(launch.chunk)
        })
    }

    /// Claims the next chunk of the current launch.
    pub fn claim(&mut self) -> Option<Chunk> {
        let launch = self.launches.front()?;
        let begin = self.next;
        if begin >= launch.indices {
            return None;
        }
        let end = launch.indices.min(begin.saturating_add(launch.chunk));
        self.next = end;
        self.running += 1;
        Some(Chunk {
            work: Arc::clone(&launch.work),
            begin,
            end,
        })
    }

    /// Records a finished chunk; after the last one, returns the completed launch.
    pub fn finish(&mut self) -> Option<Launch> {
        self.running -= 1;
        if self.running > 0 || self.can_claim() {
            return None;
        }
        self.next = 0;
        self.completed += 1;
        self.launches.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Work for Nothing {
        fn run(&self, _: usize, _: usize) {}
    }

    fn launch(indices: usize, chunk: usize) -> Launch {
        Launch {
            work: Arc::new(Nothing),
            indices,
            chunk,
        }
    }

    fn claim(state: &mut State) -> Option<(usize, usize)> {
        state.claim().map(|chunk| (chunk.begin, chunk.end))
    }

    #[test]
    fn the_next_launch_waits_for_the_last_chunk() {
        let mut state = State::default();
        assert_eq!(claim(&mut state), None);
        state.launches.extend([launch(5, 3), launch(2, 3)]);
        assert_eq!(state.chunks_left(), 2);
        assert_eq!(claim(&mut state), Some((0, 3)));
        assert_eq!(claim(&mut state), Some((3, 5)));
        assert_eq!((state.chunks_left(), state.can_claim()), (0, false));
        assert_eq!(claim(&mut state), None, "the first launch is not complete");
        assert!(state.finish().is_none());
        assert_eq!(claim(&mut state), None, "it is still not complete");
        assert!(state.finish().is_some());
        assert_eq!(claim(&mut state), Some((0, 2)));
        assert!(state.finish().is_some());
        assert_eq!(state.completed, 2);
        assert_eq!(claim(&mut state), None);
    }

    #[test]
    fn a_launch_with_unclaimed_chunks_is_not_complete() {
        let mut state = State::default();
        state.launches.push_back(launch(4, 2));
        assert_eq!(claim(&mut state), Some((0, 2)));
        assert!(state.finish().is_none());
        assert_eq!(claim(&mut state), Some((2, 4)));
        assert!(state.finish().is_some());
    }
}
