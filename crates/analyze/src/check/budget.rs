//! Budgets: upper limits on what a program may use.
//!
//! ```toml
//! starts = 5                          # fewer are not enough to judge
//! time_to_first = "2 s"
//! first_ratio = 50
//! device_memory = "1 GiB"
//! cause."python imports" = "1.5 s"
//!
//! [temperature.disk]                  # starts that were made colder
//! time_to_first = "6 s"
//! ```

use super::{InvalidValue, Limited, Misplaced, Position, read, value};
use crate::run::Temperature;

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The limited quantity.
    pub of: Limited,
    /// The temperature it applies to; `None` for the warmest starts.
    pub temperature: Option<Temperature>,
    /// The largest allowed value, in seconds, bytes, or as a bare number.
    pub most: f64,
    /// The position in the file, if it comes from one.
    pub place: Option<Position>,
}

/// Upper limits on what a program may use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// The minimum number of starts for a verdict.
    pub starts: Option<usize>,
    /// The required exit code of every start; 0 if not set.
    pub exit_code: Option<i32>,
    /// The limits, in the order they were written.
    pub limits: Vec<Limit>,
}

impl Budget {
    /// Parses a budget; the error has a message and a position.
    pub fn read(text: &str) -> Result<Budget, Misplaced> {
        read::budget(text)
    }

    /// Returns true if it requires nothing.
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty() && self.exit_code.is_none()
    }

    /// Overrides limits with those from the command line.
    pub fn override_with(&mut self, flags: Budget) {
        self.starts = flags.starts.or(self.starts);
        self.exit_code = flags.exit_code.or(self.exit_code);
        for limit in flags.limits {
            let same =
                |old: &&mut Limit| (old.of, old.temperature) == (limit.of, limit.temperature);
            match self.limits.iter_mut().find(same) {
                Some(old) => *old = limit,
                None => self.limits.push(limit),
            }
        }
    }
}

/// Parses the limit of a flag.
pub fn limit(of: impl Into<Limited>, text: &str) -> Result<Limit, InvalidValue> {
    let of = of.into();
    Ok(Limit {
        of,
        temperature: None,
        most: value::parse(of.unit(), text)?,
        place: None,
    })
}

#[cfg(test)]
mod tests {
    use preheat_model::Quantity;

    use super::*;
    use crate::run::Cause;

    #[test]
    fn flags_override_limits_of_the_file() {
        let mut budget = Budget::read(
            "starts = 5\ntime_to_first = \"2 s\"\n[temperature.disk]\ntime_to_first = \"6 s\"",
        )
        .unwrap();
        budget.override_with(Budget {
            starts: None,
            exit_code: Some(143),
            limits: vec![
                limit(Quantity::TimeToFirst, "3s").unwrap(),
                limit(Quantity::First, "1s").unwrap(),
            ],
        });
        let limits: Vec<f64> = budget.limits.iter().map(|limit| limit.most).collect();
        assert_eq!(limits, [3.0, 6.0, 1.0]);
        assert_eq!((budget.starts, budget.exit_code), (Some(5), Some(143)));
        assert_eq!(budget.limits[0].place, None);
        assert!(!budget.is_empty() && Budget::default().is_empty());
    }

    #[test]
    fn cause_names_ignore_case() {
        assert_eq!(
            Limited::cause_named("PYTHON imports"),
            Ok(Limited::Cause(Cause::PythonImports))
        );
        let error = Limited::cause_named("pyton import")
            .unwrap_err()
            .to_string();
        assert!(error.contains("did you mean Python imports?"), "{error}");
        assert!(error.contains("program's own CPU time"), "{error}");
    }
}
