//! One series of starts, or several that are interleaved.
//!
//! Series that are compared run in rounds: each round has one start of each, in a seeded
//! random order. Drift on the machine affects all of them equally, and none always runs
//! after the same other one. The starts of one command are ordered by temperature in the same
//! way.

use std::slice;
use std::time::{Duration, Instant};

use preheat_model::run::{Manifest, Temperature};
use preheat_model::stats::Rng;

use crate::series::{Series, Turn};
use crate::signals::Signals;
use crate::{LaunchError, Progress, Request};

/// A finished series.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The manifest, complete even if it could not be saved.
    pub manifest: Manifest,
    /// The message if the manifest could not be saved at least once.
    pub unsaved: Option<String>,
}

/// Runs the command as often and as cold as requested; calls `progress` before each start.
///
/// A command that cannot be started at all is an error. A command that fails, or leaves no
/// recording, is a result that the manifest reports. Only one series runs at a time.
pub fn record(
    request: &Request<'_>,
    progress: impl FnMut(&Progress),
) -> Result<Recorded, LaunchError> {
    let mut recorded = record_all(slice::from_ref(request), progress)?;
    // There is one series per request.
    recorded
        .pop()
        .ok_or_else(|| LaunchError::Usage("no command given".into()))
}

/// Runs several commands, interleaved, in an order that the seed of the first one
/// determines. The number of starts, the budget and the seed are those of the first.
///
/// With several commands, no output is shown unless all of it is requested, a failed start
/// ends all of them and leaves its standard error in [`STDERR`](crate::STDERR) of its
/// directory, and a standard input that can be read only once is given to none. It is an
/// error if the first start of one command fails; recordings that the other commands have
/// already made stay in their directories.
pub fn record_in_turn(
    requests: &[Request<'_>],
    progress: impl FnMut(&Progress),
) -> Result<Vec<Manifest>, LaunchError> {
    let recorded = record_all(requests, progress)?;
    Ok(recorded.into_iter().map(|it| it.manifest).collect())
}

fn record_all(
    requests: &[Request<'_>],
    mut progress: impl FnMut(&Progress),
) -> Result<Vec<Recorded>, LaunchError> {
    let began = Instant::now();
    let several = requests.len() > 1;
    let mut all: Vec<Series> = Vec::new();
    for request in requests {
        match Series::new(request, several) {
            Ok(series) => all.push(series),
            Err(why) => {
                all.iter().for_each(Series::leave_nothing);
                return Err(why);
            }
        }
    }
    let rounds = all.iter().map(Series::planned).max().unwrap_or(0);
    let total = all.iter().map(Series::planned).sum();
    let mut done = 0;
    let mut rng = Rng::new(requests.first().map_or(0, |request| request.seed));
    let signals = Signals::install();
    'all: for round in 0..rounds {
        // A round only begins if all of it fits into the budget.
        let longest: Duration = all.iter().map(|series| series.longest).sum();
        for which in order(all.len(), &mut rng) {
            let turn = Turn {
                began,
                longest: if which.0 == 0 {
                    longest
                } else {
                    Duration::ZERO
                },
            };
            let series = &mut all[which.1];
            if round > 0 && series.is_over(&turn) {
                break 'all;
            }
            let Some(temperature) = series.temperature(round) else {
                continue;
            };
            progress(&Progress {
                done,
                total,
                series: which.1,
                temperature,
                elapsed: began.elapsed(),
            });
            if let Err(why) = series.next(round, &signals) {
                if round == 0 {
                    give_up(all);
                    return Err(why);
                }
                break 'all;
            }
            done += 1;
            if several && series.failed() {
                series.is_over(&turn);
                break 'all;
            }
        }
    }
    Ok(finished(all))
}

/// Ends all series for the same reason, with a sentence for each.
fn finished(mut all: Vec<Series>) -> Vec<Recorded> {
    end_together(&mut all);
    all.iter_mut().for_each(Series::save);
    let recorded = all.into_iter().map(|series| Recorded {
        manifest: series.manifest,
        unsaved: series.unsaved,
    });
    recorded.collect()
}

fn end_together(all: &mut [Series]) {
    if let Some(ending) = all.iter().find_map(|series| series.ending.clone()) {
        all.iter_mut().for_each(|series| series.end_with(&ending));
    }
}

/// Gives up, since there is nothing to compare: recordings stay, with the reason; empty
/// directories are removed.
fn give_up(mut all: Vec<Series>) {
    end_together(&mut all);
    for series in &mut all {
        match series.has_begun() {
            true => series.save(),
            false => series.leave_nothing(),
        }
    }
}

/// The order of a round: position and index.
fn order(count: usize, rng: &mut Rng) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..count).collect();
    if count > 1 {
        rng.shuffle(&mut order);
    }
    order.into_iter().enumerate().collect()
}

// The temperatures of the starts.

/// The temperatures of all starts, in temperatures: shuffled rounds with one start of each, so
/// that drift on the machine affects all equally. The very first start is at the warmest
/// temperature: it may find cold disks and caches anyway, it is reported separately, and
/// the files that it reads are evicted before the others.
pub(crate) fn temperatures(
    temperatures: &[Temperature],
    starts: usize,
    seed: u64,
) -> Vec<Temperature> {
    let mut each = temperatures.to_vec();
    each.sort_unstable();
    each.dedup();
    if each.is_empty() {
        each.push(Temperature::Process);
    }
    let warmest = each[0];
    // A disk-cold start evicts files that an earlier start has read, so at least two starts
    // are needed.
    let starts = match each[..] {
        [Temperature::Disk] => starts.max(2),
        _ => starts.max(1),
    };
    let mut rng = Rng::new(seed);
    let mut all = Vec::with_capacity(starts * each.len());
    for round in 0..starts {
        rng.shuffle(&mut each);
        if round == 0 {
            let at = each.iter().position(|&t| t == warmest).unwrap_or(0);
            each.swap(0, at);
        }
        all.extend_from_slice(&each);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::Temperature::{Caches, Disk, Process};
    use super::*;

    #[test]
    fn each_round_has_each_temperature_and_the_warmest_comes_first() {
        for seed in 0..20 {
            let all = temperatures(&[Caches, Disk, Process, Disk], 4, seed);
            assert_eq!(all.len(), 12);
            assert_eq!(all[0], Process);
            for round in all.chunks(3) {
                let mut round = round.to_vec();
                round.sort_unstable();
                assert_eq!(round, [Process, Disk, Caches]);
            }
            assert_eq!(temperatures(&[Caches, Disk], 2, seed)[0], Disk);
        }
    }

    #[test]
    fn the_seed_decides() {
        let by = |seed| temperatures(&[Process, Disk, Caches], 8, seed);
        assert_eq!(by(1), by(1));
        assert!((2..20).any(|seed| by(seed) != by(1)));
    }

    #[test]
    fn the_default_is_one_plain_start_and_disk_needs_two() {
        assert_eq!(temperatures(&[], 1, 0), [Process]);
        assert_eq!(temperatures(&[], 0, 0), [Process]);
        assert_eq!(temperatures(&[Disk], 1, 0), [Disk, Disk]);
    }
}
