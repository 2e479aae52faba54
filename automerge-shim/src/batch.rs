//! A batch: a list of operations that become one change, or none.

use automerge::transaction::Transactable;
use automerge::{AutomergeError, ObjId, ObjType, Prop, ROOT};

use crate::value::{self, In};
use crate::wire::{Fail, Reader, Result};

const PUT: u8 = 1;
const INSERT: u8 = 2;
const SET_INDEX: u8 = 3;
const DELETE: u8 = 4;
const DELETE_INDEX: u8 = 5;
const GET: u8 = 6;
const GET_INDEX: u8 = 7;
const SPLICE: u8 = 8;
const UPDATE_TEXT: u8 = 9;
const CLEAR: u8 = 10;
const INCREMENT: u8 = 11;

/// The objects that a batch has named so far. Number 0 is the root; every put,
/// insert, set and get appends one entry, which is empty when the value was a scalar.
struct Objects(Vec<Option<ObjId>>);

impl Objects {
    fn get(&self, n: usize) -> std::result::Result<ObjId, String> {
        match self.0.get(n) {
            Some(Some(id)) => Ok(id.clone()),
            _ => Err("the operation names a value that is not an object".into()),
        }
    }
}

/// Applies the operations in `r` to the open transaction `tx`. With `plain`,
/// nested values are written operation by operation in the order given, so that
/// the change's hash does not depend on the order of a hash map.
pub fn apply<T: Transactable>(tx: &mut T, r: &mut Reader<'_>, plain: bool) -> Result<()> {
    let mut objects = Objects(vec![Some(ROOT)]);
    let mut index = 0;
    while !r.is_empty() {
        apply_one(tx, r, plain, &mut objects).map_err(|e| match e {
            Fail::Refused(text) => Fail::BadOp(index, text),
            other => other,
        })?;
        index += 1;
    }
    Ok(())
}

fn apply_one<T: Transactable>(tx: &mut T, r: &mut Reader<'_>, plain: bool, objects: &mut Objects) -> Result<()> {
    let op = r.u8()?;
    let target = objects.get(r.u32()?);
    match op {
        PUT | INSERT | SET_INDEX => {
            let prop = match op {
                PUT => Prop::Map(r.str()?.to_string()),
                _ => Prop::Seq(r.u32()?),
            };
            let value = value::read(r, 0)?;
            let made = write(tx, &target.map_err(Fail::Refused)?, prop, value, op == INSERT, plain)?;
            objects.0.push(made);
        }
        DELETE => {
            let key = r.str()?;
            tx.delete(&target.map_err(Fail::Refused)?, key).map_err(Fail::refused)?;
        }
        DELETE_INDEX => {
            let at = r.u32()?;
            tx.delete(&target.map_err(Fail::Refused)?, at).map_err(Fail::refused)?;
        }
        GET => {
            let key = r.str()?;
            objects.0.push(Some(child(tx, &target.map_err(Fail::Refused)?, key.into(), key)?));
        }
        GET_INDEX => {
            let at = r.u32()?;
            objects.0.push(Some(child(tx, &target.map_err(Fail::Refused)?, at.into(), &at.to_string())?));
        }
        SPLICE => {
            let (pos, del, text) = (r.u32()?, r.u32()?, r.str()?);
            splice(tx, &target.map_err(Fail::Refused)?, pos, del, text)?;
        }
        UPDATE_TEXT => {
            let text = r.str()?;
            tx.update_text(&target.map_err(Fail::Refused)?, text).map_err(Fail::refused)?;
        }
        CLEAR => clear(tx, &target.map_err(Fail::Refused)?)?,
        INCREMENT => {
            let (key, by) = (r.str()?, r.u64()? as i64);
            tx.increment(&target.map_err(Fail::Refused)?, key, by).map_err(Fail::refused)?;
        }
        other => return Err(Fail::Refused(format!("unknown operation {other}"))),
    }
    Ok(())
}

fn child<T: Transactable>(tx: &T, parent: &ObjId, prop: Prop, name: &str) -> Result<ObjId> {
    match tx.get(parent, prop).map_err(Fail::refused)? {
        Some((v, id)) if v.is_object() => Ok(id),
        Some(_) => Err(Fail::Refused(format!("{name} is not an object"))),
        None => Err(Fail::Refused(format!("{name} does not exist"))),
    }
}

fn splice<T: Transactable>(tx: &mut T, obj: &ObjId, pos: usize, del: usize, text: &str) -> Result<()> {
    let len = tx.length(obj);
    if pos.checked_add(del).is_none_or(|end| end > len) {
        return Err(Fail::Refused(format!("splice at {pos} of {del} is outside a text of {len}")));
    }
    tx.splice_text(obj, pos, del as isize, text).map_err(Fail::refused)
}

fn clear<T: Transactable>(tx: &mut T, obj: &ObjId) -> Result<()> {
    if tx.object_type(obj).map_err(Fail::refused)? != ObjType::List {
        return Err(Fail::refused("only a list can be cleared"));
    }
    for at in (0..tx.length(obj)).rev() {
        tx.delete(obj, at).map_err(Fail::refused)?;
    }
    Ok(())
}

fn write<T: Transactable>(tx: &mut T, obj: &ObjId, prop: Prop, value: In<'_>, insert: bool, plain: bool) -> Result<Option<ObjId>> {
    let made = match value {
        In::Scalar(s) => match (insert, prop) {
            (true, Prop::Seq(at)) => tx.insert(obj, at, s).map(|_| None),
            (_, prop) => tx.put(obj, prop, s).map(|_| None),
        },
        value if plain => write_plain(tx, obj, prop, value, insert).map(Some),
        value => tx.batch_create_object(obj, prop, &value::hydrated(value), insert).map(Some),
    };
    made.map_err(Fail::refused)
}

fn write_plain<T: Transactable>(tx: &mut T, obj: &ObjId, prop: Prop, value: In<'_>, insert: bool) -> std::result::Result<ObjId, AutomergeError> {
    let typ = match &value {
        In::Map(_) => ObjType::Map,
        In::List(_) => ObjType::List,
        _ => ObjType::Text,
    };
    let id = match (insert, prop) {
        (true, Prop::Seq(at)) => tx.insert_object(obj, at, typ)?,
        (_, prop) => tx.put_object(obj, prop, typ)?,
    };
    match value {
        In::Scalar(_) => {}
        In::Text(s) => tx.splice_text(&id, 0, 0, s)?,
        In::Map(entries) => {
            for (key, v) in entries {
                plain_child(tx, &id, key.into(), v, false)?;
            }
        }
        In::List(items) => {
            for (at, v) in items.into_iter().enumerate() {
                plain_child(tx, &id, at.into(), v, true)?;
            }
        }
    }
    Ok(id)
}

fn plain_child<T: Transactable>(tx: &mut T, obj: &ObjId, prop: Prop, value: In<'_>, insert: bool) -> std::result::Result<(), AutomergeError> {
    match (value, prop) {
        (In::Scalar(s), Prop::Seq(at)) if insert => tx.insert(obj, at, s),
        (In::Scalar(s), prop) => tx.put(obj, prop, s),
        (value, prop) => write_plain(tx, obj, prop, value, insert).map(|_| ()),
    }
}
