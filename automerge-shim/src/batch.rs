//! A batch: a list of operations that become one change, or none.

use automerge::transaction::Transactable;
use automerge::{AutomergeError, ObjId, ObjType, Prop, ScalarValue, Value, ROOT};

use crate::patch::Patches;
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
/// the change's hash does not depend on the order of a hash map. The operations
/// are noted in `patches` if there is one.
pub fn apply<T: Transactable>(tx: &mut T, r: &mut Reader<'_>, plain: bool, patches: Option<&mut Patches>) -> Result<()> {
    let mut run = Run { tx, plain, objects: Objects(vec![Some(ROOT)]), patches };
    let mut index = 0;
    while !r.is_empty() {
        run.operation(r).map_err(|e| match e {
            Fail::Refused(text) => Fail::BadOp(index, text),
            other => other,
        })?;
        index += 1;
    }
    Ok(())
}

struct Run<'t, T> {
    tx: &'t mut T,
    plain: bool,
    objects: Objects,
    patches: Option<&'t mut Patches>,
}

impl<T: Transactable> Run<'_, T> {
    fn operation(&mut self, r: &mut Reader<'_>) -> Result<()> {
        let op = r.u8()?;
        let obj = self.objects.get(r.u32()?).map_err(Fail::Refused)?;
        match op {
            PUT => {
                let key = r.str()?;
                self.put(&obj, Prop::Map(key.to_string()), value::read(r, 0)?)
            }
            SET_INDEX => {
                self.must_be(ObjType::List, &obj)?;
                let at = r.u32()?;
                self.put(&obj, Prop::Seq(at), value::read(r, 0)?)
            }
            INSERT => {
                let at = r.u32()?;
                self.insert(&obj, at, value::read(r, 0)?)
            }
            DELETE => self.delete(&obj, r.str()?),
            DELETE_INDEX => self.delete_index(&obj, r.u32()?),
            GET => {
                let key = r.str()?;
                self.child(&obj, key.into(), key)
            }
            GET_INDEX => {
                let at = r.u32()?;
                self.child(&obj, at.into(), &at.to_string())
            }
            SPLICE => self.splice(&obj, r.u32()?, r.u32()?, r.str()?),
            UPDATE_TEXT => self.update_text(&obj, r.str()?),
            CLEAR => self.clear(&obj),
            INCREMENT => self.increment(&obj, r.str()?, r.u64()? as i64),
            other => Err(Fail::Refused(format!("unknown operation {other}"))),
        }
    }

    /// Notes a patch of `obj`, whose path is the one it has at this moment. An
    /// operation never changes the path of its own object, so it may be noted
    /// before or after it is performed.
    fn note(&mut self, obj: &ObjId, f: impl FnOnce(&mut Patches)) -> Result<()> {
        if let Some(p) = &mut self.patches {
            if p.at(self.tx, obj)? {
                f(p);
            }
        }
        Ok(())
    }

    /// Refuses objects of another type: the crate takes some operations on them
    /// and does nothing.
    fn must_be(&self, want: ObjType, obj: &ObjId) -> Result<()> {
        match self.tx.object_type(obj).map_err(Fail::refused)? {
            is if is == want => Ok(()),
            other => Err(Fail::Refused(format!("the object is a {other}, not a {want}"))),
        }
    }

    fn put(&mut self, obj: &ObjId, prop: Prop, v: In<'_>) -> Result<()> {
        self.note(obj, |p| p.put(&prop, &v))?;
        let made = self.write(obj, prop, v, false)?;
        self.objects.0.push(made);
        Ok(())
    }

    fn insert(&mut self, obj: &ObjId, at: usize, v: In<'_>) -> Result<()> {
        self.must_be(ObjType::List, obj)?;
        self.note(obj, |p| p.insert(at, &v))?;
        let made = self.write(obj, Prop::Seq(at), v, true)?;
        self.objects.0.push(made);
        Ok(())
    }

    fn delete(&mut self, obj: &ObjId, key: &str) -> Result<()> {
        self.must_be(ObjType::Map, obj)?;
        self.note(obj, |p| p.delete(key))?;
        self.tx.delete(obj, key).map_err(Fail::refused)
    }

    fn delete_index(&mut self, obj: &ObjId, at: usize) -> Result<()> {
        self.must_be(ObjType::List, obj)?;
        self.note(obj, |p| p.delete_range(at, 1))?;
        self.tx.delete(obj, at).map_err(Fail::refused)
    }

    fn child(&mut self, obj: &ObjId, prop: Prop, name: &str) -> Result<()> {
        match self.tx.get(obj, prop).map_err(Fail::refused)? {
            Some((v, id)) if v.is_object() => {
                self.objects.0.push(Some(id));
                Ok(())
            }
            Some(_) => Err(Fail::Refused(format!("{name} is not an object"))),
            None => Err(Fail::Refused(format!("{name} does not exist"))),
        }
    }

    fn splice(&mut self, obj: &ObjId, pos: usize, del: usize, text: &str) -> Result<()> {
        self.must_be(ObjType::Text, obj)?;
        let len = self.tx.length(obj);
        if pos.checked_add(del).is_none_or(|end| end > len) {
            return Err(Fail::Refused(format!("splice at {pos} of {del} is outside a text of {len}")));
        }
        self.tx.splice_text(obj, pos, del as isize, text).map_err(Fail::refused)?;
        if del > 0 {
            self.note(obj, |p| p.delete_range(pos, del))?;
        }
        if !text.is_empty() {
            self.note(obj, |p| p.splice(pos, text))?;
        }
        Ok(())
    }

    fn update_text(&mut self, obj: &ObjId, text: &str) -> Result<()> {
        self.must_be(ObjType::Text, obj)?;
        self.tx.update_text(obj, text).map_err(Fail::refused)?;
        self.note(obj, |p| p.set(&In::Text(text)))
    }

    fn clear(&mut self, obj: &ObjId) -> Result<()> {
        self.must_be(ObjType::List, obj)?;
        let len = self.tx.length(obj);
        for at in (0..len).rev() {
            self.tx.delete(obj, at).map_err(Fail::refused)?;
        }
        self.note(obj, |p| p.delete_range(0, len))?;
        Ok(())
    }

    fn increment(&mut self, obj: &ObjId, key: &str, by: i64) -> Result<()> {
        self.tx.increment(obj, key, by).map_err(Fail::refused)?;
        let sum = match self.tx.get(obj, key).map_err(Fail::refused)? {
            Some((Value::Scalar(s), _)) => In::Scalar(s.into_owned()),
            _ => return Err(Fail::refused("a counter is gone after it was incremented")),
        };
        self.note(obj, |p| p.put(&Prop::Map(key.to_string()), &sum))
    }

    fn write(&mut self, obj: &ObjId, prop: Prop, v: In<'_>, insert: bool) -> Result<Option<ObjId>> {
        let made = match v {
            In::Scalar(s) => write_scalar(self.tx, obj, prop, s, insert).map(|()| None),
            v if self.plain => write_plain(self.tx, obj, prop, v, insert).map(Some),
            v => self.tx.batch_create_object(obj, prop, &value::hydrated(v), insert).map(Some),
        };
        made.map_err(Fail::refused)
    }
}

fn write_scalar<T: Transactable>(tx: &mut T, obj: &ObjId, prop: Prop, s: ScalarValue, insert: bool) -> std::result::Result<(), AutomergeError> {
    match (insert, prop) {
        (true, Prop::Seq(at)) => tx.insert(obj, at, s),
        (_, prop) => tx.put(obj, prop, s),
    }
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
    match value {
        In::Scalar(s) => write_scalar(tx, obj, prop, s, insert),
        value => write_plain(tx, obj, prop, value, insert).map(|_| ()),
    }
}
