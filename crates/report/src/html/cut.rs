//! Truncates long names in the middle: modules and files differ at both ends.

/// Truncates `text` to at most `most` characters, with `…` in the middle.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let (front, back) = (kept - kept / 2, kept / 2);
    let front = text.chars().take(front);
    let back = text.chars().skip(count - back);
    front.chain(['…']).chain(back).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_both_ends() {
        assert_eq!(cut("torch._dynamo", 20), "torch._dynamo");
        assert_eq!(cut("torch._dynamo.symbolic", 11), "torch…bolic");
        assert_eq!(cut("äöü", 1), "…");
        assert_eq!(cut("äöü", 0), "…");
    }
}
