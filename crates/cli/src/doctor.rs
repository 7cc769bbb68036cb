//! `preheat doctor`: shows devices, drivers and frameworks, and what to install.

use std::process::ExitCode;

use anyhow::Result;
use preheat_device::Kind;
use preheat_host::{interrupt, machine};
use preheat_lab::{BytecodeFound, Framework, find_bytecode, find_python, probe_device};
use preheat_model::Machine;
use preheat_model::lab::MeasuredDevice;
use preheat_model::units::bytes;
use preheat_report::hanging;
use serde::Serialize;

use crate::args::DoctorArguments;
use crate::exit;
use crate::output::{Target, print};
use crate::terminal;

/// The document `preheat.doctor/1`.
#[derive(Serialize)]
struct Doctor {
    schema: &'static str,
    preheat: &'static str,
    machine: Machine,
    devices: Vec<DeviceFinding>,
    /// The device that `--device auto` selects.
    auto: &'static str,
    nvrtc: Finding,
    python: Option<PythonFinding>,
    frameworks: Vec<FrameworkFinding>,
    advice: Vec<String>,
}

#[derive(Serialize)]
struct DeviceFinding {
    kind: &'static str,
    device: Option<MeasuredDevice>,
    is_gpu: bool,
    missing: Option<String>,
}

/// A component: its version, or the reason why it is missing.
#[derive(Serialize)]
struct Finding {
    version: Option<String>,
    missing: Option<String>,
}

#[derive(Serialize)]
struct PythonFinding {
    path: String,
    version: String,
    /// The bytecode of its packages; `None` if unknown.
    bytecode: Option<BytecodeFound>,
}

#[derive(Serialize)]
struct FrameworkFinding {
    name: &'static str,
    version: Option<String>,
    install: &'static str,
}

pub fn run(arguments: &DoctorArguments) -> Result<ExitCode> {
    let json = arguments
        .json
        .as_ref()
        .map(|path| Target::open("--json", path))
        .transpose()?;
    interrupt::install();
    let found = examine(arguments);
    if interrupt::interrupted() {
        return Ok(ExitCode::from(exit::INTERRUPTED));
    }
    let shown = text(&found, terminal::of_stdout().width);
    match json {
        None => print(shown.as_bytes())?,
        Some(target) => {
            let mut document = serde_json::to_string_pretty(&found)?;
            document.push('\n');
            if target.is_stdout() {
                print(document.as_bytes())?;
            } else {
                print(shown.as_bytes())?;
                target.write(document.as_bytes())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn examine(arguments: &DoctorArguments) -> Doctor {
    let devices: Vec<DeviceFinding> = Kind::ALL
        .into_iter()
        .map(|kind| {
            let (device, is_gpu, missing) = match probe_device(kind) {
                Ok(found) => (Some(found.device), found.is_gpu, None),
                Err(why) => (None, false, Some(why)),
            };
            DeviceFinding {
                kind: kind.id(),
                device,
                is_gpu,
                missing,
            }
        })
        .collect();
    let usable =
        |device: &&DeviceFinding| device.is_gpu || device.kind == "cuda" && device.device.is_some();
    let auto = devices
        .iter()
        .find(usable)
        .map_or("cpu", |device| device.kind);
    let nvrtc = match preheat_device::cuda::nvrtc() {
        Ok(version) => Finding {
            version: Some(version),
            missing: None,
        },
        Err(why) => Finding {
            version: None,
            missing: Some(why.to_string()),
        },
    };
    let mut advice = Vec::new();
    let python = match find_python(arguments.python.as_deref()) {
        Ok(python) => Some(python),
        Err(why) => {
            advice.push(why);
            None
        }
    };
    let frameworks = Framework::ALL
        .into_iter()
        .map(|framework| FrameworkFinding {
            name: framework.id(),
            version: python.as_ref().and_then(|python| {
                let (_, version) = python
                    .frameworks
                    .iter()
                    .find(|(known, _)| *known == framework)?;
                Some(version.clone())
            }),
            install: framework.install_hint(),
        })
        .collect();
    let bytecode = python
        .as_ref()
        .and_then(|python| find_bytecode(&python.path).ok());
    advice.extend(bytecode.as_ref().and_then(bytecode_advice));
    advice.extend(pinning_advice());
    Doctor {
        schema: "preheat.doctor/1",
        preheat: env!("CARGO_PKG_VERSION"),
        machine: machine(),
        devices,
        auto,
        nvrtc,
        python: python.map(|python| PythonFinding {
            path: python.path.display().to_string(),
            version: python.version,
            bytecode,
        }),
        frameworks,
        advice,
    }
}

/// Advice for packages without bytecode.
fn bytecode_advice(found: &BytecodeFound) -> Option<String> {
    if !found.is_missing() {
        return None;
    }
    let because = match (found.writes, found.writable) {
        (false, _) => "; PYTHONDONTWRITEBYTECODE keeps Python from writing it",
        (true, false) => "; this user cannot write there",
        (true, true) => "; the first start writes what it imports",
    };
    Some(format!(
        "{} of {} modules in {} have no bytecode, so starts compile what they import{because}. \
         `python -m compileall -q --invalidation-mode checked-hash {2}` compiles them once",
        found.missing, found.modules, found.packages
    ))
}

/// The memory for the largest pinned copy of `lab`.
const LOCKED: u64 = 256 << 20;

/// Advice if the cpu device cannot lock the memory that `transfer` needs.
fn pinning_advice() -> Option<String> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: getrlimit writes one rlimit, to a valid location.
    let answered = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) } == 0;
    let root = preheat_host::user() == 0;
    (answered && !root && limit.rlim_cur < LOCKED).then(|| {
        format!(
            "only {} may be page-locked: pinned copies on the cpu device stop there; raise it with `ulimit -l`",
            bytes(limit.rlim_cur)
        )
    })
}

fn text(found: &Doctor, width: usize) -> String {
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
            device.kind,
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
                    framework.name,
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
