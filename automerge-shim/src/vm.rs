//! The state of one virtual machine: its documents, its peers' sync states and
//! the two buffers through which the host talks to it.

use automerge::{sync, Automerge};

use crate::calls;
use crate::wire::{Fail, Reader, Result, Status, Writer};

/// An answer larger than this is not kept as a buffer for the next one.
const KEEP_BUFFER: usize = 1 << 20;

#[derive(Default)]
pub struct Vm {
    input: Vec<u8>,
    out: Writer,
    pub docs: Slab<Automerge>,
    pub peers: Slab<sync::State>,
}

impl Vm {
    pub fn reserve_input(&mut self, len: usize) -> *mut u8 {
        if len > KEEP_BUFFER || self.input.len() > KEEP_BUFFER || len > self.input.len() {
            self.input = vec![0; len];
        }
        self.input.as_mut_ptr()
    }

    pub fn call(&mut self, op: u32, id: u32, arg: u32, len: usize) -> u64 {
        let input = std::mem::take(&mut self.input);
        let mut out = std::mem::take(&mut self.out);
        if out.buf.capacity() > KEEP_BUFFER {
            out = Writer::default();
        }
        out.buf.clear();
        out.u8(Status::Ok as u8);
        let bytes = &input[..len.min(input.len())];
        if let Err(fail) = calls::dispatch(self, op, id, arg, Reader::new(bytes), &mut out) {
            write_fail(fail, &mut out);
        }
        self.input = input;
        let answer = ((out.buf.as_ptr() as u64) << 32) | out.buf.len() as u64;
        self.out = out;
        answer
    }

    pub fn doc(&mut self, id: u32) -> Result<&mut Automerge> {
        self.docs.get(id).ok_or_else(|| Fail::refused("no such document"))
    }

    pub fn doc_and_peer(&mut self, doc: u32, peer: u32) -> Result<(&mut Automerge, &mut sync::State)> {
        let d = self.docs.get(doc).ok_or_else(|| Fail::refused("no such document"))?;
        let p = self.peers.get(peer).ok_or_else(|| Fail::refused("no such peer"))?;
        Ok((d, p))
    }
}

fn write_fail(fail: Fail, out: &mut Writer) {
    out.buf.clear();
    match fail {
        Fail::Refused(text) => {
            out.u8(Status::Refused as u8);
            out.buf.extend_from_slice(text.as_bytes());
        }
        Fail::BadOp(index, text) => {
            out.u8(Status::BadOp as u8);
            out.u32(index);
            out.buf.extend_from_slice(text.as_bytes());
        }
        Fail::Broken(text) => {
            out.u8(Status::Broken as u8);
            out.buf.extend_from_slice(text.as_bytes());
        }
    }
}

/// Numbered places for values; a number that was given back is used again.
pub struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub fn put(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = Some(value);
                id
            }
            None => {
                self.slots.push(Some(value));
                self.slots.len() as u32 - 1
            }
        }
    }

    pub fn get(&mut self, id: u32) -> Option<&mut T> {
        self.slots.get_mut(id as usize)?.as_mut()
    }

    pub fn remove(&mut self, id: u32) -> Option<T> {
        let value = self.slots.get_mut(id as usize)?.take();
        if value.is_some() {
            self.free.push(id);
        }
        value
    }
}
