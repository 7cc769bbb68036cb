//! The launcher on its own: records a command and exits with its exit code.
//!
//! `launch-alone OUTPUT [WORD…] -- COMMAND…`, where words are `starts=N`, `lines=REGEX`,
//! `temperature=NAME`, `all-output`, `files=PATH` (evicted before disk-cold starts). Notes
//! go to standard error, prefixed with `preheat: `.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::exit;

use preheat_launch::{Request, record};
use preheat_model::run::{IterationRule, LineRule, Temperature};

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let output = arguments.next().expect("where the recording goes").into();
    let words: Vec<OsString> = arguments.by_ref().take_while(|word| word != "--").collect();
    let words: Vec<&str> = words
        .iter()
        .map(|word| word.to_str().expect("text"))
        .collect();
    let all = |name: &str| -> Vec<&str> {
        let values = words.iter().filter_map(|word| word.strip_prefix(name));
        values.filter_map(|rest| rest.strip_prefix('=')).collect()
    };
    let files: Vec<PathBuf> = all("files").iter().map(PathBuf::from).collect();
    let files_of = |_: &Path| files.clone();
    let request = Request {
        starts: all("starts").first().map(|n| n.parse().expect("a number")),
        temperatures: all("temperature")
            .iter()
            .map(|name| temperature(name))
            .collect(),
        iterations: all("lines").first().map_or(IterationRule::Auto, |regex| {
            IterationRule::Lines(LineRule::parse(regex))
        }),
        output_of_all: words.contains(&"all-output"),
        ..Request::new(arguments.collect(), output, &files_of)
    };
    match record(&request, |_| {}) {
        Ok(recorded) => {
            let manifest = recorded.manifest;
            let early = manifest.settings.ended_early.iter();
            for note in manifest.notes.iter().chain(early) {
                eprintln!("preheat: {note}");
            }
            exit(manifest.starts.first().map_or(125, |start| start.exit_code));
        }
        Err(error) => {
            eprintln!("preheat: {error}");
            exit(error.exit_code().into());
        }
    }
}

fn temperature(name: &str) -> Temperature {
    Temperature::from_name(name).expect("a temperature")
}
