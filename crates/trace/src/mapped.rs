//! Reads the memory of a start by mapping.

use std::path::Path;

use preheat_model::run::{MAPPED_SCHEMA, Mapped};

use crate::stacks::json;

/// Reads a file. Times become times since `exec`. The error is what is wrong with it.
pub(crate) fn read(path: &Path, exec: u64) -> Result<Mapped, String> {
    parse(&json(path)?, exec)
}

fn parse(bytes: &[u8], exec: u64) -> Result<Mapped, String> {
    let mut mapped: Mapped =
        serde_json::from_slice(bytes).map_err(|error| format!("is damaged: {error}"))?;
    if mapped.schema != MAPPED_SCHEMA {
        return Err(format!(
            "has the schema {:?}; this version reads {MAPPED_SCHEMA}",
            mapped.schema
        ));
    }
    if !mapped.is_valid() {
        return Err("is damaged: a name does not exist, or a part exceeds its whole".to_owned());
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
            let problem = parse(bad.as_bytes(), 100).expect_err("a bad file");
            assert!(problem.contains(why), "{problem}");
        }
    }
}
