//! Test support: process files, recordings and their directories.

#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

use preheat_model::Machine;
use preheat_model::run::{
    IterationRule, Manifest, RECORDING_SCHEMA, RunSettings, StartInfo, Temperature,
};

pub mod writer;

/// The time of `exec` in the recordings of these tests.
pub const EXEC: u64 = 1_000_000;

/// An empty directory that only this test uses.
pub fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("the directory can be created");
    path
}

/// A start of process 100 that took `duration`.
pub fn start(directory: &str, duration: u64) -> StartInfo {
    StartInfo {
        directory: directory.to_owned(),
        temperature: Temperature::Process,
        exec: EXEC,
        end: EXEC + duration,
        pid: 100,
        exit_code: 0,
        peak_resident: 1 << 20,
        evicted: None,
        unrecorded: None,
    }
}

/// A manifest with these starts.
pub fn manifest(starts: Vec<StartInfo>) -> Manifest {
    Manifest {
        schema: RECORDING_SCHEMA.to_owned(),
        preheat: "0.1.0".to_owned(),
        created: "2026-01-01T00:00:00Z".to_owned(),
        command: vec!["python".to_owned(), "train.py".to_owned()],
        directory: "/home/user".to_owned(),
        machine: Machine {
            os: "Linux".to_owned(),
            kernel: "6.1".to_owned(),
            cpu: "a processor".to_owned(),
            cores: 2,
            memory: 8 << 30,
        },
        settings: RunSettings {
            iterations: IterationRule::Auto,
            starts: starts.len(),
            seed: 1,
            limit: 256 << 20,
            synchronize: false,
            ended_early: None,
            ended_with: None,
        },
        environment: Vec::new(),
        starts,
        timers: Default::default(),
        started_plainly: None,
        optional_imports: Vec::new(),
        shared_imports: Vec::new(),
        notes: Vec::new(),
    }
}

/// Writes the manifest of a recording.
pub fn save(directory: &Path, manifest: &Manifest) {
    let text = serde_json::to_string_pretty(manifest).expect("a manifest is JSON");
    fs::write(directory.join("recording.json"), text).expect("the file can be written");
}
