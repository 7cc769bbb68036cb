//! Compressed files: bzip2, as Krun writes it.
//!
//! A few bytes can be made to unpack to terabytes. What is unpacked is never held, so it
//! would cost time alone, but a reader should learn soon that a file is not what it seems:
//! real results unpack to tens of times their size.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use bzip2::bufread::MultiBzDecoder;

/// So much may always be unpacked.
const ALWAYS: u64 = 16 << 20;
/// And so many times what was read.
const TIMES: u64 = 250;

/// The unpacked bytes.
pub(crate) fn bzip2<'a>(packed: impl Read + 'a) -> impl Read + 'a {
    let read = Rc::new(Cell::new(0));
    let counted = Counted {
        inner: packed,
        count: Rc::clone(&read),
    };
    Bounded {
        inner: MultiBzDecoder::new(BufReader::new(counted)),
        read,
        given: 0,
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
    given: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(to).map_err(|why| match why.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                io::Error::other("its compressed data is damaged")
            }
            _ => why,
        })?;
        self.given += count as u64;
        if self.given > ALWAYS + TIMES * self.read.get() {
            return Err(io::Error::other(format!(
                "it unpacks to more than {TIMES} times its size, as no real results do"
            )));
        }
        Ok(count)
    }
}
