//! Bytes with their position, and lookahead.
//!
//! Everything is read through this one buffer, so that memory use does not depend on the
//! file, and every error has its line and column.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use bzip2::bufread::MultiBzDecoder;

use crate::error::Error;

/// The buffer size, and so the maximum lookahead.
pub(crate) const BUFFER: usize = 64 << 10;

/// A stream of bytes.
pub(crate) struct Source<'a> {
    input: Box<dyn Read + 'a>,
    buffer: Box<[u8]>,
    at: usize,
    end: usize,
    ended: bool,
    line: u64,
    /// The number of bytes of the line already read.
    column: u64,
}

impl<'a> Source<'a> {
    pub fn new(input: Box<dyn Read + 'a>) -> Source<'a> {
        Source {
            input,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            at: 0,
            end: 0,
            ended: false,
            line: 1,
            column: 0,
        }
    }

    /// The line and column of the next byte, counted from 1.
    pub fn position(&self) -> (u64, u64) {
        (self.line, self.column + 1)
    }

    /// An error at the current position.
    pub fn fail(&self, what: impl ToString) -> Error {
        Error::at(self.position(), what)
    }

    /// Returns the buffered bytes, at least `count` of them (limited to [`BUFFER`]) if the
    /// file has as many.
    pub fn ahead(&mut self, count: usize) -> io::Result<&[u8]> {
        let count = count.min(BUFFER);
        if self.at + count > BUFFER {
            self.buffer.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
        }
        while !self.ended && self.end - self.at < count {
            self.fill()?;
        }
        Ok(&self.buffer[self.at..self.end])
    }

    /// Peeks at the next byte.
    #[inline]
    pub fn peek(&mut self) -> io::Result<Option<u8>> {
        while self.at == self.end {
            if self.ended {
                return Ok(None);
            }
            (self.at, self.end) = (0, 0);
            self.fill()?;
        }
        Ok(Some(self.buffer[self.at]))
    }

    /// Reads the next byte, if there is one.
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<u8>> {
        let next = self.peek()?;
        match next {
            Some(b'\n') => {
                self.line += 1;
                self.column = 0;
            }
            Some(_) => self.column += 1,
            None => return Ok(None),
        }
        self.at += 1;
        Ok(next)
    }

    /// Skips bytes that were peeked at and are not part of the text.
    pub fn skip(&mut self, count: usize) {
        self.at = (self.at + count).min(self.end);
    }

    fn fill(&mut self) -> io::Result<()> {
        match self.input.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.ended = true,
            Ok(count) => self.end += count,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
        Ok(())
    }
}

impl Read for Source<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.peek()?.is_none() {
            return Ok(0);
        }
        let count = to.len().min(self.end - self.at);
        to[..count].copy_from_slice(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

// Compressed files: bzip2, as Krun writes it.
//
// A few bytes can decompress to terabytes. Decompressed data is never kept in memory, so
// it would only cost time, but users should learn soon that such a file is not what it
// seems: real results expand to tens of times their size.

/// This much may always be decompressed,
const ALWAYS_ALLOWED_BYTES: u64 = 16 << 20;
/// plus this many times the bytes read.
const MAX_RATIO: u64 = 250;

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
        if self.unpacked > ALWAYS_ALLOWED_BYTES + MAX_RATIO * self.read.get() {
            return Err(io::Error::other(format!(
                "it decompresses to more than {MAX_RATIO} times its size, unlike real results"
            )));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_counted_across_buffers() {
        let text = "abc\n".repeat(BUFFER / 4) + "xyz";
        let mut source = Source::new(Box::new(text.as_bytes()));
        assert_eq!(source.ahead(BUFFER).unwrap().len(), BUFFER);
        for (at, expected) in text.bytes().enumerate() {
            assert!(text.as_bytes()[at..].starts_with(&source.ahead(7).unwrap()[..1]));
            assert_eq!(source.peek().unwrap(), Some(expected));
            assert_eq!(source.next().unwrap(), Some(expected));
        }
        assert_eq!(source.position(), (BUFFER as u64 / 4 + 1, 4));
        assert_eq!(source.next().unwrap(), None);
        assert_eq!(source.ahead(5).unwrap(), b"");
    }
}
