//! Reads the sampled stacks of a start.

use std::io::Read;
use std::path::Path;

use preheat_model::run::{STACKS_SCHEMA, Stacks};

use crate::start::{Unusable, open};

/// A longer file is not one that preheat wrote.
const LONGEST: u64 = 64 << 20;

/// Reads a file. Times become times since `exec`. The error is what is wrong with it.
pub(crate) fn read(path: &Path, exec: u64) -> Result<Stacks, String> {
    parse(&json(path)?, exec)
}

/// The content of a document beside the process files.
pub(crate) fn json(path: &Path) -> Result<Vec<u8>, String> {
    let file = open(path).map_err(|problem| match problem {
        Unusable::Kind(sentence) => sentence.to_owned(),
        Unusable::Error(error) => error.to_string(),
    })?;
    let mut bytes = Vec::new();
    file.take(LONGEST)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
    Ok(bytes)
}

fn parse(bytes: &[u8], exec: u64) -> Result<Stacks, String> {
    let mut stacks: Stacks =
        serde_json::from_slice(bytes).map_err(|error| format!("is damaged: {error}"))?;
    if stacks.schema != STACKS_SCHEMA {
        return Err(format!(
            "has the schema {:?}; this version reads {STACKS_SCHEMA}",
            stacks.schema
        ));
    }
    if !stacks.is_valid() {
        return Err("is damaged: a sample or a caller does not exist".to_owned());
    }
    for sample in &mut stacks.samples {
        sample.time = sample.time.saturating_sub(exec);
    }
    stacks.samples.sort_by_key(|sample| sample.time);
    Ok(stacks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_are_refused_with_the_reason() {
        let good = r#"{"schema":"preheat.stacks/1",
            "frames":[{"function":"f","file":"a.py","line":3,"library":""}],
            "nodes":[[null,0]],"samples":[[120,7,7,0],[110,7,7,0]]}"#;
        let stacks = parse(good.as_bytes(), 100).expect("a good file");
        let times: Vec<u64> = stacks.samples.iter().map(|sample| sample.time).collect();
        assert_eq!(times, [10, 20]);
        for (bad, why) in [
            (good.replace("stacks/1", "stacks/2"), "has the schema"),
            (good.replace("[[null,0]]", "[[0,0]]"), "does not exist"),
            (good.replace("7,7,0]]", "7,7,9]]"), "does not exist"),
            (good[..good.len() - 1].to_owned(), "is damaged"),
            (good.replace("[120,7,7,0]", "[-1,7,7,0]"), "is damaged"),
        ] {
            let problem = parse(bad.as_bytes(), 100).expect_err("a bad file");
            assert!(problem.contains(why), "{problem}");
        }
    }
}
