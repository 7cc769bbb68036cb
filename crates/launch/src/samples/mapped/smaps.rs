//! Parses `/proc/PID/smaps`.

/// A mapping with resident memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mapping<'a> {
    /// The path of a file, or a name in brackets.
    pub name: &'a str,
    /// True if it is a file that is mapped as code.
    pub code: bool,
    /// Resident bytes, each page divided by the number of processes that share it.
    pub proportional: u64,
    /// Resident bytes.
    pub resident: u64,
    /// The part of them that does not belong to a file.
    pub anonymous: u64,
}

/// An inaccessible mapping of at most this size below another is the guard of a stack.
const GUARD: u64 = 64 << 10;

/// All mappings in order.
pub(super) fn parse(text: &str) -> impl Iterator<Item = Mapping<'_>> {
    let mut lines = text.lines().peekable();
    // The end of the last mapping, if that is a guard.
    let mut guard = None;
    std::iter::from_fn(move || {
        let mut mapping = head(lines.next()?, &mut guard);
        while let Some(line) = lines.next_if(|line| !is_head(line)) {
            let into = match line.split_once(':') {
                Some(("Rss", rest)) => (&mut mapping.resident, rest),
                Some(("Pss", rest)) => (&mut mapping.proportional, rest),
                Some(("Anonymous", rest)) => (&mut mapping.anonymous, rest),
                _ => continue,
            };
            let number = into.1.trim().trim_end_matches(" kB").parse::<u64>();
            *into.0 = number.unwrap_or(0).saturating_mul(1024);
        }
        // The kernel rounds each number, and counts pages that move between two of them.
        mapping.proportional = mapping.proportional.min(mapping.resident);
        mapping.anonymous = mapping.anonymous.min(mapping.resident);
        Some(mapping)
    })
}

/// Returns true if a line begins a mapping: fields begin with a capital letter.
fn is_head(line: &str) -> bool {
    !line.starts_with(|first: char| first.is_ascii_uppercase())
}

fn head<'a>(line: &'a str, guard: &mut Option<u64>) -> Mapping<'a> {
    let mut fields = line.splitn(6, ' ');
    let (begin, end) = fields
        .next()
        .and_then(|range| range.split_once('-'))
        .unwrap_or_default();
    let address = |text| u64::from_str_radix(text, 16).unwrap_or(0);
    let (begin, end) = (address(begin), address(end));
    let mode = fields.next().unwrap_or_default().as_bytes();
    let path = fields.nth(3).unwrap_or_default().trim_start();
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let is_code = mode.get(2) == Some(&b'x');
    let after_guard = guard.take() == Some(begin);
    if path.is_empty() && mode.starts_with(b"---") && end.saturating_sub(begin) <= GUARD {
        *guard = Some(end);
    }
    let name = match path {
        "" if is_code => "[generated code]",
        "" if after_guard => "[thread stack]",
        "" => "[anonymous]",
        _ if path.starts_with("[anon") => "[anonymous]",
        path => path,
    };
    Mapping {
        name,
        code: is_code && path.starts_with('/'),
        ..Mapping::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
55d0c0000000-55d0c0001000 r-xp 00000000 fe:00 17    /usr/lib/a b.so
Size:                  4 kB
Rss:                   8 kB
Pss:                   2 kB
Pss_Dirty:             1 kB
Anonymous:             4 kB
VmFlags: rd ex mr mw me sd
7f0000000000-7f0000001000 ---p 00000000 00:00 0
Rss:                   0 kB
7f0000001000-7f0000801000 rw-p 00000000 00:00 0
Rss:                  12 kB
Pss:                  13 kB
Anonymous:            12 kB
7f0000900000-7f0000a00000 rw-p 00000000 00:00 0
Rss:                  16 kB
Pss:                  16 kB
Anonymous:            16 kB
7f0000b00000-7f0000c00000 rw-s 00000000 00:05 9    /memfd:x (deleted)
Rss:                   4 kB
Pss:                   4 kB
";

    #[test]
    fn mappings_have_their_names_and_sizes() {
        let all: Vec<Mapping> = parse(TEXT).collect();
        let expected = [
            ("/usr/lib/a b.so", true, [2, 8, 4]),
            ("[anonymous]", false, [0, 0, 0]),
            ("[thread stack]", false, [12, 12, 12]),
            ("[anonymous]", false, [16, 16, 16]),
            ("/memfd:x", false, [4, 4, 0]),
        ];
        let expected = expected.map(|(name, code, kib)| Mapping {
            name,
            code,
            proportional: kib[0] << 10,
            resident: kib[1] << 10,
            anonymous: kib[2] << 10,
        });
        assert_eq!(all, expected);
        assert_eq!(parse("").count(), 0);
        assert_eq!(parse("nonsense\nRss: x kB").count(), 1);
    }
}
