//! Reading requests and writing answers: little-endian numbers, strings and
//! byte runs with a 32-bit length in front.

use automerge::ChangeHash;

/// The first byte of every answer.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum Status {
    /// The rest is the result.
    Ok = 0,
    /// The rest is a text; the document is as it was before the call.
    Refused = 1,
    /// A 32-bit operation index and a text; the transaction was rolled back.
    BadOp = 2,
    /// The rest is a text; the document may have changed in part and must be
    /// loaded anew.
    Broken = 3,
}

/// Why a call failed.
pub enum Fail {
    Refused(String),
    BadOp(usize, String),
    Broken(String),
}

pub type Result<T> = std::result::Result<T, Fail>;

impl Fail {
    pub fn refused(e: impl ToString) -> Fail {
        Fail::Refused(e.to_string())
    }

    pub fn broken(e: impl ToString) -> Fail {
        Fail::Broken(e.to_string())
    }
}

/// A cursor over the bytes of a request.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.rest.len() {
            return Err(Fail::Refused("request is cut short".into()));
        }
        let (head, tail) = self.rest.split_at(n);
        self.rest = tail;
        Ok(head)
    }

    pub fn remaining(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn u32(&mut self) -> Result<usize> {
        let b = self.take(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    }

    pub fn u64(&mut self) -> Result<u64> {
        let mut a = [0; 8];
        a.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(a))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let n = self.u32()?;
        self.take(n)
    }

    pub fn str(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(Fail::refused)
    }

    pub fn hashes(&mut self) -> Result<Vec<ChangeHash>> {
        let n = self.u32()?;
        let raw = self.take(n.saturating_mul(32))?;
        Ok(raw.chunks_exact(32).map(hash).collect())
    }
}

fn hash(b: &[u8]) -> ChangeHash {
    let mut a = [0; 32];
    a.copy_from_slice(b);
    ChangeHash(a)
}

/// The answer under construction.
#[derive(Default)]
pub struct Writer {
    pub buf: Vec<u8>,
}

impl Writer {
    pub fn u8(&mut self, v: u8) {
        self.buf.push(v);
    }

    pub fn u32(&mut self, v: usize) {
        self.buf.extend_from_slice(&(v as u32).to_le_bytes());
    }

    pub fn u64(&mut self, v: u64) {
        self.buf.extend_from_slice(&v.to_le_bytes());
    }

    pub fn bytes(&mut self, b: &[u8]) {
        self.u32(b.len());
        self.buf.extend_from_slice(b);
    }

    pub fn str(&mut self, s: &str) {
        self.bytes(s.as_bytes());
    }

    pub fn hashes(&mut self, hs: &[ChangeHash]) {
        self.u32(hs.len());
        for h in hs {
            self.buf.extend_from_slice(&h.0);
        }
    }

    /// Leaves room for a count that is known only later; fill it with [`Writer::fill`].
    pub fn gap(&mut self) -> usize {
        let at = self.buf.len();
        self.u32(0);
        at
    }

    pub fn fill(&mut self, gap: usize, v: usize) {
        self.buf[gap..gap + 4].copy_from_slice(&(v as u32).to_le_bytes());
    }
}
