//! What changes from elsewhere touch, read from the document after they are in.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use automerge::legacy::{Key, ObjectId, OpType};
use automerge::{ActorId, Automerge, Change, ObjId, ObjType, Prop, ReadDoc, ROOT};

use crate::patch::{path_of, Patches};
use crate::value::View;
use crate::wire::{Result, Writer};

/// With more operations than this the whole document is sent instead.
const MANY: usize = 4000;

/// The places that changes name. Objects that the changes make are left out: they
/// are sent with the place in which they stand.
#[derive(Default)]
struct Touched {
    made: HashSet<(u64, ActorId)>,
    /// Objects in the order of their ids, so that parents come before children;
    /// for a map its keys, for a text or a list nothing more.
    objects: BTreeMap<ObjId, BTreeSet<String>>,
    ops: usize,
}

impl Touched {
    fn add(&mut self, change: &Change) {
        let expanded = change.decode();
        let start = u64::from(expanded.start_op);
        self.ops += expanded.operations.len();
        for (n, op) in expanded.operations.into_iter().enumerate() {
            if matches!(op.action, OpType::Make(_)) {
                self.made.insert((start + n as u64, expanded.actor_id.clone()));
            }
            let obj = match op.obj {
                ObjectId::Root => ROOT,
                ObjectId::Id(id) => {
                    if self.made.contains(&(id.0, id.1.clone())) {
                        continue;
                    }
                    ObjId::Id(id.0, id.1, 0)
                }
            };
            let keys = self.objects.entry(obj).or_default();
            if let Key::Map(key) = op.key {
                keys.insert(key.to_string());
            }
        }
    }
}

/// Writes the patches that bring a copy of `doc`, as it was before `changes`, up to date.
pub fn write(doc: &Automerge, changes: &[Change], out: &mut Writer) -> Result<()> {
    let mut touched = Touched::default();
    for c in changes {
        touched.add(c);
    }
    let view = View { doc, heads: None };
    let mut patches = Patches::default();
    if touched.ops > MANY {
        patches.at_path(&ROOT, [].iter());
        patches.set_from(&view, &ROOT)?;
    } else {
        let mut sent = Sent::default();
        for (obj, keys) in &touched.objects {
            write_object(&view, obj, keys, &mut sent, &mut patches)?;
        }
    }
    patches.finish(out);
    Ok(())
}

/// What has been sent whole, so that nothing inside it is sent again.
#[derive(Default)]
struct Sent {
    objects: HashSet<ObjId>,
    keys: HashSet<(ObjId, String)>,
}

impl Sent {
    fn covers(&self, doc: &Automerge, path: &[(ObjId, Prop)]) -> bool {
        path.iter().any(|(parent, prop)| match prop {
            Prop::Map(key) => self.keys.contains(&(parent.clone(), key.clone())),
            // The host has no place for what lies inside a text.
            Prop::Seq(_) => self.objects.contains(parent) || matches!(doc.object_type(parent), Ok(ObjType::Text)),
        })
    }
}

fn write_object(view: &View<'_>, obj: &ObjId, keys: &BTreeSet<String>, sent: &mut Sent, patches: &mut Patches) -> Result<()> {
    // An object of which only changes elsewhere know is not here; neither is one
    // that was deleted, or that lost against another value in its place.
    let Some(path) = path_of(view.doc, obj) else { return Ok(()) };
    if sent.covers(view.doc, &path) {
        return Ok(());
    }
    match view.doc.object_type(obj) {
        Ok(ObjType::Map | ObjType::Table) => {
            for key in keys {
                patches.at_path(obj, path.iter().map(|(_, prop)| prop));
                patches.put_from(view, obj, key)?;
                sent.keys.insert((obj.clone(), key.clone()));
            }
        }
        Ok(ObjType::List | ObjType::Text) => {
            patches.at_path(obj, path.iter().map(|(_, prop)| prop));
            patches.set_from(view, obj)?;
            sent.objects.insert(obj.clone());
        }
        Err(_) => {}
    }
    Ok(())
}
