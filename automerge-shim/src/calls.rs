//! The operations that a host can ask for, one function each.

use automerge::transaction::CommitOptions;
use automerge::{ActorId, Automerge, Change, ChangeHash, LoadOptions, ObjType, PatchLog, Prop, ReadDoc, Value, ROOT};

use crate::patch::Patches;
use crate::value::{View, ENCODING};
use crate::vm::Vm;
use crate::wire::{Fail, Reader, Result, Writer};
use crate::{batch, peer, touched};

const NEW: u32 = 1;
const LOAD: u32 = 2;
const FREE: u32 = 3;
const SET_ACTOR: u32 = 4;
const APPLY: u32 = 5;
const APPLY_CHANGES: u32 = 6;
const SAVE: u32 = 7;
const CHANGES_SINCE: u32 = 8;
const VALUE_AT: u32 = 9;
const CONFLICTS: u32 = 10;
const PEER_NEW: u32 = 11;
const PEER_FREE: u32 = 12;
const GENERATE: u32 = 13;
const RECEIVE: u32 = 14;
const EXPAND: u32 = 15;
const CRASH: u32 = 99;

const BATCH_PLAIN: u8 = 1;
const BATCH_AT_HEADS: u8 = 2;
const BATCH_MESSAGE: u8 = 4;

pub fn dispatch(vm: &mut Vm, op: u32, id: u32, arg: u32, mut r: Reader<'_>, w: &mut Writer) -> Result<()> {
    match op {
        NEW => new(vm, r.remaining(), w),
        LOAD => load(vm, r, w),
        FREE => vm.docs.remove(id).map(|_| ()).ok_or_else(|| Fail::refused("no such document")),
        SET_ACTOR => {
            vm.doc(id)?.set_actor(ActorId::from(r.remaining()));
            Ok(())
        }
        APPLY => apply(vm.doc(id)?, r, w),
        APPLY_CHANGES => apply_changes(vm.doc(id)?, r.remaining(), w),
        SAVE => {
            w.buf.extend_from_slice(&vm.doc(id)?.save());
            Ok(())
        }
        CHANGES_SINCE => {
            let heads = r.hashes()?;
            let doc = vm.doc(id)?;
            known(doc, &heads)?;
            write_raw(&doc.get_changes(&heads), w);
            Ok(())
        }
        VALUE_AT => value_at(vm.doc(id)?, r, w),
        CONFLICTS => conflicts(vm.doc(id)?, r, w),
        PEER_NEW => {
            let n = vm.peers.put(peer::new_state(arg));
            w.u32(n as usize);
            Ok(())
        }
        PEER_FREE => vm.peers.remove(id).map(|_| ()).ok_or_else(|| Fail::refused("no such peer")),
        GENERATE => {
            let (doc, state) = vm.doc_and_peer(id, arg)?;
            peer::generate(doc, state, w);
            Ok(())
        }
        RECEIVE => {
            let flags = r.u32()? as u32;
            let (doc, state) = vm.doc_and_peer(id, arg)?;
            peer::receive(doc, state, flags, r.remaining(), w)
        }
        EXPAND => expand(r.remaining(), w),
        CRASH => panic!("the host asked for a crash"),
        other => Err(Fail::Refused(format!("unknown call {other}"))),
    }
}

fn new(vm: &mut Vm, actor: &[u8], w: &mut Writer) -> Result<()> {
    let mut doc = Automerge::new_with_encoding(ENCODING);
    if !actor.is_empty() {
        doc.set_actor(ActorId::from(actor));
    }
    w.u32(vm.docs.put(doc) as usize);
    Ok(())
}

/// Loads a save, or a save and changes one after another. Writes the number of
/// the document, its heads, the hashes of all its changes, and its state.
fn load(vm: &mut Vm, mut r: Reader<'_>, w: &mut Writer) -> Result<()> {
    let actor = r.bytes()?;
    let options = LoadOptions::new().text_encoding(ENCODING);
    let mut doc = Automerge::load_with_options(r.remaining(), options).map_err(Fail::refused)?;
    if !actor.is_empty() {
        doc.set_actor(ActorId::from(actor));
    }
    let gap = w.gap();
    w.hashes(&doc.get_heads());
    let all: Vec<ChangeHash> = doc.get_changes_meta(&[]).iter().map(|m| m.hash).collect();
    w.hashes(&all);
    View { doc: &doc, heads: None }.write_object(&ROOT, ObjType::Map, w, 0)?;
    w.fill(gap, vm.docs.put(doc) as usize);
    Ok(())
}

/// One transaction: writes the heads, the bytes of the change (none when
/// nothing changed) and the patches.
fn apply(slot: &mut Automerge, mut r: Reader<'_>, w: &mut Writer) -> Result<()> {
    let flags = r.u8()?;
    let mut options = CommitOptions::default().with_time(r.u64()? as i64);
    if flags & BATCH_MESSAGE != 0 {
        options.set_message(r.str()?);
    }
    let plain = flags & BATCH_PLAIN != 0;
    if flags & BATCH_AT_HEADS != 0 {
        let heads = r.hashes()?;
        return apply_at(slot, &heads, r, plain, options, w);
    }
    let mut patches = Patches::default();
    let mut tx = slot.transaction();
    if let Err(e) = batch::apply(&mut tx, &mut r, plain, Some(&mut patches)) {
        tx.rollback();
        return Err(e);
    }
    let (hash, _) = tx.commit_with(options);
    w.hashes(&slot.get_heads());
    let change = made(slot, hash)?;
    w.bytes(change.as_ref().map_or(&[], |c| c.raw_bytes()));
    if change.is_none() {
        patches = Patches::default();
    }
    patches.finish(w);
    Ok(())
}

/// A transaction that sees the document as it was at `heads`. The patches are
/// those of the merged result.
fn apply_at(doc: &mut Automerge, heads: &[ChangeHash], mut r: Reader<'_>, plain: bool, options: CommitOptions, w: &mut Writer) -> Result<()> {
    known(doc, heads)?;
    let mut tx = doc.transaction_at(PatchLog::inactive(), heads).map_err(Fail::broken)?;
    if let Err(e) = batch::apply(&mut tx, &mut r, plain, None) {
        tx.rollback();
        return Err(e);
    }
    let (hash, _) = tx.commit_with(options);
    w.hashes(&doc.get_heads());
    let change = made(doc, hash)?;
    w.bytes(change.as_ref().map_or(&[], |c| c.raw_bytes()));
    touched::write(doc, change.as_slice(), w)
}

/// The change that a transaction made, if it made one.
fn made(doc: &Automerge, hash: Option<ChangeHash>) -> Result<Option<Change>> {
    match hash {
        None => Ok(None),
        Some(h) => match doc.get_change_by_hash(&h) {
            None => Err(Fail::broken("the change just made is missing")),
            change => Ok(change),
        },
    }
}

/// Applies changes one after another. Changes whose dependencies are missing are
/// kept back until those arrive.
fn apply_changes(doc: &mut Automerge, bytes: &[u8], w: &mut Writer) -> Result<()> {
    let before = doc.get_heads();
    doc.load_incremental(bytes).map_err(Fail::broken)?;
    write_news(doc, &before, w)
}

/// Writes the heads, the raw bytes of the changes that were not there when the
/// heads were `before`, and the patches.
pub fn write_news(doc: &Automerge, before: &[ChangeHash], w: &mut Writer) -> Result<()> {
    let heads = doc.get_heads();
    w.hashes(&heads);
    let changes = if heads == before { Vec::new() } else { doc.get_changes(before) };
    write_raw(&changes, w);
    touched::write(doc, &changes, w)
}

fn write_raw(changes: &[Change], w: &mut Writer) {
    w.u32(changes.iter().map(|c| c.raw_bytes().len()).sum());
    for c in changes {
        w.buf.extend_from_slice(c.raw_bytes());
    }
}

fn known(doc: &Automerge, heads: &[ChangeHash]) -> Result<()> {
    match heads.iter().find(|h| doc.get_change_meta_by_hash(h).is_none()) {
        Some(h) => Err(Fail::Refused(format!("change {h} is not in the document"))),
        None => Ok(()),
    }
}

fn read_path(r: &mut Reader<'_>) -> Result<Vec<Prop>> {
    let n = r.u32()?;
    let mut path = Vec::new();
    for _ in 0..n {
        path.push(match r.u8()? {
            0 => Prop::Map(r.str()?.to_string()),
            _ => Prop::Seq(r.u32()?),
        });
    }
    Ok(path)
}

/// Writes 1 and the value at a path, or 0 when there is none.
fn value_at(doc: &Automerge, mut r: Reader<'_>, w: &mut Writer) -> Result<()> {
    let at_heads = r.u8()? != 0;
    let heads = r.hashes()?;
    known(doc, &heads)?;
    let view = View { doc, heads: at_heads.then_some(heads.as_slice()) };
    let mut found = (Value::Object(ObjType::Map), ROOT);
    for prop in read_path(&mut r)? {
        if !found.0.is_object() {
            w.u8(0);
            return Ok(());
        }
        let next = match view.heads {
            Some(h) => doc.get_at(&found.1, prop, h),
            None => doc.get(&found.1, prop),
        };
        match next {
            Ok(Some((v, id))) => found = (v.into_owned(), id),
            _ => {
                w.u8(0);
                return Ok(());
            }
        }
    }
    w.u8(1);
    view.write_found(&found.0, &found.1, w)
}

/// Writes all values that stand at a path, the winner last.
fn conflicts(doc: &Automerge, mut r: Reader<'_>, w: &mut Writer) -> Result<()> {
    let mut path = read_path(&mut r)?;
    let last = path.pop().ok_or_else(|| Fail::refused("the root has no conflicts"))?;
    let mut obj = ROOT;
    for prop in path {
        match doc.get(&obj, prop).map_err(Fail::refused)? {
            Some((v, id)) if v.is_object() => obj = id,
            _ => return Err(Fail::refused("the path leads nowhere")),
        }
    }
    let all = doc.get_all(&obj, last).map_err(Fail::refused)?;
    let view = View { doc, heads: None };
    w.u32(all.len());
    for (v, id) in all {
        view.write_found(&v, &id, w)?;
    }
    Ok(())
}

/// Turns a document or bundle chunk into its changes, without touching any
/// document, so that the host can look at them first.
fn expand(bytes: &[u8], w: &mut Writer) -> Result<()> {
    let options = LoadOptions::new().text_encoding(ENCODING);
    let doc = Automerge::load_with_options(bytes, options).map_err(Fail::refused)?;
    for c in doc.get_changes(&[]) {
        w.buf.extend_from_slice(c.raw_bytes());
    }
    Ok(())
}
