//! Values on their way in (as arguments of operations) and out (as the state of
//! a document, whole or in part).

use std::collections::HashMap;

use automerge::{hydrate, Automerge, ChangeHash, ObjId, ObjType, ReadDoc, ScalarValue, ScalarValueRef, TextEncoding, Value, ValueRef};

use crate::wire::{Fail, Reader, Result, Writer};

/// Positions in text are code points, everywhere.
pub const ENCODING: TextEncoding = TextEncoding::UnicodeCodePoint;

/// Values nested deeper than this are refused, so that recursion stays within the stack.
pub const MAX_DEPTH: usize = 200;

pub const NULL: u8 = 0;
pub const FALSE: u8 = 1;
pub const TRUE: u8 = 2;
pub const INT: u8 = 3;
pub const UINT: u8 = 4;
pub const F64: u8 = 5;
pub const STR: u8 = 6;
pub const TEXT: u8 = 7;
pub const BYTES: u8 = 8;
pub const COUNTER: u8 = 9;
pub const TIMESTAMP: u8 = 10;
pub const MAP: u8 = 11;
pub const LIST: u8 = 12;
pub const UNKNOWN: u8 = 13;

/// A value of a request. Maps keep the order in which the host wrote them.
pub enum In<'a> {
    Scalar(ScalarValue),
    Text(&'a str),
    Map(Vec<(&'a str, In<'a>)>),
    List(Vec<In<'a>>),
}

pub fn read<'a>(r: &mut Reader<'a>, depth: usize) -> Result<In<'a>> {
    if depth > MAX_DEPTH {
        return Err(Fail::refused("value is nested too deeply"));
    }
    let scalar = match r.u8()? {
        NULL => ScalarValue::Null,
        FALSE => ScalarValue::Boolean(false),
        TRUE => ScalarValue::Boolean(true),
        INT => ScalarValue::Int(r.u64()? as i64),
        UINT => ScalarValue::Uint(r.u64()?),
        F64 => ScalarValue::F64(f64::from_bits(r.u64()?)),
        STR => ScalarValue::Str(r.str()?.into()),
        BYTES => ScalarValue::Bytes(r.bytes()?.to_vec()),
        COUNTER => ScalarValue::counter(r.u64()? as i64),
        TIMESTAMP => ScalarValue::Timestamp(r.u64()? as i64),
        TEXT => return Ok(In::Text(r.str()?)),
        MAP => {
            let n = r.u32()?;
            let mut entries = Vec::new();
            for _ in 0..n {
                let key = r.str()?;
                entries.push((key, read(r, depth + 1)?));
            }
            return Ok(In::Map(entries));
        }
        LIST => {
            let n = r.u32()?;
            let mut items = Vec::new();
            for _ in 0..n {
                items.push(read(r, depth + 1)?);
            }
            return Ok(In::List(items));
        }
        tag => return Err(Fail::Refused(format!("unknown value tag {tag}"))),
    };
    Ok(In::Scalar(scalar))
}

/// Turns a request value into the form in which the crate creates nested
/// objects in one step.
pub fn hydrated(value: In<'_>) -> hydrate::Value {
    match value {
        In::Scalar(s) => hydrate::Value::Scalar(s),
        In::Text(s) => hydrate::Value::text(ENCODING, s),
        In::Map(entries) => {
            let map: HashMap<String, hydrate::Value> =
                entries.into_iter().map(|(k, v)| (k.to_string(), hydrated(v))).collect();
            hydrate::Value::Map(map.into())
        }
        In::List(items) => {
            let list: Vec<hydrate::Value> = items.into_iter().map(hydrated).collect();
            hydrate::Value::List(list.into())
        }
    }
}

/// Writes a value of a request as part of an answer.
pub fn write_in(v: &In<'_>, w: &mut Writer) {
    match v {
        In::Scalar(s) => write_scalar(s, w),
        In::Text(s) => tagged(TEXT, s.as_bytes(), w),
        In::Map(entries) => {
            w.u8(MAP);
            w.u32(entries.len());
            for (key, v) in entries {
                w.str(key);
                write_in(v, w);
            }
        }
        In::List(items) => {
            w.u8(LIST);
            w.u32(items.len());
            for v in items {
                write_in(v, w);
            }
        }
    }
}

/// Writes a scalar of a patch or of a conflict.
pub fn write_scalar(s: &ScalarValue, w: &mut Writer) {
    match s {
        ScalarValue::Null => w.u8(NULL),
        ScalarValue::Boolean(b) => w.u8(if *b { TRUE } else { FALSE }),
        ScalarValue::Int(v) => number(INT, *v as u64, w),
        ScalarValue::Uint(v) => number(UINT, *v, w),
        ScalarValue::F64(v) => number(F64, v.to_bits(), w),
        ScalarValue::Timestamp(v) => number(TIMESTAMP, *v as u64, w),
        ScalarValue::Counter(c) => number(COUNTER, i64::from(c) as u64, w),
        ScalarValue::Str(s) => tagged(STR, s.as_bytes(), w),
        ScalarValue::Bytes(b) => tagged(BYTES, b, w),
        ScalarValue::Unknown { type_code, bytes } => unknown(*type_code, bytes, w),
    }
}

fn write_scalar_ref(s: &ScalarValueRef<'_>, w: &mut Writer) {
    match s {
        ScalarValueRef::Null => w.u8(NULL),
        ScalarValueRef::Boolean(b) => w.u8(if *b { TRUE } else { FALSE }),
        ScalarValueRef::Int(v) => number(INT, *v as u64, w),
        ScalarValueRef::Uint(v) => number(UINT, *v, w),
        ScalarValueRef::F64(v) => number(F64, v.to_bits(), w),
        ScalarValueRef::Timestamp(v) => number(TIMESTAMP, *v as u64, w),
        ScalarValueRef::Counter(v) => number(COUNTER, *v as u64, w),
        ScalarValueRef::Str(s) => tagged(STR, s.as_bytes(), w),
        ScalarValueRef::Bytes(b) => tagged(BYTES, b, w),
        ScalarValueRef::Unknown { type_code, bytes } => unknown(*type_code, bytes, w),
    }
}

fn number(tag: u8, v: u64, w: &mut Writer) {
    w.u8(tag);
    w.u64(v);
}

fn tagged(tag: u8, b: &[u8], w: &mut Writer) {
    w.u8(tag);
    w.bytes(b);
}

fn unknown(type_code: u8, b: &[u8], w: &mut Writer) {
    w.u8(UNKNOWN);
    w.u8(type_code);
    w.bytes(b);
}

/// Reads out of a document, at some heads or as it is now.
pub struct View<'a> {
    pub doc: &'a Automerge,
    pub heads: Option<&'a [ChangeHash]>,
}

impl View<'_> {
    /// Writes a value as it was found, with everything below it.
    pub fn write_found(&self, v: &Value<'_>, id: &ObjId, w: &mut Writer) -> Result<()> {
        match v {
            Value::Scalar(s) => {
                write_scalar(s, w);
                Ok(())
            }
            Value::Object(typ) => self.write_object(id, *typ, w, 0),
        }
    }

    /// Writes the object `id` with everything below it.
    pub fn write_object(&self, id: &ObjId, typ: ObjType, w: &mut Writer, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Fail::refused("document is nested too deeply"));
        }
        match typ {
            ObjType::Text => {
                tagged(TEXT, self.text(id)?.as_bytes(), w);
                Ok(())
            }
            ObjType::List => self.write_list(id, w, depth),
            ObjType::Map | ObjType::Table => self.write_map(id, w, depth),
        }
    }

    pub fn text(&self, id: &ObjId) -> Result<String> {
        match self.heads {
            Some(h) => self.doc.text_at(id, h),
            None => self.doc.text(id),
        }
        .map_err(Fail::refused)
    }

    fn write_map(&self, id: &ObjId, w: &mut Writer, depth: usize) -> Result<()> {
        w.u8(MAP);
        let gap = w.gap();
        let mut n = 0;
        let items = match self.heads {
            Some(h) => self.doc.map_range_at(id, .., h),
            None => self.doc.map_range(id, ..),
        };
        for item in items {
            w.str(&item.key);
            match &item.value {
                ValueRef::Scalar(s) => write_scalar_ref(s, w),
                ValueRef::Object(t) => self.write_object(&item.id(), *t, w, depth + 1)?,
            }
            n += 1;
        }
        w.fill(gap, n);
        Ok(())
    }

    fn write_list(&self, id: &ObjId, w: &mut Writer, depth: usize) -> Result<()> {
        w.u8(LIST);
        let gap = w.gap();
        let mut n = 0;
        let items = match self.heads {
            Some(h) => self.doc.list_range_at(id, .., h),
            None => self.doc.list_range(id, ..),
        };
        for item in items {
            match &item.value {
                ValueRef::Scalar(s) => write_scalar_ref(s, w),
                ValueRef::Object(t) => self.write_object(&item.id(), *t, w, depth + 1)?,
            }
            n += 1;
        }
        w.fill(gap, n);
        Ok(())
    }
}
