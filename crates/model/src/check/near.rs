//! "Did you mean …?" suggestions.

/// The name closest to `written`, if it is close enough to be a typo.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Typos are not much longer than names, and the comparison takes quadratic time.
    if written.len() > 64 {
        return None;
    }
    let written = simple(written);
    let found = names
        .into_iter()
        .map(|name| (strsim::levenshtein(&written, &simple(name)), name))
        .min_by_key(|(distance, _)| *distance);
    let near = |(distance, name): &(usize, &str)| *distance <= name.chars().count().div_ceil(3);
    found.filter(near).map(|(_, name)| name)
}

/// ` (did you mean …?)`, or nothing.
pub fn did_you_mean<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(written, names) {
        Some(name) => format!(" (did you mean {name}?)"),
        None => String::new(),
    }
}

/// Removes variations in case, dashes, underscores and spaces.
fn simple(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, ' ' | '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_matched_and_unrelated_words_are_not() {
        let names = ["time_to_first", "first", "steady", "host_memory"];
        assert_eq!(nearest("time-to-frist", names), Some("time_to_first"));
        assert_eq!(nearest("Steadi", names), Some("steady"));
        assert_eq!(nearest("hostmemory", names), Some("host_memory"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest(&"x".repeat(100_000), names), None);
        assert_eq!(did_you_mean("fist", names), " (did you mean first?)");
    }
}
