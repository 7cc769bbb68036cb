//! Looks at the command from outside while it runs: processor time of its threads, how
//! long they waited for a processor, memory and reading of its processes.
//!
//! A thread of preheat does this every few milliseconds. It keeps the files of `/proc`
//! open, and looks less often the longer the command runs and the more there is to see:
//! it never takes more than a fiftieth of one processor.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock;

mod file;
mod look;
mod proc;

pub(crate) use file::Writer;
use look::Tree;

/// The launcher's own process file, which samples and lines share.
#[derive(Clone)]
pub(crate) struct Samples(Arc<Mutex<Writer>>);

impl Samples {
    /// Begin the file in a start's directory.
    pub(crate) fn create(directory: &Path, limit: u64) -> io::Result<Samples> {
        let writer = Writer::create(&directory.join("launcher.process"), limit)?;
        Ok(Samples(Arc::new(Mutex::new(writer))))
    }

    /// To write.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Writer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was learned beside what was written down.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The most resident bytes of one process.
    pub peak_resident: u64,
    /// Sentences: what could not be seen.
    pub notes: Vec<String>,
}

/// Looks until it is told to stop.
pub(crate) struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Seen>,
}

impl Sampler {
    /// Begin to look at a process, its descendants, and whoever else has a process file
    /// in the start's directory.
    pub(crate) fn begin(process: u32, directory: &Path, samples: Samples) -> io::Result<Sampler> {
        let (stop, stopped) = channel();
        let directory = directory.to_owned();
        let thread = std::thread::Builder::new()
            .name("sampler".into())
            .spawn(move || sample(Tree::new(process, directory), &samples, &stopped))?;
        Ok(Sampler { stop, thread })
    }

    /// Look once more, and end. The process has ended, but was not waited for: what it
    /// used in all can still be read.
    pub(crate) fn end(self) -> Seen {
        // Fails only if the thread has ended, which `join` sees.
        let _ = self.stop.send(());
        self.thread.join().unwrap_or_default()
    }
}

fn sample(mut tree: Tree, samples: &Samples, stopped: &Receiver<()>) -> Seen {
    let began = clock::now();
    for count in 0u64.. {
        let before = clock::own_cpu();
        tree.look(count % EVERY == 0, &mut samples.lock());
        let cost = clock::own_cpu().saturating_sub(before);
        let pause = interval(clock::now().saturating_sub(began), cost);
        match stopped.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => break,
        }
    }
    tree.end(&mut samples.lock())
}

/// Descendants, new threads and reading are looked at once in so many times.
const EVERY: u64 = 4;

/// How long to wait before the next look, at this age of the command and with this cost
/// of the last look, both in nanoseconds.
fn interval(age: u64, cost: u64) -> Duration {
    const SECOND: u64 = 1_000_000_000;
    let by_age = match age {
        _ if age < 60 * SECOND => 5,
        _ if age < 600 * SECOND => 20,
        _ => 200,
    };
    let by_cost = cost.saturating_mul(50).min(SECOND);
    Duration::from_millis(by_age).max(Duration::from_nanos(by_cost))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_less_often_where_that_costs_more_or_lasts_longer() {
        let ms = |age_s: u64, cost_us: u64| interval(age_s * 1_000_000_000, cost_us * 1000);
        assert_eq!(ms(1, 20), Duration::from_millis(5));
        assert_eq!(ms(1, 400), Duration::from_millis(20));
        assert_eq!(ms(61, 20), Duration::from_millis(20));
        assert_eq!(ms(601, 20), Duration::from_millis(200));
        assert_eq!(ms(601, u64::MAX / 1000), Duration::from_secs(1));
    }
}
