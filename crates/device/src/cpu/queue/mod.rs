//! Worker threads and the work that waits for them, in order.
//!
//! [`Queue::submit`] returns once a launch is queued; workers take it from there.
//! A launch begins only when the one before it is complete. It is split in chunks
//! that all workers share; a launch of one chunk is done by whichever worker looks
//! first, and nobody else is woken for it.
//!
//! Waking a thread takes longer than a small kernel. So, for a moment after it ran
//! out of work, *one* worker looks for more without sleeping, and so does a thread
//! that waits for the queue; after [`SPIN`] both sleep, and no core is burnt by an
//! idle queue. The queue knows chunks of work and nothing of what they do.

mod state;

use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, yield_now};
use std::time::{Duration, Instant};

use self::state::{Launch, State};
use super::host::cores;

/// How long a thread looks for work before it sleeps: about what waking costs.
const SPIN: Duration = Duration::from_micros(30);

/// Fewer indices than this are not worth a second worker.
const MIN_CHUNK: usize = 256;

/// How many chunks each worker gets of a large launch, so that one that was held up
/// does not hold up all.
const CHUNKS_PER_WORKER: usize = 4;

/// What is queued: something that can be done for any range of its indices.
pub(crate) trait Work: Send + Sync {
    /// Do it for the indices from `begin` up to and without `end`.
    fn run(&self, begin: usize, end: usize);
}

/// Worker threads and their work. Dropped, it finishes what is queued.
pub(crate) struct Queue {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// For workers that sleep.
    work: Condvar,
    /// For threads that wait for the queue and sleep.
    done: Condvar,
    /// `State::completed`, for those who look without the lock.
    completed: AtomicU64,
    /// Whether there is a chunk to take, for the one who looks without the lock.
    claimable: AtomicBool,
    /// Whether a worker looks for work without sleeping.
    spinning: AtomicBool,
    spin: Duration,
}

impl Queue {
    /// A queue with its own threads: `workers` of them, at least one.
    pub fn new(workers: usize) -> io::Result<Queue> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
            completed: AtomicU64::new(0),
            claimable: AtomicBool::new(false),
            spinning: AtomicBool::new(false),
            // On a single core, looking keeps the one who works from working.
            spin: if cores() > 1 { SPIN } else { Duration::ZERO },
        });
        let mut queue = Queue {
            shared,
            workers: Vec::new(),
        };
        for index in 0..workers.max(1) {
            let shared = Arc::clone(&queue.shared);
            let thread = Builder::new().name(format!("preheat-cpu-{index}"));
            // If this fails, dropping the queue ends the threads that there are.
            queue.workers.push(thread.spawn(move || shared.serve())?);
        }
        Ok(queue)
    }

    /// Queue `work` for all indices below `indices`.
    pub fn submit(&self, work: Arc<dyn Work>, indices: usize) {
        if indices == 0 {
            return;
        }
        let share = indices.div_ceil(self.workers.len() * CHUNKS_PER_WORKER);
        let mut state = self.shared.lock();
        state.submitted += 1;
        state.launches.push_back(Launch {
            work,
            indices,
            chunk: share.max(MIN_CHUNK),
        });
        // A worker that is awake looks again before it sleeps.
        let all_sleep = state.parked == self.workers.len();
        self.shared.publish(&state);
        if all_sleep {
            self.shared.wake(&mut state, 1);
        }
    }

    /// Wait until everything that was queued so far is complete.
    pub fn wait(&self) {
        let shared = &*self.shared;
        let goal = shared.lock().submitted;
        // Acquire: what the workers wrote before is seen after.
        if spin_until(shared.spin, || {
            shared.completed.load(Ordering::Acquire) >= goal
        }) {
            return;
        }
        let mut state = shared.lock();
        state.waiting += 1;
        while state.completed < goal {
            state = wait_on(&shared.done, state);
        }
        state.waiting -= 1;
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stop = true;
        let everyone = state.parked;
        self.shared.wake(&mut state, everyone);
        drop(state);
        for worker in self.workers.drain(..) {
            // A worker runs machine code, which cannot panic; there is nothing to tell.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock, so the state is always whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker's life.
    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some(chunk) = state.claim() {
                self.publish(&state);
                if chunk.begin == 0 {
                    let others = state.chunks_left();
                    self.wake(&mut state, others);
                }
                drop(state);
                chunk.work.run(chunk.begin, chunk.end);
                // The launch's own reference goes with `finish`; this one before it,
                // so that a complete launch holds nothing any more.
                drop(chunk);
                state = self.lock();
                let complete = state.finish().is_some();
                self.publish(&state);
                if complete && state.waiting > 0 {
                    self.done.notify_all();
                }
            } else if state.stop {
                // Whoever does the last chunk of a launch goes on with the next one,
                // so nothing that is queued is left behind.
                return;
            } else {
                state = self.rest(state);
            }
        }
    }

    /// Look for work a moment longer if no other worker does, then sleep until woken.
    fn rest<'s>(&'s self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        drop(state);
        if !self.spinning.swap(true, Ordering::Relaxed) {
            spin_until(self.spin, || self.claimable.load(Ordering::Relaxed));
            self.spinning.store(false, Ordering::Relaxed);
        }
        let mut state = self.lock();
        // What came in between was left to this worker, which was awake.
        if state.can_claim() || state.stop {
            return state;
        }
        state.parked += 1;
        while state.wakes == 0 {
            state = wait_on(&self.work, state);
        }
        state.wakes -= 1;
        state
    }

    /// Wake up to `count` of the workers that sleep.
    fn wake(&self, state: &mut State, count: usize) {
        let count = count.min(state.parked);
        state.parked -= count;
        state.wakes += count;
        for _ in 0..count {
            self.work.notify_one();
        }
    }

    /// Show the state to those who look without the lock.
    fn publish(&self, state: &State) {
        self.claimable.store(state.can_claim(), Ordering::Relaxed);
        self.completed.store(state.completed, Ordering::Release);
    }
}

fn wait_on<'s>(condition: &Condvar, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
    condition
        .wait(state)
        .unwrap_or_else(PoisonError::into_inner)
}

/// Whether `ready` came true within `limit`.
///
/// Whoever is to make it true may be waiting for this very core, so the core is
/// offered to others all the while; where nobody wants it that costs next to nothing.
fn spin_until(limit: Duration, ready: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    loop {
        for _ in 0..32 {
            if ready() {
                return true;
            }
            spin_loop();
        }
        if start.elapsed() >= limit {
            return false;
        }
        yield_now();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Work made of a function.
    struct Run<F>(F);

    impl<F: Fn(usize, usize) + Send + Sync> Work for Run<F> {
        fn run(&self, begin: usize, end: usize) {
            (self.0)(begin, end);
        }
    }

    fn queue(workers: usize) -> Queue {
        Queue::new(workers).expect("threads can be started")
    }

    #[test]
    fn each_launch_begins_when_the_one_before_is_complete() {
        for workers in [1, 2, 7] {
            let queue = queue(workers);
            let done = Arc::new(AtomicUsize::new(0));
            let early = Arc::new(AtomicUsize::new(0));
            let mut before = 0;
            for round in 0..500 {
                let indices = [1, 255, 257, 5000, 40_000][round % 5];
                let (done, early) = (Arc::clone(&done), Arc::clone(&early));
                let range = before..before + indices;
                let work = Run(move |begin: usize, end: usize| {
                    if !range.contains(&done.load(Ordering::SeqCst)) {
                        early.fetch_add(1, Ordering::SeqCst);
                    }
                    done.fetch_add(end - begin, Ordering::SeqCst);
                });
                queue.submit(Arc::new(work), indices);
                before += indices;
            }
            queue.wait();
            assert_eq!(done.load(Ordering::SeqCst), before);
            assert_eq!(early.load(Ordering::SeqCst), 0);
        }
    }

    #[test]
    fn every_index_is_done_once() {
        let queue = queue(3);
        let count = 10_001;
        let times: Arc<Vec<AtomicUsize>> = Arc::new((0..count).map(|_| 0.into()).collect());
        let seen = Arc::clone(&times);
        let work = move |begin: usize, end: usize| {
            for index in begin..end {
                seen[index].fetch_add(1, Ordering::Relaxed);
            }
        };
        queue.submit(Arc::new(Run(work)), count);
        queue.wait();
        assert!(times.iter().all(|times| times.load(Ordering::Relaxed) == 1));
    }

    #[test]
    fn a_small_launch_is_one_piece() {
        let queue = queue(4);
        let (sender, pieces): (Sender<_>, Receiver<_>) = channel();
        let work = Run(move |begin, end| {
            let _ = sender.send((begin, end));
        });
        queue.submit(Arc::new(work), MIN_CHUNK);
        queue.wait();
        assert_eq!(pieces.iter().collect::<Vec<_>>(), [(0, MIN_CHUNK)]);
    }

    #[test]
    fn submitting_does_not_wait() {
        let queue = queue(1);
        let (release, held) = channel::<()>();
        let held = Mutex::new(held);
        // This would never end if `submit` waited for it.
        let work = Run(move |_, _| {
            let _ = held.lock().map(|held| held.recv());
        });
        queue.submit(Arc::new(work), 1);
        release.send(()).expect("the work waits for it");
        queue.wait();
    }

    #[test]
    fn nothing_is_nothing_to_wait_for() {
        let queue = queue(1);
        queue.submit(Arc::new(Run(|_, _| ())), 0);
        queue.wait();
        assert_eq!(queue.shared.lock().submitted, 0);
    }

    #[test]
    fn dropping_finishes_what_is_queued() {
        for workers in [1, 3] {
            let done = Arc::new(AtomicUsize::new(0));
            let queue = queue(workers);
            for _ in 0..100 {
                let done = Arc::clone(&done);
                let work = Run(move |begin: usize, end: usize| {
                    done.fetch_add(end - begin, Ordering::Relaxed);
                });
                queue.submit(Arc::new(work), 1000);
            }
            drop(queue);
            assert_eq!(done.load(Ordering::Relaxed), 100_000);
        }
    }
}
