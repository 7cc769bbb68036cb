//! Lists what is missing from a report and what differs in the first start. Equal reasons
//! are merged: twenty starts that failed in the same way are one line.

use preheat_model::lab::LabReport;

use crate::lab::overview::Subject;
use crate::units::{duration, ratio};

/// The minimum ratio of the first start to later ones that is worth a note.
const FIRST_START_DIFFERS: f64 = 1.5;

/// Something that could not be measured, and the subjects it affects.
pub(crate) struct Gap {
    /// The omitted measurements, or the number of failed starts.
    pub what: String,
    /// The reason or the failure.
    pub why: String,
    /// The affected subjects.
    pub subjects: Vec<String>,
}

/// The skipped measurements, grouped by reason.
pub(crate) fn skipped(report: &LabReport) -> Vec<Gap> {
    let mut found: Vec<(Vec<&str>, &str, Vec<String>)> = Vec::new();
    for experiment in &report.experiments {
        for skipped in &experiment.skipped {
            let at = match found.iter().position(|(_, why, _)| *why == skipped.why) {
                Some(at) => at,
                None => {
                    found.push((Vec::new(), &skipped.why, Vec::new()));
                    found.len() - 1
                }
            };
            let (whats, _, subjects) = &mut found[at];
            if !whats.contains(&skipped.what.as_str()) {
                whats.push(&skipped.what);
            }
            if !subjects.contains(&experiment.subject()) {
                subjects.push(experiment.subject());
            }
        }
    }
    let gap = |(whats, why, subjects): (Vec<&str>, &str, Vec<String>)| Gap {
        what: whats.join(", "),
        why: why.to_owned(),
        subjects,
    };
    found.into_iter().map(gap).collect()
}

/// The failed starts, grouped by failure.
pub(crate) fn failures(report: &LabReport) -> Vec<Gap> {
    let mut found: Vec<(usize, &str, Vec<String>)> = Vec::new();
    for experiment in &report.experiments {
        for failure in &experiment.failures {
            let mut place = format!("{} on {}", experiment.id.id(), experiment.subject());
            if let Some(framework) = &experiment.framework {
                place = format!(
                    "{} in {framework} on {}",
                    experiment.id.id(),
                    experiment.device
                );
            }
            if !failure.variant.is_empty() {
                place.push_str(&format!(", {}", failure.variant));
            }
            match found.iter_mut().find(|(_, what, _)| *what == failure.what) {
                Some((count, _, places)) => {
                    *count += 1;
                    if !places.contains(&place) {
                        places.push(place);
                    }
                }
                None => found.push((1, &failure.what, vec![place])),
            }
        }
    }
    let gap = |(count, what, subjects): (usize, &str, Vec<String>)| Gap {
        what: if count == 1 {
            "1 start failed".to_owned()
        } else {
            format!("{count} starts failed")
        },
        why: what.to_owned(),
        subjects,
    };
    found.into_iter().map(gap).collect()
}

/// The series whose first start is slower than later ones, largest ratio first: the name of
/// the series, and a sentence with the numbers.
pub(crate) fn first_starts(subjects: &[Subject]) -> Vec<(String, String)> {
    let mut found: Vec<(f64, String, String)> = Vec::new();
    for subject in subjects {
        let rows = subject
            .groups
            .iter()
            .flat_map(|group| group.rows.iter().map(move |row| (group, row)));
        for (group, row) in rows {
            let Some(start) = row.series.first_start else {
                continue;
            };
            let factor = start.first / row.series.first;
            // A faster first start is noise: nothing was cold.
            if factor.is_finite() && factor > FIRST_START_DIFFERS {
                found.push((
                    factor,
                    format!("{}, {} · {}", subject.label, group.title(), row.label),
                    format!(
                        "{} in the first start, {} in later ones ({})",
                        duration(start.first),
                        duration(row.series.first),
                        ratio(factor)
                    ),
                ));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found
        .into_iter()
        .map(|(_, what, sentence)| (what, sentence))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::lab::overview::overview;

    #[test]
    fn merges_equal_reasons() {
        let report = fixture::report();
        let gaps = skipped(&report);
        assert_eq!(gaps.len(), 2);
        assert_eq!(gaps[0].subjects, ["cuda"]);
        assert_eq!(gaps[1].subjects, ["cpu", "torch on cpu"]);
        assert_eq!(gaps[1].what, "device memory, pinned transfers");
    }

    #[test]
    fn counts_failures() {
        let report = fixture::report();
        let gaps = failures(&report);
        assert_eq!(gaps.len(), 1);
        assert_eq!(gaps[0].what, "2 starts failed");
        assert_eq!(gaps[0].subjects, ["infer in torch on cuda, conv"]);
    }

    #[test]
    fn notes_only_first_starts_that_differ() {
        let report = fixture::report();
        let subjects = overview(&report);
        let notes = first_starts(&subjects);
        assert!(!notes.is_empty());
        let (what, sentence) = &notes[0];
        assert!(
            what.contains("import") || what.contains("load driver library"),
            "{what}"
        );
        assert!(sentence.contains("in the first start"));
    }
}
