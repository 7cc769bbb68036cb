//! Renders what `preheat doctor` found.

use preheat_model::doctor::DoctorReport;
use preheat_model::units::bytes;

use crate::json::document;
use crate::terminal::{Terminal, hanging};

/// Renders the findings as a JSON document, ending with a newline.
pub fn doctor_json(report: &DoctorReport) -> String {
    document(report)
}

/// Renders the findings as text.
pub fn doctor_terminal(found: &DoctorReport, terminal: &Terminal) -> String {
    let width = terminal.width;
    let machine = &found.machine;
    let mut lines = vec![
        format!(
            "preheat {} on {}, Linux {}",
            found.preheat, machine.os, machine.kernel
        ),
        format!(
            "{}, {} cores, {}",
            machine.cpu,
            machine.cores,
            bytes(machine.memory)
        ),
        String::new(),
        "Devices".to_owned(),
    ];
    for device in &found.devices {
        let about = match (&device.device, &device.missing) {
            (Some(device), _) => format!(
                "{} — {}, {}",
                device.name,
                device.driver,
                bytes(device.memory)
            ),
            (None, why) => why.clone().unwrap_or_default(),
        };
        row(
            &mut lines,
            device.device.is_some(),
            &device.kind,
            &about,
            width,
        );
    }
    let nvrtc = &found.nvrtc;
    let about = nvrtc
        .version
        .as_ref()
        .or(nvrtc.missing.as_ref())
        .map_or("", String::as_str);
    row(&mut lines, nvrtc.version.is_some(), "nvrtc", about, width);
    lines.push(format!("  `--device auto` selects {}.", found.auto));
    lines.push(String::new());
    match &found.python {
        Some(python) => {
            lines.push(format!(
                "Frameworks of {} (Python {})",
                python.path, python.version
            ));
            if let Some(bytecode) = &python.bytecode {
                let about = format!(
                    "{} of {} installed modules have it",
                    bytecode.modules - bytecode.missing,
                    bytecode.modules
                );
                row(
                    &mut lines,
                    !bytecode.is_missing(),
                    "bytecode",
                    &about,
                    width,
                );
            }
            for framework in &found.frameworks {
                let missing = || format!("not installed: {}", framework.install);
                let about = framework.version.clone().unwrap_or_else(missing);
                row(
                    &mut lines,
                    framework.version.is_some(),
                    &framework.name,
                    &about,
                    width,
                );
            }
        }
        None => lines.push("No Python: the native experiments need none".to_owned()),
    }
    if !found.advice.is_empty() {
        lines.push(String::new());
        lines.push("Advice".to_owned());
        for advice in &found.advice {
            lines.extend(hanging("  ", advice, width));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn row(lines: &mut Vec<String>, here: bool, name: &str, about: &str, width: usize) {
    let mark = if here { "yes" } else { "no " };
    lines.extend(hanging(&format!("  {mark}  {name:<11} "), about, width));
}
