//! Names that are too long, cut in the middle: what tells module from module and file
//! from file is at both ends.

/// At most `most` characters of `text`, with `…` for what is left out.
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
    fn both_ends_are_kept() {
        assert_eq!(cut("torch._dynamo", 20), "torch._dynamo");
        assert_eq!(cut("torch._dynamo.symbolic", 11), "torch…bolic");
        assert_eq!(cut("äöü", 1), "…");
        assert_eq!(cut("äöü", 0), "…");
    }
}
