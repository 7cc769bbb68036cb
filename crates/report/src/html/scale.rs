//! Axes: maps values to positions, and chooses round tick values.

use crate::units::{bytes, duration};

/// A value and its label.
pub(crate) type Tick = (f64, String);

/// An axis that maps values from `low` to `high` to positions from `from` to `to`.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    log: bool,
    /// Added to each value before taking the logarithm.
    shift: f64,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    /// The labelled values.
    pub ticks: Vec<Tick>,
}

impl Axis {
    /// A logarithmic axis of times, with a margin on both sides.
    pub fn times(values: impl Iterator<Item = f64>, most: usize) -> Option<Axis> {
        let (low, high) = extent(values.filter(|value| *value > 0.0))?;
        let air = (high / low).powf(0.06).max(1.15);
        let (low, high) = (low / air, high * air);
        let ticks = log_ticks(low, high, most);
        Some(Axis::log(
            low,
            high,
            ticks.into_iter().map(|value| (value, duration(value))),
        ))
    }

    /// A logarithmic axis of sizes.
    pub fn sizes(values: impl Iterator<Item = f64>, most: usize) -> Option<Axis> {
        let (low, high) = extent(values.filter(|value| *value > 0.0))?;
        let ticks = size_ticks(low as u64, high as u64, most);
        Some(Axis::log(
            low,
            high,
            ticks.into_iter().map(|size| (size as f64, bytes(size))),
        ))
    }

    /// A logarithmic axis of other values.
    pub fn log_of(
        values: impl Iterator<Item = f64>,
        most: usize,
        name: impl Fn(f64) -> String,
    ) -> Option<Axis> {
        let (low, high) = extent(values.filter(|value| *value > 0.0))?;
        let high = high.max(low * 2.0);
        let ticks = log_ticks(low, high, most);
        Some(Axis::log(
            low,
            high,
            ticks.into_iter().map(|value| (value, name(value))),
        ))
    }

    /// A linear axis from 0, with ticks every `step`.
    pub fn from_zero(high: f64, step: f64, name: impl Fn(f64) -> String) -> Axis {
        let high = if high.is_finite() && high > 0.0 {
            high
        } else {
            1.0
        };
        let count = (high / step).floor().min(20.0) as usize;
        let ticks = (0..=count)
            .map(|at| (at as f64 * step, name(at as f64 * step)))
            .collect();
        Axis {
            log: false,
            shift: 0.0,
            low: 0.0,
            high,
            from: 0.0,
            to: 1.0,
            ticks,
        }
    }

    /// A linear axis from the minimum to the maximum, with a margin on both sides; `None` if
    /// no value is finite.
    pub fn between(
        values: impl Iterator<Item = f64>,
        most: usize,
        name: impl Fn(f64) -> String,
    ) -> Option<Axis> {
        let (low, high) = extent(values)?;
        let air = match (high - low) * 0.08 {
            // With a single value, the margin is a hundredth of it.
            air if air > 0.0 => air,
            _ => low.abs().max(f64::MIN_POSITIVE * 1e3) * 0.01,
        };
        let (low, high) = (low - air, high + air);
        if !(high - low).is_finite() || high <= low {
            return None;
        }
        let step = round_step(high - low, most);
        let first = (low / step).ceil();
        let count = ((high / step).floor() - first).clamp(0.0, 20.0) as usize;
        let ticks = (0..=count)
            .map(|at| (first + at as f64) * step)
            .map(|value| (value, name(value)))
            .collect();
        Some(Axis {
            log: false,
            shift: 0.0,
            low,
            high,
            from: 0.0,
            to: 1.0,
            ticks,
        })
    }

    /// An axis of iterations that gives most of the space to the first ones: logarithmic in
    /// the iteration plus one. Position 0 is before the first iteration.
    pub fn after_iterations(last: f64) -> Axis {
        let last = if last.is_finite() { last.max(1.0) } else { 1.0 };
        let decades = (0..7).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)));
        let ticks: Vec<Tick> = std::iter::once(0.0)
            .chain(decades)
            .take_while(|at| *at <= last)
            .map(|at| (at, format!("{at:.0}")))
            .collect();
        Axis {
            shift: 1.0,
            ..Axis::log(1.0, last + 1.0, ticks.into_iter())
        }
    }

    fn log(low: f64, high: f64, ticks: impl Iterator<Item = Tick>) -> Axis {
        let high = if high > low { high } else { low * 2.0 };
        Axis {
            log: true,
            shift: 0.0,
            low,
            high,
            from: 0.0,
            to: 1.0,
            ticks: ticks.collect(),
        }
    }

    /// The same axis over the given positions.
    pub fn over(mut self, from: f64, to: f64) -> Axis {
        (self.from, self.to) = (from, to);
        self
    }

    /// The position of a value, clamped to the ends of the axis.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            ((value + self.shift).max(f64::MIN_POSITIVE) / self.low).ln()
                / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        let share = if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        };
        self.from + share * (self.to - self.from)
    }
}

/// The minimum and maximum of the finite values.
pub(crate) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .fold(None, |so_far, value| match so_far {
            None => Some((value, value)),
            Some((low, high)) => Some((low.min(value), high.max(value))),
        })
}

/// At most `most` round values between `low` and `high`: powers of ten, thinned out if there
/// are many, with intermediate steps if there are few.
pub(crate) fn log_ticks(low: f64, high: f64, most: usize) -> Vec<f64> {
    // Limited to the exponents of an f64: documents can contain any number.
    let power = |value: f64| value.log10().clamp(-308.0, 308.0);
    let (first, last) = (power(low).floor() as i32, power(high).ceil() as i32);
    let within = |value: &f64| *value >= low * 0.999 && *value <= high * 1.001;
    let of = |steps: &[f64], every: usize| -> Vec<f64> {
        let decades = (first..=last).filter(|power| power.rem_euclid(every as i32) == 0);
        decades
            .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
            .filter(within)
            .collect()
    };
    for steps in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
        let ticks = of(steps, 1);
        if ticks.len() <= most {
            return ticks;
        }
    }
    (2..30)
        .map(|every| of(&[1.0], every))
        .find(|ticks| ticks.len() <= most)
        .unwrap_or_default()
}

/// At most `most` powers of two between `low` and `high`.
pub(crate) fn size_ticks(low: u64, high: u64, most: usize) -> Vec<u64> {
    let first = low.max(1).next_power_of_two();
    (1..32)
        .map(|step| -> Vec<u64> {
            std::iter::successors(Some(first), |size| size.checked_shl(step))
                .take_while(|size| *size <= high && *size > 0)
                .take(64)
                .collect()
        })
        .find(|ticks| ticks.len() <= most)
        .unwrap_or_default()
}

/// A round step for `high` in about `count` steps: 1, 2 or 5 times a power of ten.
pub(crate) fn round_step(high: f64, count: usize) -> f64 {
    if !high.is_finite() || high <= 0.0 {
        return 1.0;
    }
    let rough = high / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|step| step * power)
        .into_iter()
        .find(|s| *s >= rough)
        .unwrap_or(rough)
}

/// A round step for bytes: a power of two.
pub(crate) fn round_step_bytes(high: f64, count: usize) -> f64 {
    let rough = (high / count.max(1) as f64).max(1.0);
    2f64.powf(rough.log2().ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_limited() {
        assert_eq!(log_ticks(1e-6, 1.0, 8).len(), 7);
        assert_eq!(log_ticks(1e-6, 1.0, 4).len(), 4);
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a / b - 1.0).abs() < 1e-9);
        assert!(near(
            &log_ticks(0.9, 60.0, 8),
            &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
        ));
        assert!(near(
            &log_ticks(0.9, 200.0, 6),
            &[1.0, 3.0, 10.0, 30.0, 100.0]
        ));
        assert!(log_ticks(1e-300, 1e300, 6).len() <= 6);
    }

    #[test]
    fn sizes_are_powers_of_two() {
        assert_eq!(
            size_ticks(4096, 1 << 30, 10),
            (0..10).map(|n| 4096 << (2 * n)).collect::<Vec<u64>>()
        );
        assert!(size_ticks(4096, 1 << 30, 5).len() <= 5);
        assert_eq!(size_ticks(0, 0, 5), Vec::<u64>::new());
        assert!(size_ticks(1, u64::MAX, 5).len() <= 5);
    }

    #[test]
    fn a_log_axis_gives_each_decade_the_same_space() {
        let axis = Axis::log(1.0, 1000.0, std::iter::empty()).over(100.0, 400.0);
        assert!((axis.at(10.0) - 200.0).abs() < 1e-9);
        assert_eq!(axis.at(0.0), 100.0);
        assert_eq!(axis.at(1e9), 400.0);
        assert!(axis.at(f64::NAN).is_finite());
    }

    #[test]
    fn before_the_first_iteration_is_at_the_edge() {
        let axis = Axis::after_iterations(100.0).over(0.0, 10.0);
        assert_eq!((axis.at(0.0), axis.at(100.0)), (0.0, 10.0));
        assert!(axis.at(1.0) > 1.0);
        assert_eq!(axis.ticks.len(), 8);
    }

    #[test]
    fn one_value_still_has_an_axis() {
        let axis = Axis::times([1e-3].into_iter(), 6).unwrap().over(0.0, 10.0);
        assert!(axis.at(1e-3).is_finite());
        assert!(Axis::times([f64::NAN, 0.0, -1.0].into_iter(), 6).is_none());
        assert!(
            Axis::sizes([4096.0].into_iter(), 6)
                .unwrap()
                .at(4096.0)
                .is_finite()
        );
    }

    #[test]
    fn an_axis_between_values_has_margins_and_round_ticks() {
        let axis = Axis::between([7.0, 9.0, f64::NAN].into_iter(), 4, |v| format!("{v}"));
        let axis = axis.unwrap().over(0.0, 100.0);
        assert_eq!(axis.ticks.len(), 3);
        assert!(axis.at(7.0) > 5.0 && axis.at(9.0) < 95.0);
        let one = Axis::between([3.0].into_iter(), 4, |v| format!("{v}")).unwrap();
        assert!((one.over(0.0, 10.0).at(3.0) - 5.0).abs() < 0.1);
        assert!(Axis::between([f64::NAN].into_iter(), 4, |v| format!("{v}")).is_none());
        let zero = Axis::between([0.0, 0.0].into_iter(), 4, |v| format!("{v}"));
        assert!(zero.is_none_or(|axis| axis.at(0.0).is_finite()));
        assert!(Axis::between([-1e308, 1e308].into_iter(), 4, |v| format!("{v}")).is_none());
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(1.7, 4), 0.5);
        assert_eq!(round_step(f64::NAN, 4), 1.0);
        assert_eq!(round_step_bytes(835.0 * 1048576.0, 4), 256.0 * 1048576.0);
        let axis = Axis::from_zero(10.0, 5.0, |value| format!("{value}"));
        assert_eq!(axis.ticks.len(), 3);
    }
}
