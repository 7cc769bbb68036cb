//! A budget: what a program may take at most.
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

use super::near::did_you_mean;
use super::value::{self, quoted};
use super::{Misplaced, Place, Quantity, read};
use crate::run::{Cause, Temperature};

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Of what.
    pub of: Quantity,
    /// For the starts of which temperature; the warmest that there are, if none is named.
    pub temperature: Option<Temperature>,
    /// Seconds, bytes, or a bare number: this is still allowed.
    pub most: f64,
    /// Where it stands, if it is from a file.
    pub place: Option<Place>,
}

/// What a program may take at most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// The fewest starts that are enough to judge.
    pub starts: Option<usize>,
    /// How every start must end, where that is said; else with 0.
    pub exit_code: Option<i32>,
    /// The limits, in the order in which they were written.
    pub limits: Vec<Limit>,
}

impl Budget {
    /// Reads a budget; else says what is wrong, and where.
    pub fn read(text: &str) -> Result<Budget, Misplaced> {
        read::budget(text)
    }

    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty() && self.exit_code.is_none()
    }

    /// Takes over what `flags` say; where both have a limit, theirs holds.
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

/// A limit of `of` as a flag gives it; else a sentence.
pub fn limit(of: Quantity, text: &str) -> Result<Limit, String> {
    Ok(Limit {
        of,
        temperature: None,
        most: value::parse(of.unit(), text)?,
        place: None,
    })
}

impl Quantity {
    /// The cause of that name, in whatever case; else a sentence that lists them.
    pub fn cause(name: &str) -> Result<Quantity, String> {
        let names = Cause::ALL.map(Cause::as_str);
        let found = Cause::ALL
            .into_iter()
            .find(|cause| cause.as_str().eq_ignore_ascii_case(name.trim()));
        found.map(Quantity::Cause).ok_or_else(|| {
            format!(
                "there is no cause {}{}; there are {}",
                quoted(name),
                did_you_mean(name, names),
                names.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_hold_where_both_have_a_limit() {
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
    fn causes_have_names_in_any_case() {
        assert_eq!(
            Quantity::cause("PYTHON imports"),
            Ok(Quantity::Cause(Cause::PythonImports))
        );
        let said = Quantity::cause("pyton import").unwrap_err();
        assert!(said.contains("did you mean Python imports?"), "{said}");
        assert!(said.contains("program's own CPU time"), "{said}");
    }
}
