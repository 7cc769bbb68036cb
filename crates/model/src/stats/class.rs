//! The classes of series.
//!
//! After Barrett et al. 2017, "Virtual machine warmup blows hot and cold", whose classes
//! are flat, warmup, slowdown and no steady state. `cold-first` is added: a single slow
//! iteration at the beginning, which most GPU programs show and which a classifier that
//! needs two iterations to detect a change cannot see.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The shape of a series of iteration times, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Class {
    /// As fast from the first iteration on as ever after.
    #[serde(rename = "flat")]
    Flat,
    /// Only the first iteration is slower.
    #[serde(rename = "cold-first")]
    ColdFirst,
    /// Several iterations are slower before the series settles.
    #[serde(rename = "warmup")]
    Warmup,
    /// The series settles at a lower speed than it had before.
    #[serde(rename = "slowdown")]
    Slowdown,
    /// The series does not settle, or is too short.
    #[serde(rename = "no steady state")]
    NoSteadyState,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 5] = [
        Class::Flat,
        Class::ColdFirst,
        Class::Warmup,
        Class::Slowdown,
        Class::NoSteadyState,
    ];

    /// The name in output and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Flat => "flat",
            Class::ColdFirst => "cold-first",
            Class::Warmup => "warmup",
            Class::Slowdown => "slowdown",
            Class::NoSteadyState => "no steady state",
        }
    }

    /// The class of several starts: the most frequent one; of equally frequent ones the
    /// worst. `None` without starts.
    pub fn overall(classes: &[Class]) -> Option<Class> {
        let count = |class: Class| classes.iter().filter(|c| **c == class).count();
        let most_frequent = Class::ALL.into_iter().max_by_key(|c| (count(*c), *c));
        most_frequent.filter(|_| !classes.is_empty())
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The agreement of a series' starts on its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Consistency {
    /// All starts have the same class.
    #[serde(rename = "consistent")]
    Consistent,
    /// They differ, but all of them settle at their best speed.
    #[serde(rename = "good inconsistent")]
    GoodInconsistent,
    /// They differ, and some slow down or do not settle.
    #[serde(rename = "bad inconsistent")]
    BadInconsistent,
}

impl Consistency {
    /// The name in output and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Consistency::Consistent => "consistent",
            Consistency::GoodInconsistent => "good inconsistent",
            Consistency::BadInconsistent => "bad inconsistent",
        }
    }

    /// The consistency of starts with these classes.
    pub fn of(classes: &[Class]) -> Consistency {
        if classes.windows(2).all(|pair| pair[0] == pair[1]) {
            Consistency::Consistent
        } else if classes.iter().all(|class| *class <= Class::Warmup) {
            Consistency::GoodInconsistent
        } else {
            Consistency::BadInconsistent
        }
    }
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Class::{ColdFirst, Flat, NoSteadyState, Slowdown, Warmup};
    use super::*;

    #[test]
    fn json_names_match_the_output() {
        for class in Class::ALL {
            let json = serde_json::to_string(&class).unwrap();
            assert_eq!(json, format!("\"{class}\""));
            assert_eq!(serde_json::from_str::<Class>(&json).unwrap(), class);
        }
        for consistency in [
            Consistency::Consistent,
            Consistency::GoodInconsistent,
            Consistency::BadInconsistent,
        ] {
            let json = serde_json::to_string(&consistency).unwrap();
            assert_eq!(json, format!("\"{consistency}\""));
            let back: Consistency = serde_json::from_str(&json).unwrap();
            assert_eq!(back, consistency);
        }
    }

    #[test]
    fn the_most_frequent_class_wins_and_ties_go_to_the_worse() {
        assert_eq!(Class::overall(&[]), None);
        assert_eq!(Class::overall(&[Flat]), Some(Flat));
        assert_eq!(Class::overall(&[Warmup, Flat, Flat]), Some(Flat));
        assert_eq!(
            Class::overall(&[ColdFirst, Warmup, ColdFirst, Warmup]),
            Some(Warmup)
        );
        let tie = [NoSteadyState, Flat];
        assert_eq!(Class::overall(&tie), Some(NoSteadyState));
    }

    #[test]
    fn disagreement_is_good_if_all_starts_settle_at_their_best() {
        assert_eq!(Consistency::of(&[]), Consistency::Consistent);
        assert_eq!(Consistency::of(&[Slowdown; 3]), Consistency::Consistent);
        let good = [Flat, ColdFirst, Warmup];
        assert_eq!(Consistency::of(&good), Consistency::GoodInconsistent);
        for bad in [Slowdown, NoSteadyState] {
            let classes = [Flat, bad, Flat];
            assert_eq!(Consistency::of(&classes), Consistency::BadInconsistent);
        }
    }
}
