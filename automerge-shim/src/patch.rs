//! Patches: what a call changed, in the form in which the host's copy of the
//! document is brought up to date.
//!
//! The crate has patches of its own. They are not used: where several values
//! stand in one place they name one that does not win, or leave a change out,
//! and finding the path of each costs time in proportion to its siblings. What is
//! written here is instead either an operation of a local batch as it was
//! performed, or what stands, afterwards, in the places that foreign changes name.

use automerge::{ObjId, Prop, ReadDoc};

use crate::value::{self, In, View};
use crate::wire::{Fail, Result, Writer};

const PUT: u8 = 1;
const INSERT: u8 = 2;
const DELETE: u8 = 3;
const DELETE_RANGE: u8 = 4;
const SPLICE: u8 = 5;
const SET: u8 = 6;

/// A list of patches under construction.
#[derive(Default)]
pub struct Patches {
    w: Writer,
    n: usize,
    last: Option<ObjId>,
}

impl Patches {
    /// Begins a patch of `obj`, whose path is the one in `doc` as it is now.
    /// Returns false when the object cannot be reached from the root.
    pub fn at<D: ReadDoc>(&mut self, doc: &D, obj: &ObjId) -> Result<bool> {
        if self.last.as_ref() == Some(obj) {
            self.w.u8(0);
            self.n += 1;
            return Ok(true);
        }
        let Some(path) = path_of(doc, obj) else { return Ok(false) };
        self.at_path(obj, path.iter().map(|(_, prop)| prop));
        Ok(true)
    }

    /// Begins a patch of `obj`, which lies at `path`.
    pub fn at_path<'p>(&mut self, obj: &ObjId, path: impl ExactSizeIterator<Item = &'p Prop>) {
        self.w.u8(1);
        self.w.u32(path.len());
        for prop in path {
            write_prop(prop, &mut self.w);
        }
        self.n += 1;
        self.last = Some(obj.clone());
    }

    pub fn put(&mut self, prop: &Prop, v: &In<'_>) {
        self.w.u8(PUT);
        write_prop(prop, &mut self.w);
        self.w.u8(0);
        value::write_in(v, &mut self.w);
    }

    pub fn insert(&mut self, at: usize, v: &In<'_>) {
        self.w.u8(INSERT);
        self.w.u32(at);
        self.w.u32(1);
        value::write_in(v, &mut self.w);
    }

    pub fn delete(&mut self, key: &str) {
        self.w.u8(DELETE);
        self.w.str(key);
    }

    pub fn delete_range(&mut self, at: usize, len: usize) {
        self.w.u8(DELETE_RANGE);
        self.w.u32(at);
        self.w.u32(len);
    }

    pub fn splice(&mut self, at: usize, text: &str) {
        self.w.u8(SPLICE);
        self.w.u32(at);
        self.w.str(text);
    }

    /// The whole text, list or document.
    pub fn set(&mut self, v: &In<'_>) {
        self.w.u8(SET);
        value::write_in(v, &mut self.w);
    }

    /// The whole text, list or document as it stands in `view`.
    pub fn set_from(&mut self, view: &View<'_>, obj: &ObjId) -> Result<()> {
        let typ = view.doc.object_type(obj).map_err(Fail::broken)?;
        self.w.u8(SET);
        view.write_object(obj, typ, &mut self.w, 0)
    }

    /// What stands at `key` in `view`: the value that wins, or nothing.
    pub fn put_from(&mut self, view: &View<'_>, obj: &ObjId, key: &str) -> Result<()> {
        let all = view.doc.get_all(obj, key).map_err(Fail::broken)?;
        let Some((v, id)) = all.last() else {
            self.delete(key);
            return Ok(());
        };
        self.w.u8(PUT);
        write_prop(&Prop::Map(key.to_string()), &mut self.w);
        self.w.u8((all.len() > 1) as u8);
        view.write_found(v, id, &mut self.w)
    }

    /// Appends the patches to an answer.
    pub fn finish(self, out: &mut Writer) {
        out.u32(self.n);
        out.buf.extend_from_slice(&self.w.buf);
    }
}

/// The way from the root to `obj`, or none if the object is not there (any more)
/// or not the value that is shown in its place.
pub fn path_of<D: ReadDoc>(doc: &D, obj: &ObjId) -> Option<Vec<(ObjId, Prop)>> {
    doc.parents(obj).ok()?.visible_path()
}

fn write_prop(prop: &Prop, w: &mut Writer) {
    match prop {
        Prop::Map(key) => {
            w.u8(0);
            w.str(key);
        }
        Prop::Seq(at) => {
            w.u8(1);
            w.u32(*at);
        }
    }
}
