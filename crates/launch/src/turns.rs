//! One series of starts, or several whose starts take turns.
//!
//! Several are compared with each other, so they go in rounds: each round has one start of
//! each, in an order of its own from the seed. What drifts on the machine meets all of them
//! alike, and none is always the one that comes after another.

use std::slice;
use std::time::{Duration, Instant};

use preheat_analyze::run::Manifest;
use preheat_analyze::stats::Rng;

use crate::series::{Series, Turn};
use crate::signals::Signals;
use crate::{LaunchError, Progress, Request};

/// Run the command as often and as cold as asked; `progress` is told before each start.
///
/// A command that cannot be started at all is an error. One that fails, or leaves no
/// recording, is a result: the manifest says so. Only one series runs at a time.
pub fn record(
    request: &Request<'_>,
    progress: impl FnMut(&Progress),
) -> Result<Manifest, LaunchError> {
    let mut manifests = record_in_turn(slice::from_ref(request), progress)?;
    // As many as there were requests.
    manifests
        .pop()
        .ok_or_else(|| LaunchError::Usage("there is no command to run".into()))
}

/// Run several commands, a start of each in turn, in an order that the first one's seed
/// decides. The number of starts, the budget and the seed are those of the first.
///
/// Where there are several, nothing of their output is shown unless all of it is asked
/// for, a failed start ends all of them and leaves what it wrote to standard error in
/// [`STDERR`](crate::STDERR) of its directory, and a standard input that can be read only
/// once is given to none. If the first start of one cannot be made, that is an error, and the
/// recordings of those that had theirs stay in their directories.
pub fn record_in_turn(
    requests: &[Request<'_>],
    mut progress: impl FnMut(&Progress),
) -> Result<Vec<Manifest>, LaunchError> {
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
    let signals = Signals::take();
    'all: for round in 0..rounds {
        // A round is begun only if all of it fits.
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

/// All series end for the same reason, each in its own words.
fn finished(mut all: Vec<Series>) -> Vec<Manifest> {
    end_together(&mut all);
    all.iter_mut().for_each(Series::save);
    all.into_iter().map(|series| series.manifest).collect()
}

fn end_together(all: &mut [Series]) {
    if let Some(ending) = all.iter().find_map(|series| series.ending.clone()) {
        all.iter_mut().for_each(|series| series.end_with(&ending));
    }
}

/// There is nothing to compare: what was recorded stays and says so, all else goes.
fn give_up(mut all: Vec<Series>) {
    end_together(&mut all);
    for series in &mut all {
        match series.has_begun() {
            true => series.save(),
            false => series.leave_nothing(),
        }
    }
}

/// The order of a round, with the place in it.
fn order(count: usize, rng: &mut Rng) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..count).collect();
    if count > 1 {
        rng.shuffle(&mut order);
    }
    order.into_iter().enumerate().collect()
}
