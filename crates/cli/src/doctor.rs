//! `preheat doctor`: shows devices, drivers and frameworks, and what to install.

use std::process::ExitCode;

use anyhow::Result;
use preheat_device::Kind;
use preheat_host::{interrupt, machine};
use preheat_lab::{Framework, find_bytecode, find_python, probe_device};
use preheat_model::doctor::{
    BytecodeFound, DOCTOR_SCHEMA, DeviceFinding, DoctorReport, Finding, FrameworkFinding,
    PythonFinding,
};
use preheat_model::units::bytes;
use preheat_report::{doctor_json, doctor_terminal};

use crate::args::DoctorArguments;
use crate::exit;
use crate::output::{Target, print, stdout_terminal};

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
    let shown = doctor_terminal(&found, &stdout_terminal());
    match json {
        None => print(shown.as_bytes())?,
        Some(target) => {
            let document = doctor_json(&found);
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

fn examine(arguments: &DoctorArguments) -> DoctorReport {
    let devices: Vec<DeviceFinding> = Kind::ALL
        .into_iter()
        .map(|kind| {
            let (device, is_gpu, missing) = match probe_device(kind) {
                Ok(found) => (Some(found.device), found.is_gpu, None),
                Err(why) => (None, false, Some(why)),
            };
            DeviceFinding {
                kind: kind.id().to_owned(),
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
        .map_or_else(|| "cpu".to_owned(), |device| device.kind.clone());
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
            name: framework.id().to_owned(),
            version: python.as_ref().and_then(|python| {
                let (_, version) = python
                    .frameworks
                    .iter()
                    .find(|(known, _)| *known == framework)?;
                Some(version.clone())
            }),
            install: framework.install_hint().to_owned(),
        })
        .collect();
    let bytecode = python
        .as_ref()
        .and_then(|python| find_bytecode(&python.path).ok());
    advice.extend(bytecode.as_ref().and_then(bytecode_advice));
    advice.extend(pinning_advice());
    DoctorReport {
        schema: DOCTOR_SCHEMA.to_owned(),
        preheat: env!("CARGO_PKG_VERSION").to_owned(),
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
    let limit = preheat_host::lock_limit().filter(|&limit| limit < LOCKED)?;
    let root = preheat_host::user() == 0;
    (!root).then(|| {
        format!(
            "only {} may be page-locked: pinned copies on the cpu device stop there; raise it with `ulimit -l`",
            bytes(limit)
        )
    })
}
