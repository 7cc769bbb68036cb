//! A bundle is a POSIX tar file, with nanosecond mtimes in extended headers; `tar -tvf`
//! lists its contents. The reader accepts only what is written here: regular files. Links,
//! devices and everything else are refused. The
//! reader of the `tar` crate would accept them, so only its headers are used.

use std::io::{self, Read};

use tar::{EntryType, Header};

use super::header::{BundleError, damaged};

pub(super) const BLOCK: usize = 512;

/// The longest extended header: a path and three numbers.
const MAX_EXTENDED_BYTES: u64 = 16 << 10;

/// The largest size that fits into the plain header.
const MAX_PLAIN_SIZE: u64 = (1 << 33) - 1;

/// Seconds and nanoseconds since 1970.
type Time = (u64, u32);

/// A file in a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// The path relative to the cache directory.
    pub path: String,
    /// The permissions.
    pub mode: u32,
    /// The modification time.
    pub modified: Time,
    /// The size in bytes.
    pub size: u64,
    /// The checksum of the content.
    pub checksum: u64,
}

impl Member {
    /// All fields as bytes, for the checksum of the bundle.
    pub(super) fn identity(&self) -> Vec<u8> {
        let mut bytes = self.path.clone().into_bytes();
        bytes.push(0);
        bytes.extend(self.mode.to_le_bytes());
        bytes.extend(self.modified.0.to_le_bytes());
        bytes.extend(self.modified.1.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(self.checksum.to_le_bytes());
        bytes
    }

    /// The headers before the content.
    pub(super) fn front(&self) -> Vec<u8> {
        let (seconds, nanoseconds) = self.modified;
        let mut records = record("path", &self.path);
        records += &record("mtime", &format!("{seconds}.{nanoseconds:09}"));
        if self.size > MAX_PLAIN_SIZE {
            records += &record("size", &self.size.to_string());
        }
        // Other programs ignore comments.
        records += &record("comment", &format!("xxh64 {:016x}", self.checksum));
        let length = records.len() as u64;
        let mut bytes = header("preheat-pax", EntryType::XHeader, 0o644, length, 0).to_vec();
        bytes.extend(records.as_bytes());
        bytes.resize(bytes.len() + padding(length), 0);
        let size = if self.size > MAX_PLAIN_SIZE {
            0
        } else {
            self.size
        };
        bytes.extend(header(
            &self.path,
            EntryType::Regular,
            self.mode,
            size,
            seconds,
        ));
        bytes
    }
}

/// The number of bytes that fill the last block.
pub(super) fn padding(size: u64) -> usize {
    (BLOCK - (size % BLOCK as u64) as usize) % BLOCK
}

/// A record of an extended header, which begins with its length. The tar crate writes such
/// headers too, but without permissions, which the reader requires.
fn record(name: &str, value: &str) -> String {
    let rest = name.len() + value.len() + 3;
    let mut length = rest + 1;
    while length.to_string().len() + rest != length {
        length = length.to_string().len() + rest;
    }
    format!("{length} {name}={value}\n")
}

/// A POSIX header; a name that is too long is cut here and complete in the extended header.
pub(super) fn header(
    name: &str,
    kind: EntryType,
    mode: u32,
    size: u64,
    seconds: u64,
) -> [u8; BLOCK] {
    let mut header = Header::new_ustar();
    let name = &name.as_bytes()[..name.len().min(100)];
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size.min(MAX_PLAIN_SIZE));
    header.set_mtime(seconds.min(MAX_PLAIN_SIZE));
    header.set_cksum();
    *header.as_bytes()
}

/// The fields of a plain header.
pub(super) struct Plain {
    pub kind: EntryType,
    pub name: Vec<u8>,
    pub mode: u32,
    pub size: u64,
}

/// The next header; `None` at the end.
pub(super) fn next_header(from: &mut dyn Read) -> Result<Option<Plain>, BundleError> {
    let mut block = [0; BLOCK];
    fill(from, &mut block)?;
    if block == [0; BLOCK] {
        return Ok(None);
    }
    let header = Header::from_byte_slice(&block);
    let mut summed = header.clone();
    summed.set_cksum();
    let sums = header.cksum().ok().zip(summed.cksum().ok());
    if header.as_ustar().is_none() || sums.is_none_or(|(read, computed)| read != computed) {
        return Err(damaged("a header is invalid"));
    }
    let (Ok(mode), Ok(size)) = (header.mode(), header.size()) else {
        return Err(damaged("a number is invalid"));
    };
    let name = header.as_old().name.split(|&byte| byte == 0).next();
    Ok(Some(Plain {
        kind: header.entry_type(),
        name: name.unwrap_or_default().to_vec(),
        mode,
        size,
    }))
}

/// The next file; `None` at the end. Its content and padding follow in the stream.
pub(super) fn next_member(from: &mut dyn Read) -> Result<Option<Member>, BundleError> {
    let Some(extended) = next_header(from)? else {
        return Ok(None);
    };
    match extended.kind {
        EntryType::XHeader if extended.size <= MAX_EXTENDED_BYTES => {}
        EntryType::XHeader => return Err(never("an extended header that is too long")),
        EntryType::Regular => return Err(never("a file without a checksum")),
        other => return Err(never(kind_name(other))),
    }
    let mut text = vec![0; extended.size as usize];
    fill(from, &mut text)?;
    pass_padding(from, extended.size)?;
    let text = String::from_utf8(text).map_err(|_| damaged("a name is not UTF-8"))?;
    let plain = next_header(from)?.ok_or_else(|| damaged("a file is missing"))?;
    if plain.kind != EntryType::Regular {
        return Err(never(kind_name(plain.kind)));
    }
    if plain.mode & !0o777 != 0 {
        return Err(never("a file that runs as another user"));
    }
    let mut member = Member {
        path: String::new(),
        mode: plain.mode,
        modified: (0, 0),
        size: plain.size,
        checksum: 0,
    };
    let read = read_records(&text, &mut member);
    read.ok_or_else(|| damaged("the description of a file is invalid"))?;
    Ok(Some(member))
}

/// Parses an extended header, which must have a path, a time and a checksum. The parser of
/// the tar crate splits at newlines, which a path may contain.
fn read_records(mut text: &str, member: &mut Member) -> Option<()> {
    let mut seen = 0;
    while !text.is_empty() {
        let (length, _) = text.split_once(' ')?;
        let record = text.get(..length.parse().ok()?)?;
        text = &text[record.len()..];
        let record = record.strip_suffix('\n')?.get(length.len() + 1..)?;
        let (name, value) = record.split_once('=')?;
        match name {
            "path" => member.path = value.to_owned(),
            "mtime" => {
                let (seconds, nanoseconds) = value.split_once('.')?;
                let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                if nanoseconds.len() != 9 || !digits(seconds) || !digits(nanoseconds) {
                    return None;
                }
                member.modified = (seconds.parse().ok()?, nanoseconds.parse().ok()?);
            }
            "size" => {
                member.size = value.parse().ok()?;
                continue;
            }
            "comment" => {
                let digits = value.strip_prefix("xxh64 ")?;
                member.checksum = u64::from_str_radix(digits, 16).ok()?;
            }
            _ => return None,
        }
        seen += 1;
    }
    (seen == 3 && !member.path.is_empty()).then_some(())
}

/// Skips the padding of the last block.
pub(super) fn pass_padding(from: &mut dyn Read, size: u64) -> Result<(), BundleError> {
    let mut rest = [0; BLOCK];
    fill(from, &mut rest[..padding(size)])
}

/// Fills `bytes` completely.
pub(super) fn fill(from: &mut dyn Read, bytes: &mut [u8]) -> Result<(), BundleError> {
    from.read_exact(bytes).map_err(|why| match why.kind() {
        io::ErrorKind::UnexpectedEof => damaged("it ends too early"),
        _ => BundleError::Failed(format!("it cannot be read: {why}")),
    })
}

fn never(what: &str) -> BundleError {
    BundleError::Refused(format!("it contains {what}, which preheat never packs"))
}

fn kind_name(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link | EntryType::Symlink => "a link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Directory => "a directory",
        EntryType::Fifo => "a pipe",
        _ => "an entry that is not a regular file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(path: &str, size: u64) -> Member {
        Member {
            path: path.to_owned(),
            mode: 0o640,
            modified: (1_700_000_000, 7),
            size,
            checksum: 0xabc,
        }
    }

    #[test]
    fn members_survive_a_round_trip() {
        let long = "x/".repeat(300) + "é";
        for member in [
            member("a/b", 0),
            member(&long, MAX_PLAIN_SIZE),
            member("a", MAX_PLAIN_SIZE + 1),
            member("a\nb", 1),
        ] {
            let front = member.front();
            assert_eq!(front.len() % BLOCK, 0);
            let read = next_member(&mut front.as_slice());
            assert_eq!(read, Ok(Some(member)));
        }
        assert_eq!(next_member(&mut [0; BLOCK].as_slice()), Ok(None));
    }

    #[test]
    fn a_record_begins_with_its_length() {
        assert_eq!(record("path", "a"), "9 path=a\n");
        for length in 80..120 {
            let record = record("path", &"x".repeat(length));
            assert!(record.starts_with(&format!("{} ", record.len())));
        }
    }

    #[test]
    fn entries_that_preheat_does_not_write_are_refused() {
        for (kind, word) in [
            (EntryType::Link, "link"),
            (EntryType::Symlink, "link"),
            (EntryType::Char, "device"),
            (EntryType::Directory, "directory"),
        ] {
            let alone = header("a", kind, 0o644, 0, 0);
            let why = next_member(&mut alone.as_slice()).expect_err("it is refused");
            assert!(why.to_string().contains(word), "{why}");
            let mut after = member("a", 0).front();
            let at = after.len() - BLOCK;
            after[at..].copy_from_slice(&header("a", kind, 0o644, 0, 0));
            assert!(next_member(&mut after.as_slice()).is_err());
        }
        let mut other = member("a", 0);
        other.mode = 0o4755;
        let why = next_member(&mut other.front().as_slice()).expect_err("it is refused");
        assert!(why.to_string().contains("another user"), "{why}");
        let plain = header("a", EntryType::Regular, 0o644, 0, 0);
        assert!(next_member(&mut plain.as_slice()).is_err());
        let short = &member("a", 0).front()[..700];
        let why = next_member(&mut &short[..]).expect_err("it is refused");
        assert!(why.to_string().contains("too early"), "{why}");
    }
}
