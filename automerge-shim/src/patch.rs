//! Patches: what a call changed, in the form in which the host's copy of the
//! document is brought up to date.

use std::collections::HashSet;

use automerge::{Automerge, ObjId, ObjType, Patch, PatchAction, PatchLog, Prop, ReadDoc, Value};

use crate::value::{self, View};
use crate::wire::{Fail, Result, Writer};

const PUT: u8 = 1;
const INSERT: u8 = 2;
const DELETE: u8 = 3;
const DELETE_RANGE: u8 = 4;
const SPLICE: u8 = 5;
const INCREMENT: u8 = 6;
const CONFLICT: u8 = 7;
const SET_TEXT: u8 = 8;

/// Runs `work` with a log and turns what it logged into patches.
///
/// The crate promises that a fresh log always fits the document it is used with.
pub fn of_log(doc: &Automerge, log: &mut PatchLog, w: &mut Writer) -> Result<()> {
    write(doc, doc.make_patches(log), w)
}

/// Writes `patches`; the paths are those of the document as it is now.
pub fn write(doc: &Automerge, patches: Vec<Patch>, w: &mut Writer) -> Result<()> {
    let odd = odd_texts(doc, &patches);
    let gap = w.gap();
    let mut n = 0;
    let mut done: HashSet<ObjId> = HashSet::new();
    let mut last: Option<(&ObjId, usize)> = None;
    for p in &patches {
        if matches!(p.action, PatchAction::Mark { .. }) {
            continue;
        }
        if odd.contains(&p.obj) {
            if done.insert(p.obj.clone()) {
                write_path(p, &mut last, w);
                w.u8(SET_TEXT);
                w.str(&View { doc, heads: None }.text(&p.obj)?);
                n += 1;
            }
            continue;
        }
        if p.path.iter().any(|(parent, _)| odd.contains(parent) || is_text(doc, parent)) {
            continue;
        }
        write_path(p, &mut last, w);
        write_action(&p.action, w)?;
        n += 1;
    }
    w.fill(gap, n);
    Ok(())
}

fn is_text(doc: &Automerge, id: &ObjId) -> bool {
    matches!(doc.object_type(id), Ok(ObjType::Text))
}

/// Texts in which something other than characters was placed. Their patches do
/// not tell how the text reads afterwards, so the text is sent whole.
fn odd_texts(doc: &Automerge, patches: &[Patch]) -> HashSet<ObjId> {
    let mut odd = HashSet::new();
    for p in patches {
        let suspicious = match &p.action {
            PatchAction::Insert { .. } | PatchAction::PutSeq { .. } => true,
            PatchAction::Increment { prop, .. } => matches!(prop, Prop::Seq(_)),
            _ => false,
        };
        if suspicious && is_text(doc, &p.obj) {
            odd.insert(p.obj.clone());
        }
    }
    odd
}

/// Writes the path of the object that `p` changes, or a mark that it is the
/// same as that of the patch before.
fn write_path<'p>(p: &'p Patch, last: &mut Option<(&'p ObjId, usize)>, w: &mut Writer) {
    if *last == Some((&p.obj, p.path.len())) {
        w.u8(0);
        return;
    }
    *last = Some((&p.obj, p.path.len()));
    w.u8(1);
    w.u32(p.path.len());
    for (_, prop) in &p.path {
        write_prop(prop, w);
    }
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

fn write_action(action: &PatchAction, w: &mut Writer) -> Result<()> {
    match action {
        PatchAction::PutMap { key, value, conflict } => write_put(&Prop::Map(key.clone()), &value.0, *conflict, w),
        PatchAction::PutSeq { index, value, conflict } => write_put(&Prop::Seq(*index), &value.0, *conflict, w),
        PatchAction::Insert { index, values } => {
            w.u8(INSERT);
            w.u32(*index);
            w.u32(values.len());
            for (v, _, _) in values.iter() {
                write_value(v, w);
            }
        }
        PatchAction::SpliceText { index, value, .. } => {
            w.u8(SPLICE);
            w.u32(*index);
            w.str(&value.make_string());
        }
        PatchAction::Increment { prop, value } => {
            w.u8(INCREMENT);
            write_prop(prop, w);
            w.u64(*value as u64);
        }
        PatchAction::Conflict { prop } => {
            w.u8(CONFLICT);
            write_prop(prop, w);
        }
        PatchAction::DeleteMap { key } => {
            w.u8(DELETE);
            w.str(key);
        }
        PatchAction::DeleteSeq { index, length } => {
            w.u8(DELETE_RANGE);
            w.u32(*index);
            w.u32(*length);
        }
        PatchAction::Mark { .. } => return Err(Fail::broken("a mark has no place here")),
    }
    Ok(())
}

fn write_put(prop: &Prop, v: &Value<'_>, conflict: bool, w: &mut Writer) {
    w.u8(PUT);
    write_prop(prop, w);
    w.u8(conflict as u8);
    write_value(v, w);
}

/// Objects are written empty: what is in them follows in patches of its own.
fn write_value(v: &Value<'_>, w: &mut Writer) {
    match v {
        Value::Scalar(s) => value::write_scalar(s, w),
        Value::Object(ObjType::Text) => {
            w.u8(value::TEXT);
            w.u32(0);
        }
        Value::Object(ObjType::List) => {
            w.u8(value::LIST);
            w.u32(0);
        }
        Value::Object(_) => {
            w.u8(value::MAP);
            w.u32(0);
        }
    }
}
