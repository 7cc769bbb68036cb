//! From a report back to what was measured: a kept report can be analysed again,
//! with newer statistics or on another machine.

use super::{LabReport, Measured, Outcome, Sample, Start, Subject, Unit};

impl Measured {
    /// What the report was made from, as far as it is kept: which starts a series of
    /// a failed start belonged to is not, so they are taken in their order.
    pub fn from_report(report: &LabReport) -> Measured {
        let mut units: Vec<Unit> = Vec::new();
        for experiment in &report.experiments {
            let subject = Subject {
                device: experiment.device.clone(),
                framework: experiment.framework.clone(),
            };
            for series in &experiment.series {
                let same = |unit: &Unit| {
                    unit.experiment == experiment.id
                        && unit.subject == subject
                        && unit.variant == series.variant
                };
                let place = units.iter().position(same).unwrap_or_else(|| {
                    units.push(Unit {
                        experiment: experiment.id,
                        subject: subject.clone(),
                        variant: series.variant.clone(),
                        starts: Vec::new(),
                    });
                    units.len() - 1
                });
                for (index, values) in series.iterations.iter().enumerate() {
                    let starts = &mut units[place].starts;
                    if starts.len() == index {
                        starts.push(Start {
                            outcome: Outcome::Completed,
                            samples: Vec::new(),
                            skipped: Vec::new(),
                        });
                    }
                    starts[index].samples.push(Sample {
                        name: series.name.clone(),
                        kind: series.kind,
                        size: series.size,
                        values: values.clone(),
                    });
                }
            }
        }
        Measured {
            command: report.command.clone(),
            created: report.created.clone(),
            settings: report.settings.clone(),
            machine: report.machine.clone(),
            devices: std::iter::once(&report.device)
                .chain(&report.other_devices)
                .cloned()
                .collect(),
            frameworks: report.frameworks.clone(),
            units,
        }
    }
}
