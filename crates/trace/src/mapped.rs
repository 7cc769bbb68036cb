//! Reads the memory of a start by mapping.

use std::path::Path;

use preheat_model::run::{MAPPED_SCHEMA, Mapped};

use crate::document::{self, DocumentError};

/// Reads a file. Times become times since `exec`.
pub(crate) fn read(path: &Path, exec: u64) -> Result<Mapped, DocumentError> {
    parse(&document::content(path)?, exec)
}

fn parse(bytes: &[u8], exec: u64) -> Result<Mapped, DocumentError> {
    let mut mapped: Mapped =
        document::parse(bytes, MAPPED_SCHEMA, |mapped: &Mapped| &mapped.schema)?;
    if !mapped.is_valid() {
        return Err(DocumentError::Contradictory(
            "a name does not exist, or a part exceeds its whole",
        ));
    }
    for sample in &mut mapped.samples {
        sample.time = sample.time.saturating_sub(exec);
    }
    mapped.samples.sort_by_key(|sample| sample.time);
    Ok(mapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_are_refused_with_the_reason() {
        let good = r#"{"schema":"preheat.memory/1","names":[{"name":"[heap]","code":false}],
            "samples":[{"time":120,"process":7,"bytes":[[0,4096,8192,8192]]},
            {"time":110,"process":7,"bytes":[]}]}"#;
        let mapped = parse(good.as_bytes(), 100).expect("a good file");
        let times: Vec<u64> = mapped.samples.iter().map(|sample| sample.time).collect();
        assert_eq!(times, [10, 20]);
        for (bad, why) in [
            (good.replace("memory/1", "memory/2"), "has the schema"),
            (good.replace("[0,4096", "[1,4096"), "does not exist"),
            (good.replace("[0,4096", "[0,9000"), "exceeds its whole"),
            (good.replace("[0,4096", "[0,-1"), "is damaged"),
            (good[..good.len() - 1].to_owned(), "is damaged"),
        ] {
            let problem = parse(bad.as_bytes(), 100)
                .expect_err("a bad file")
                .to_string();
            assert!(problem.contains(why), "{problem}");
        }
    }
}
