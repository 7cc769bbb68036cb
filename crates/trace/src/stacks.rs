//! Reads the sampled stacks of a start.

use std::path::Path;

use preheat_model::run::{STACKS_SCHEMA, Stacks};

use crate::document::{self, DocumentError};

/// Reads a file. Times become times since `exec`.
pub(crate) fn read(path: &Path, exec: u64) -> Result<Stacks, DocumentError> {
    parse(&document::content(path)?, exec)
}

fn parse(bytes: &[u8], exec: u64) -> Result<Stacks, DocumentError> {
    let mut stacks: Stacks =
        document::parse(bytes, STACKS_SCHEMA, |stacks: &Stacks| &stacks.schema)?;
    if !stacks.is_valid() {
        return Err(DocumentError::Contradictory(
            "a sample or a caller does not exist",
        ));
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
            let problem = parse(bad.as_bytes(), 100)
                .expect_err("a bad file")
                .to_string();
            assert!(problem.contains(why), "{problem}");
        }
    }
}
