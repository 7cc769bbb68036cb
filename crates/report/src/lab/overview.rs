//! Selects the series that represent an experiment where there is no space for all.
//!
//! A sweep is shown at 4 MiB, the usual size, and for some series also at the largest size.
//! Stages are shown if they are the experiment (init, launch), and once per framework: its
//! import is the same in every experiment. Memory and counts have separate sections.

use preheat_model::lab::{Experiment, ExperimentId, LabReport, SampleKind, Series, names};

use crate::lab;

/// The size at which a sweep is shown.
pub(crate) const USUAL_SIZE: u64 = 4 << 20;

/// The series of one subject.
pub(crate) struct Subject<'a> {
    pub title: String,
    pub label: String,
    pub groups: Vec<Group<'a>>,
}

/// A group of rows: a family of experiments, or one variant of launch.
pub(crate) struct Group<'a> {
    pub name: &'static str,
    /// Not empty if the group is one variant of its experiment.
    pub variant: &'a str,
    pub rows: Vec<Row<'a>>,
}

impl Group<'_> {
    /// The name with the variant.
    pub fn title(&self) -> String {
        if self.variant.is_empty() {
            self.name.to_owned()
        } else {
            format!("{}, {}", self.name, self.variant)
        }
    }
}

/// One series with its label within the group.
pub(crate) struct Row<'a> {
    pub label: String,
    pub experiment: &'a Experiment,
    pub series: &'a Series,
}

impl Row<'_> {
    /// Returns true if it happens once per start, and so has no steady state.
    pub fn once(&self) -> bool {
        self.series.kind == SampleKind::Stage
    }
}

/// The number of starts per series: `10 starts of each`, `4 to 10 starts of each`.
pub(crate) fn starts_of_each(report: &LabReport) -> String {
    let counts = || {
        let series = report.experiments.iter().flat_map(|e| &e.series);
        series.map(|series| series.iterations.len())
    };
    match (counts().min(), counts().max()) {
        (Some(1), Some(1)) => "1 start of each".to_owned(),
        (Some(fewest), Some(most)) if fewest == most => format!("{most} starts of each"),
        (Some(fewest), Some(most)) => format!("{fewest} to {most} starts of each"),
        _ => "no starts".to_owned(),
    }
}

/// The experiments grouped by subject: the requested device first, and each device natively
/// before its frameworks.
pub(crate) fn by_subject(report: &LabReport) -> Vec<Vec<&Experiment>> {
    let rank = |experiment: &Experiment| {
        let device = std::iter::once(&report.device)
            .chain(&report.other_devices)
            .position(|device| device.kind == experiment.device);
        let framework = experiment.framework.as_ref().map(|name| {
            report
                .frameworks
                .iter()
                .position(|known| known.name == *name)
                .unwrap_or(usize::MAX)
        });
        (
            device.unwrap_or(usize::MAX),
            framework,
            experiment.subject(),
            experiment.id,
        )
    };
    let mut all: Vec<&Experiment> = report.experiments.iter().collect();
    all.sort_by_key(|experiment| rank(experiment));
    let mut subjects: Vec<Vec<&Experiment>> = Vec::new();
    for experiment in all {
        match subjects.last_mut() {
            Some(last) if last[0].subject() == experiment.subject() => last.push(experiment),
            _ => subjects.push(vec![experiment]),
        }
    }
    subjects
}

/// The series to show, grouped by subject.
pub(crate) fn overview(report: &LabReport) -> Vec<Subject<'_>> {
    by_subject(report)
        .into_iter()
        .map(|experiments| Subject {
            title: lab::subject_title(report, experiments[0]),
            label: experiments[0].subject(),
            groups: groups(&experiments),
        })
        .filter(|subject| !subject.groups.is_empty())
        .collect()
}

fn groups<'a>(experiments: &[&'a Experiment]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for &experiment in experiments {
        for series in &experiment.series {
            let Some(name) = group_of(experiment, series, &mut seen) else {
                continue;
            };
            let row = Row {
                label: lab::series(experiment, series),
                experiment,
                series,
            };
            let variant = match experiment.id {
                ExperimentId::Launch => series.variant.as_str(),
                _ => "",
            };
            match groups
                .iter_mut()
                .find(|group| group.name == name && group.variant == variant)
            {
                Some(group) => group.rows.push(row),
                None => groups.push(Group {
                    name,
                    variant,
                    rows: vec![row],
                }),
            }
        }
    }
    // The start of a framework comes first.
    groups.sort_by_key(|group| group.name != START);
    groups
}

/// The group of the stages that a framework runs once, before any experiment.
const START: &str = "start";

/// The group in which a series is shown, if any. `seen` collects the stages that are shown
/// already and are the same in every experiment.
fn group_of<'a>(
    experiment: &Experiment,
    series: &'a Series,
    seen: &mut Vec<&'a str>,
) -> Option<&'static str> {
    let family = lab::family(experiment.id);
    match series.kind {
        SampleKind::Memory | SampleKind::Count => None,
        SampleKind::Stage => match experiment.id {
            ExperimentId::Init => {
                seen.push(&series.name);
                Some(family)
            }
            // The first launch is shown as the first of a series, and device setup as init.
            ExperimentId::Launch => {
                let elsewhere = seen.contains(&series.name.as_str());
                (!elsewhere && series.name != names::FIRST_LAUNCH).then_some(family)
            }
            // It is the same in every variant.
            ExperimentId::Prealloc if series.name == names::BIG_BLOCK => {
                let shown = seen.contains(&series.name.as_str());
                seen.push(&series.name);
                (!shown).then_some(family)
            }
            _ if experiment.framework.is_none() || is_part_of_first(&series.name) => None,
            _ if seen.contains(&series.name.as_str()) => None,
            _ => {
                seen.push(&series.name);
                Some(START)
            }
        },
        SampleKind::Iterations if series.size.is_some() => {
            shown_of_sweep(experiment, series).then_some(family)
        }
        // The cost of a compiled launch does not depend on the cache.
        SampleKind::Iterations if experiment.id == ExperimentId::Launch => {
            let first = experiment
                .series
                .iter()
                .find(|other| other.name == series.name);
            let repeats = first.is_some_and(|first| first.variant != series.variant);
            (!repeats || series.name == names::LAUNCH_FROM_SOURCE).then_some(family)
        }
        SampleKind::Iterations => (series.name != names::COMPUTE).then_some(family),
    }
}

/// Returns true for stages of the first inference, which has a separate chart.
pub(crate) fn is_part_of_first(name: &str) -> bool {
    [
        names::FIRST_KERNELS,
        names::FIRST_ALLOCATE,
        names::FIRST_COPY,
        names::FIRST_COMPUTE,
        names::FIRST_INITIALIZE,
        names::FIRST_BUILD,
        names::FIRST_MOVE,
        names::FIRST_FORWARD,
        names::FIRST_TRACE,
    ]
    .contains(&name)
}

/// Returns true if this size of a sweep is shown.
fn shown_of_sweep(experiment: &Experiment, series: &Series) -> bool {
    let sizes = || {
        experiment
            .series
            .iter()
            .filter(|other| other.name == series.name)
            .filter_map(|other| other.size)
    };
    let distance = |size: u64| (size.max(1) as f64 / USUAL_SIZE as f64).ln().abs();
    let usual = sizes().min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
    let largest = sizes().max();
    let measured_separately = series.name == names::ALLOCATE
        && experiment
            .series
            .iter()
            .any(|other| other.name == names::CONTEXT_READY);
    let largest_helps =
        [names::ALLOCATE, names::H2D_PINNED, names::D2D].contains(&series.name.as_str());
    (series.size == usual && !measured_separately) || (series.size == largest && largest_helps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn labels_of(subject: &Subject, name: &str) -> Vec<String> {
        let groups = subject.groups.iter().filter(|group| group.name == name);
        groups
            .flat_map(|group| group.rows.iter().map(|row| row.label.clone()))
            .collect()
    }

    #[test]
    fn the_requested_device_comes_first() {
        let mut report = fixture::report();
        report.experiments.reverse();
        let labels: Vec<String> = overview(&report).into_iter().map(|s| s.label).collect();
        assert_eq!(labels, ["cuda", "torch on cuda", "cpu", "torch on cpu"]);
    }

    #[test]
    fn a_sweep_has_one_or_two_rows() {
        let report = fixture::report();
        let subjects = overview(&report);
        let alloc = labels_of(&subjects[0], "alloc");
        assert!(alloc.contains(&"context ready".to_owned()));
        assert_eq!(alloc.last().unwrap(), "1 GiB");
        assert!(
            !alloc.contains(&"4 MiB".to_owned()),
            "already measured separately"
        );
        let transfer = labels_of(&subjects[0], "transfer");
        assert_eq!(
            transfer
                .iter()
                .filter(|label| label.contains("h2d pinned"))
                .count(),
            2
        );
        assert_eq!(
            transfer
                .iter()
                .filter(|label| label.contains("d2h pageable"))
                .count(),
            1
        );
    }

    #[test]
    fn the_start_of_a_framework_is_shown_once() {
        let report = fixture::report();
        let subjects = overview(&report);
        let torch = &subjects[1];
        assert_eq!(torch.groups[0].name, START);
        assert_eq!(
            labels_of(torch, START),
            [
                "import",
                "initialize device",
                "build the model",
                "build the optimizer"
            ]
        );
        assert_eq!(
            labels_of(torch, "train"),
            [
                "iteration",
                "initialized",
                "no optimizer",
                "forward only",
                "forward, recording",
                "forward, plain"
            ]
        );
    }

    #[test]
    fn labels_are_short() {
        let report = fixture::report();
        let subjects = overview(&report);
        let rows = subjects
            .iter()
            .flat_map(|subject| &subject.groups)
            .flat_map(|g| &g.rows);
        for row in rows {
            assert!(row.label.chars().count() <= 19, "{}", row.label);
        }
    }

    #[test]
    fn each_variant_of_launch_is_a_group() {
        let report = fixture::report();
        let subjects = overview(&report);
        let variants: Vec<&str> = subjects[0]
            .groups
            .iter()
            .filter(|g| g.name == "launch")
            .map(|g| g.variant)
            .collect();
        assert_eq!(variants, [names::CACHE_EMPTY, names::CACHE_FILLED]);
    }
}
