//! Worker threads with an in-order work queue.
//!
//! [`Queue::submit`] returns once a launch is queued; workers execute it. A launch begins
//! only when its predecessor is complete. It is split into chunks that all workers share; a
//! launch of a single chunk is executed by the first worker that finds it, without waking
//! another.
//!
//! Waking a thread takes longer than a small kernel. After it runs out of work, *one*
//! worker therefore polls for more without sleeping, and so does a thread that waits for
//! the queue; after [`SPIN`] both go to sleep, so that an idle queue uses no CPU time. The
//! queue only knows chunks of work, not what they do.

mod state;

use std::hint::spin_loop;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, yield_now};
use std::time::{Duration, Instant};

use self::state::{Launch, State};
use super::processor::cores;

/// The time a thread polls before it sleeps: about the cost of waking it.
const SPIN: Duration = Duration::from_micros(30);

/// Fewer indices than this are not worth a second worker.
const MIN_CHUNK: usize = 256;

/// Chunks per worker in a large launch, so that one delayed worker does not delay the whole
/// launch.
const CHUNKS_PER_WORKER: usize = 4;

/// Work that can be executed for any range of its indices.
pub(crate) trait Work: Send + Sync {
    /// Executes the indices `begin..end`.
    fn run(&self, begin: usize, end: usize);
}

/// Worker threads and their queue. Dropping it completes all queued work.
pub(crate) struct Queue {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// For sleeping workers.
    work: Condvar,
    /// For threads that sleep until the queue makes progress.
    done: Condvar,
    /// `State::completed`, for readers without the lock.
    completed: AtomicU64,
    /// True if a chunk can be claimed, for the worker that polls without the lock.
    claimable: AtomicBool,
    /// True if a worker is polling instead of sleeping.
    spinning: AtomicBool,
    spin: Duration,
}

impl Queue {
    /// Starts a queue with `workers` threads, at least one.
    pub fn new(workers: usize) -> io::Result<Queue> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            work: Condvar::new(),
            done: Condvar::new(),
            completed: AtomicU64::new(0),
            claimable: AtomicBool::new(false),
            spinning: AtomicBool::new(false),
            // On a single core, polling would only slow down the thread that works.
            spin: if cores() > 1 { SPIN } else { Duration::ZERO },
        });
        let mut queue = Queue {
            shared,
            workers: Vec::new(),
        };
        for index in 0..workers.max(1) {
            let shared = Arc::clone(&queue.shared);
            let thread = Builder::new().name(format!("preheat-cpu-{index}"));
            // If this fails, dropping the queue ends the threads started so far.
            queue.workers.push(thread.spawn(move || shared.serve())?);
        }
        Ok(queue)
    }

    /// Queues `work` for all indices below `indices`.
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
        // A worker that is awake checks again before it sleeps.
        let all_sleep = state.parked == self.workers.len();
        self.shared.publish(&state);
        if all_sleep {
            self.shared.wake(&mut state, 1);
        }
    }

    /// Waits until everything queued so far is complete.
    pub fn wait(&self) {
        let shared = &*self.shared;
        let goal = shared.lock().submitted;
        // Acquire: makes the workers' earlier writes visible.
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
            // Workers run machine code, which cannot panic, so there are no errors to
            // report.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while holding the lock, so the state is always consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The main loop of a worker.
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
                // Drop this reference before `finish` drops the launch's, so that a
                // complete launch holds nothing any more.
                drop(chunk);
                state = self.lock();
                let complete = state.finish().is_some();
                self.publish(&state);
                if complete && state.waiting > 0 {
                    self.done.notify_all();
                }
            } else if state.stop {
                // The worker that finishes the last chunk of a launch continues with the
                // next launch, so no queued work is lost.
                return;
            } else {
                state = self.rest(state);
            }
        }
    }

    /// Polls for work a little longer if no other worker does, then sleeps until woken.
    fn rest<'s>(&'s self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        drop(state);
        if !self.spinning.swap(true, Ordering::Relaxed) {
            spin_until(self.spin, || self.claimable.load(Ordering::Relaxed));
            self.spinning.store(false, Ordering::Relaxed);
        }
        let mut state = self.lock();
        // Nobody was woken for work that arrived in between, since this worker was awake.
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

    /// Wakes up to `count` of the sleeping workers.
    fn wake(&self, state: &mut State, count: usize) {
        let count = count.min(state.parked);
        state.parked -= count;
        state.wakes += count;
        for _ in 0..count {
            self.work.notify_one();
        }
    }

    /// Publishes the state to threads that poll without the lock.
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

/// Returns true if `ready` became true within `limit`.
///
/// The thread that will make it true may need this very core, so the loop keeps yielding;
/// without contention that costs almost nothing.
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

    /// Work given as a closure.
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
    fn a_small_launch_is_one_chunk() {
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
    fn an_empty_launch_completes_immediately() {
        let queue = queue(1);
        queue.submit(Arc::new(Run(|_, _| ())), 0);
        queue.wait();
        assert_eq!(queue.shared.lock().submitted, 0);
    }

    #[test]
    fn dropping_completes_queued_work() {
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
