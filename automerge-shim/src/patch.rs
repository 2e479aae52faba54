//! Patches: what a call changed, in the form in which the host's copy of the
//! document is brought up to date.

use std::collections::HashSet;

use automerge::{Automerge, ChangeHash, ObjId, ObjType, Patch, PatchAction, PatchLog, Prop, ReadDoc, ScalarValue, Value};

use crate::value::{self, View};
use crate::wire::{Fail, Result, Writer};

const PUT: u8 = 1;
const INSERT: u8 = 2;
const DELETE: u8 = 3;
const DELETE_RANGE: u8 = 4;
const SPLICE: u8 = 5;
const SET: u8 = 6;

/// Follows the changes that a call brings in from elsewhere.
///
/// The crate's own log is cheap but leaves out, or reports as a mere conflict,
/// some values that become visible when changes were made concurrently: for
/// instance when one deletes the value that wins over another. So it is used
/// only where each change follows on all before it; otherwise the states before
/// and after are compared.
pub struct Tracker {
    log: PatchLog,
    before: Option<Vec<ChangeHash>>,
}

impl Tracker {
    /// `linear` is the caller's word that the changes are not concurrent to
    /// anything; it does not hold when changes that were kept aside may follow.
    pub fn start(doc: &Automerge, linear: bool) -> Tracker {
        if linear && doc.get_missing_deps(&[]).is_empty() {
            Tracker { log: PatchLog::active(), before: None }
        } else {
            Tracker { log: PatchLog::inactive(), before: Some(doc.get_heads()) }
        }
    }

    pub fn log(&mut self) -> &mut PatchLog {
        &mut self.log
    }

    pub fn finish(mut self, doc: &Automerge, w: &mut Writer) -> Result<()> {
        let patches = match self.before {
            None => doc.make_patches(&mut self.log),
            Some(before) => {
                let after = doc.get_heads();
                if before == after {
                    Vec::new()
                } else {
                    doc.diff(&before, &after)
                }
            }
        };
        write(doc, patches, w)
    }
}

/// Writes `patches`; the paths are those of the document as it is now.
pub fn write(doc: &Automerge, patches: Vec<Patch>, w: &mut Writer) -> Result<()> {
    let plan = Plan::of(doc, &patches);
    let gap = w.gap();
    let mut n = 0;
    let mut done: HashSet<(ObjId, Option<String>)> = HashSet::new();
    let mut last: Option<(&ObjId, usize)> = None;
    for p in &patches {
        if matches!(p.action, PatchAction::Mark { .. }) || plan.covers(doc, p) {
            continue;
        }
        if plan.whole.contains(&p.obj) {
            if done.insert((p.obj.clone(), None)) {
                write_path(p, &mut last, w);
                write_whole(doc, &p.obj, w)?;
                n += 1;
            }
            continue;
        }
        if let Some(key) = plan.key_of(p) {
            if done.insert((p.obj.clone(), Some(key.to_string()))) {
                write_path(p, &mut last, w);
                write_anew(doc, &p.obj, key, w)?;
                n += 1;
            }
            continue;
        }
        write_path(p, &mut last, w);
        write_action(&p.action, w)?;
        n += 1;
    }
    w.fill(gap, n);
    Ok(())
}

/// What must be read from the document because its patches cannot be trusted.
///
/// Where several values stand in one place, patches sometimes name one that does
/// not win, and the sums of concurrent counters are wrong; a text in which
/// something other than characters was placed is not described by them at all.
/// A map is then corrected key by key; a list, whose indexes shift from patch to
/// patch, and a text are sent whole.
#[derive(Default)]
struct Plan {
    whole: HashSet<ObjId>,
    keys: HashSet<(ObjId, String)>,
}

impl Plan {
    fn of(doc: &Automerge, patches: &[Patch]) -> Plan {
        let mut plan = Plan::default();
        for p in patches {
            let doubtful = match &p.action {
                PatchAction::PutMap { value, conflict, .. } => *conflict || is_counter(&value.0),
                PatchAction::PutSeq { value, conflict, .. } => *conflict || is_counter(&value.0) || is_text(doc, &p.obj),
                PatchAction::Insert { values, .. } => is_text(doc, &p.obj) || values.iter().any(|(_, _, conflict)| *conflict),
                PatchAction::Increment { .. } | PatchAction::Conflict { .. } => true,
                _ => false,
            };
            if !doubtful {
                continue;
            }
            match map_key(&p.action) {
                Some(key) => plan.keys.insert((p.obj.clone(), key.to_string())),
                None => plan.whole.insert(p.obj.clone()),
            };
        }
        plan
    }

    /// The key that `p` changes, if it is to be read anew.
    fn key_of<'p>(&self, p: &'p Patch) -> Option<&'p str> {
        if self.keys.is_empty() {
            return None;
        }
        map_key(&p.action).filter(|key| self.keys.contains(&(p.obj.clone(), key.to_string())))
    }

    /// Whether `p` lies inside something that is sent as it is now, or inside a
    /// text, where the host has no place for it.
    fn covers(&self, doc: &Automerge, p: &Patch) -> bool {
        p.path.iter().any(|(parent, prop)| match prop {
            Prop::Map(key) => !self.keys.is_empty() && self.keys.contains(&(parent.clone(), key.clone())),
            Prop::Seq(_) => self.whole.contains(parent) || is_text(doc, parent),
        })
    }
}

fn is_text(doc: &Automerge, id: &ObjId) -> bool {
    matches!(doc.object_type(id), Ok(ObjType::Text))
}

fn is_counter(v: &Value<'_>) -> bool {
    matches!(v, Value::Scalar(s) if matches!(s.as_ref(), ScalarValue::Counter(_)))
}

fn map_key(action: &PatchAction) -> Option<&str> {
    match action {
        PatchAction::PutMap { key, .. } | PatchAction::DeleteMap { key } => Some(key),
        PatchAction::Increment { prop: Prop::Map(key), .. } => Some(key),
        PatchAction::Conflict { prop: Prop::Map(key) } => Some(key),
        _ => None,
    }
}

fn write_whole(doc: &Automerge, id: &ObjId, w: &mut Writer) -> Result<()> {
    let typ = doc.object_type(id).map_err(Fail::broken)?;
    w.u8(SET);
    View { doc, heads: None }.write_object(id, typ, w, 0)
}

fn write_anew(doc: &Automerge, obj: &ObjId, key: &str, w: &mut Writer) -> Result<()> {
    let all = doc.get_all(obj, key).map_err(Fail::broken)?;
    match all.last() {
        None => {
            w.u8(DELETE);
            w.str(key);
            Ok(())
        }
        Some((v, id)) => {
            w.u8(PUT);
            write_prop(&Prop::Map(key.to_string()), w);
            w.u8((all.len() > 1) as u8);
            View { doc, heads: None }.write_found(v, id, w)
        }
    }
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
        PatchAction::DeleteMap { key } => {
            w.u8(DELETE);
            w.str(key);
        }
        PatchAction::DeleteSeq { index, length } => {
            w.u8(DELETE_RANGE);
            w.u32(*index);
            w.u32(*length);
        }
        PatchAction::Increment { .. } | PatchAction::Conflict { .. } | PatchAction::Mark { .. } => {
            return Err(Fail::broken("such a patch is never passed on"));
        }
    }
    Ok(())
}

fn write_put(prop: &Prop, v: &Value<'_>, conflict: bool, w: &mut Writer) {
    w.u8(PUT);
    write_prop(prop, w);
    w.u8(conflict as u8);
    write_value(v, w);
}

/// Objects are written empty: what is in them follows in patches of their own.
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
