//! Compressed files: bzip2, as Krun writes it.
//!
//! A few bytes can decompress to terabytes. Decompressed data is never kept in memory, so
//! it would only cost time, but users should learn soon that such a file is not what it
//! seems: real results expand to tens of times their size.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use bzip2::bufread::MultiBzDecoder;

/// This much may always be decompressed,
const ALWAYS: u64 = 16 << 20;
/// plus this many times the bytes read.
const TIMES: u64 = 250;

/// Decompresses bzip2 data.
pub(crate) fn bzip2<'a>(packed: impl Read + 'a) -> impl Read + 'a {
    let read = Rc::new(Cell::new(0));
    let counted = Counted {
        inner: packed,
        count: Rc::clone(&read),
    };
    Bounded {
        inner: MultiBzDecoder::new(BufReader::new(counted)),
        read,
        unpacked: 0,
    }
}

struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(to)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

struct Bounded<R> {
    inner: R,
    read: Rc<Cell<u64>>,
    unpacked: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(to).map_err(|why| match why.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                io::Error::other("its compressed data is damaged")
            }
            _ => why,
        })?;
        self.unpacked += count as u64;
        if self.unpacked > ALWAYS + TIMES * self.read.get() {
            return Err(io::Error::other(format!(
                "it decompresses to more than {TIMES} times its size, unlike real results"
            )));
        }
        Ok(count)
    }
}
