//! Memory over time.

use super::super::MemoryPoint;
use super::super::examine::seconds;
use super::super::facts::Facts;
use super::super::memory::{Live, Step, device_samples};

/// The maximum number of points.
const POINTS: usize = 600;

/// All memory samples until `until`, in order. If there are too many, close ones are
/// merged, keeping the largest.
pub(super) fn points(facts: &Facts, until: u64) -> Vec<MemoryPoint> {
    let process = facts.process;
    let mut points: Vec<(u64, MemoryPoint)> = Vec::new();
    let mut add = |time: u64, point: MemoryPoint| {
        if time <= until {
            let time_in_seconds = seconds(time);
            points.push((
                time,
                MemoryPoint {
                    time: time_in_seconds,
                    ..point
                },
            ));
        }
    };
    for sample in device_samples(process) {
        add(
            sample.time,
            MemoryPoint {
                device: Some(sample.used),
                ..MemoryPoint::default()
            },
        );
    }
    for step in &Live::of(facts).steps {
        let allocated = Some(Step::device(step));
        add(
            step.time,
            MemoryPoint {
                allocated,
                ..MemoryPoint::default()
            },
        );
    }
    for sample in &process.allocator {
        add(
            sample.time,
            MemoryPoint {
                used: Some(sample.used),
                ..MemoryPoint::default()
            },
        );
    }
    // A process that has ended has no resident memory.
    for sample in process.samples.iter().filter(|sample| sample.resident > 0) {
        add(
            sample.time,
            MemoryPoint {
                resident: Some(sample.resident),
                ..MemoryPoint::default()
            },
        );
    }
    points.sort_by_key(|(time, _)| *time);
    fewer(points, until)
}

/// One point per interval, with the maximum of each quantity in it.
fn fewer(points: Vec<(u64, MemoryPoint)>, until: u64) -> Vec<MemoryPoint> {
    if points.len() <= POINTS {
        return points.into_iter().map(|(_, point)| point).collect();
    }
    let grain = until / (POINTS as u64 - 1) + 1;
    let mut result: Vec<(u64, MemoryPoint)> = Vec::new();
    for (time, point) in points {
        let cell = time / grain;
        match result.last_mut() {
            Some((last, sum)) if *last == cell => {
                sum.time = point.time;
                sum.device = sum.device.max(point.device);
                sum.allocated = sum.allocated.max(point.allocated);
                sum.used = sum.used.max(point.used);
                sum.resident = sum.resident.max(point.resident);
            }
            _ => result.push((cell, point)),
        }
    }
    result.into_iter().map(|(_, point)| point).collect()
}
