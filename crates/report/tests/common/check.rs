//! Made-up checks of the made-up run.

use preheat_analyze::check::{Budget, check};
use preheat_model::check::{CheckReport, CheckSettings};
use preheat_model::run::RunReport;

use super::run;

/// A budget with limits that are met, limits that are not, and one that is inconclusive.
pub const BUDGET: &str = r#"
time_to_first = "2 s"
first = "700 ms"
first_ratio = 50
warmup = 3
device_memory = "1 GiB"
host_memory = "4 GiB"
cause."python imports" = "6.9 s"
cause."program's own CPU time" = "500 ms"
cause."kernel compilation" = "1 s"
"#;

/// The training, with starts that vary realistically.
pub fn training() -> RunReport {
    let mut report = run::report();
    for (at, start) in report.starts.iter_mut().enumerate() {
        let factor = [1.0, 0.98, 1.01, 1.03, 0.99][at % 5];
        start.time_to_first = start.time_to_first.map(|time| time * factor);
        for part in &mut start.causes {
            part.seconds *= factor;
        }
    }
    report
}

/// The training against that budget.
pub fn failed() -> CheckReport {
    named(&training(), BUDGET, CheckSettings::default())
}

/// A budget that is met.
pub fn passed() -> CheckReport {
    let budget = "time_to_first = \"12 s\"\nfirst = \"700 ms\"\ndevice_memory = \"1 GiB\"";
    named(&training(), budget, CheckSettings::default())
}

/// Limits on quantities that were not measured, an inconclusive one, and colder starts.
pub fn doubtful() -> CheckReport {
    let mut report = training();
    for start in &mut report.starts {
        start.peak_device = None;
    }
    report.memory.device = None;
    report.settings.ended_early = Some("interrupted after 5 of 9 starts".to_owned());
    let budget = "time_to_first = \"8.9 s\"\ndevice_memory = \"1 GiB\"\n[temperature.disk]\ntime_to_first = \"20 s\"";
    let settings = CheckSettings {
        allow_missing: true,
        fail_on_inconclusive: false,
    };
    named(&report, budget, settings)
}

/// Names that try to inject markup, and starts that failed.
pub fn hostile() -> CheckReport {
    let bad = "<b a=\"x\" c='y'>]]>&|`*\u{1b}[31m\n::error::x,%0A@me";
    let mut report = run::hostile();
    for (at, start) in report.starts.iter_mut().enumerate() {
        start.exit_code = if at % 2 == 0 { 139 } else { 1 };
    }
    let mut found = named(&report, BUDGET, CheckSettings::default());
    found.name = bad.to_owned();
    found.recording = bad.to_owned();
    found.budget = Some(bad.to_owned());
    found.created = bad.to_owned();
    found.preheat = bad.to_owned();
    found.notes.push(bad.to_owned());
    found
}

/// All of them.
pub fn all() -> Vec<CheckReport> {
    let mut strict = doubtful();
    strict.settings.fail_on_inconclusive = true;
    vec![failed(), passed(), doubtful(), strict, hostile()]
}

fn named(report: &RunReport, budget: &str, settings: CheckSettings) -> CheckReport {
    let budget = Budget::read(budget).expect("it is a budget");
    let mut found = check(report, &budget, settings).expect("there are enough starts");
    "0.1.0".clone_into(&mut found.preheat);
    "train".clone_into(&mut found.name);
    "preheat-train".clone_into(&mut found.recording);
    found.budget = Some("preheat.toml".to_owned());
    found
}
