//! The profile of a run, imported by speedscope itself in headless Chromium.
//!
//! `./test` installs speedscope from npm beside the Python packages, in the directory that
//! `PREHEAT_TEST_VENV` names.

#[path = "common/chromium.rs"]
mod chromium;
mod common;

use std::path::{Path, PathBuf};

use chromium::{Folder, chromium, missing, open};
use preheat_model::run::{Cause, PathPart, StartAnalysis};
use preheat_report::run_speedscope;

/// The page of speedscope; none if it is not installed.
fn speedscope() -> Option<PathBuf> {
    let venv = std::env::var_os("PREHEAT_TEST_VENV").unwrap_or_default();
    let page = Path::new(&venv).join("speedscope/node_modules/speedscope/dist/release/index.html");
    if !page.exists() {
        missing::missing(
            "speedscope",
            "PREHEAT_TEST_VENV does not contain speedscope",
        );
        return None;
    }
    Some(page)
}

/// The text of the page after speedscope has imported `profile`; none if it cannot run here.
fn imported(name: &str, profile: &str) -> Option<String> {
    let (browser, page) = (chromium()?, speedscope()?);
    let folder = Folder::new(name);
    // The way in which the speedscope command passes a file to the page.
    let script = folder.0.join("profile.js");
    let call = format!(
        "speedscope.loadFileFromBase64('profile', btoa(unescape(encodeURIComponent(\
         JSON.stringify({profile})))));"
    );
    std::fs::write(&script, call).unwrap();
    let address = format!("{}#localProfilePath={}", page.display(), script.display());
    let (dom, _) = open(&browser, &folder.0, Path::new(&address), false);
    Some(dom)
}

fn profile() -> String {
    let part = |begin, end, cause, item| PathPart {
        begin,
        end,
        cause,
        item,
    };
    let analysis = StartAnalysis {
        path: vec![
            part(0, 50_000, Cause::ProcessStart, 99),
            part(50_000, 160_000, Cause::PythonImports, 0),
            part(160_000, 450_000, Cause::DriverInit, 1),
        ],
        names: vec!["torch".to_owned(), "cuInit".to_owned()],
        ..StartAnalysis::default()
    };
    run_speedscope(&common::run::recording::recording(), &[analysis], 0)
}

#[test]
fn speedscope_imports_each_profile() {
    let profile = profile();
    let written: serde_json::Value = serde_json::from_str(&profile).unwrap();
    let Some(dom) = imported("speedscope", &profile) else {
        return;
    };
    let title = format!("{} - speedscope</title>", written["name"].as_str().unwrap());
    assert!(dom.contains(&title), "{title} is not in {dom:.3000}");
    let profiles = written["profiles"].as_array().unwrap();
    assert!(profiles.len() > 1);
    for profile in profiles {
        let name = profile["name"].as_str().unwrap();
        assert!(dom.contains(name), "{name} is not in {dom}");
    }
}

#[test]
fn speedscope_refuses_frames_that_do_not_nest() {
    let mut profile: serde_json::Value = serde_json::from_str(&profile()).unwrap();
    let events = profile["profiles"][0]["events"].as_array_mut().unwrap();
    events.swap(0, 1);
    let Some(dom) = imported("speedscope-broken", &profile.to_string()) else {
        return;
    };
    assert!(!dom.contains("- speedscope</title>"), "{dom:.3000}");
}
