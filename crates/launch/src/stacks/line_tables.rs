//! The line of an instruction, from the line tables of code objects.

/// The line tables of a version of Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Until 3.9: pairs of a bytecode and a signed line increment, applied afterwards.
    Lnotab,
    /// 3.10: the same pairs, each for the range that it ends.
    Ranges,
    /// From 3.11: entries of variable length, with columns.
    Locations,
}

/// The line of the instruction at this offset, in bytes.
pub(super) fn line(format: Format, table: &[u8], first: i32, offset: i64) -> i32 {
    match format {
        Format::Lnotab => lnotab(table, first, offset),
        Format::Ranges => ranges(table, first, offset),
        Format::Locations => locations(table, first, offset).unwrap_or(first),
    }
}

fn lnotab(table: &[u8], first: i32, offset: i64) -> i32 {
    let (mut line, mut address) = (first, 0i64);
    for pair in table.chunks_exact(2) {
        address += i64::from(pair[0]);
        if address > offset {
            break;
        }
        line = line.saturating_add(i32::from(pair[1] as i8));
    }
    line
}

fn ranges(table: &[u8], first: i32, offset: i64) -> i32 {
    /// The range has no line.
    const NONE: i8 = -128;
    let (mut line, mut end, mut known) = (first, 0i64, first);
    for pair in table.chunks_exact(2) {
        end += i64::from(pair[0]);
        let increment = pair[1] as i8;
        if increment != NONE {
            line = line.saturating_add(i32::from(increment));
            known = line;
        }
        if end > offset {
            break;
        }
    }
    known
}

fn locations(table: &[u8], first: i32, offset: i64) -> Option<i32> {
    /// Bytes of one code unit.
    const UNIT: i64 = 2;
    let mut bytes = table.iter().copied();
    let (mut line, mut end, mut known) = (first, 0i64, first);
    while let Some(head) = bytes.next() {
        end += (i64::from(head & 7) + 1) * UNIT;
        let mut has_line = true;
        match (head >> 3) & 15 {
            // Without a line.
            15 => has_line = false,
            // A line increment, end line, column and end column.
            14 => {
                line = line.saturating_add(signed(&mut bytes)?);
                for _ in 0..3 {
                    unsigned(&mut bytes)?;
                }
            }
            // Only a line increment.
            13 => line = line.saturating_add(signed(&mut bytes)?),
            // A line increment of 0 to 2, and two columns.
            code @ 10..=12 => {
                line = line.saturating_add(i32::from(code - 10));
                bytes.next()?;
                bytes.next()?;
            }
            // The same line, and columns in one byte.
            _ => {
                bytes.next()?;
            }
        }
        if has_line {
            known = line;
        }
        if end > offset {
            break;
        }
    }
    Some(known)
}

fn unsigned(bytes: &mut impl Iterator<Item = u8>) -> Option<u32> {
    let mut number = 0u32;
    for shift in (0..30).step_by(6) {
        let byte = bytes.next()?;
        number |= u32::from(byte & 63) << shift;
        if byte & 64 == 0 {
            return Some(number);
        }
    }
    None
}

fn signed(bytes: &mut impl Iterator<Item = u8>) -> Option<i32> {
    let number = unsigned(bytes)?;
    let size = (number >> 1) as i32;
    Some(if number & 1 == 1 { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increments_count_from_their_instruction_on() {
        // Line 10 until offset 4, then 12, then back at 11 from 8 on.
        let table = [4, 2, 4, 0xff];
        for (offset, expected) in [(0, 10), (2, 10), (4, 12), (6, 12), (8, 11), (99, 11)] {
            assert_eq!(line(Format::Lnotab, &table, 10, offset), expected);
        }
    }

    #[test]
    fn ranges_without_a_line_keep_the_one_before() {
        let table = [4, 0, 2, 0x80, 4, 3];
        for (offset, expected) in [(0, 10), (4, 10), (6, 13)] {
            assert_eq!(line(Format::Ranges, &table, 10, offset), expected);
        }
    }

    /// A real table is read in the tests of [`super::super`].
    #[test]
    fn a_cut_table_gives_the_first_line() {
        let cut = [0x80 | (14 << 3), 0x40];
        assert_eq!(line(Format::Locations, &cut, 7, 0), 7);
        // One code unit, the line increment 3 (as 6, its sign is the lowest bit).
        let one = [0x80 | (13 << 3), 6, 0x80 | (15 << 3)];
        assert_eq!(line(Format::Locations, &one, 7, 0), 10);
        assert_eq!(line(Format::Locations, &one, 7, 2), 10);
    }
}
