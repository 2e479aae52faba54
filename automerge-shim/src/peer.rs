//! Sync with one peer, by the crate's own protocol.

use automerge::sync::{self, SyncDoc};
use automerge::Automerge;

use crate::calls::write_raw_since;
use crate::patch;
use crate::wire::{Fail, Result, Writer};

/// The peer may not write: its changes are ignored and it is told so.
const READ_ONLY: u32 = 1;
/// The answer lists the raw bytes of every change that was new.
const WANT_CHANGES: u32 = 2;
/// Ask the peer to forget what it believes to have sent.
const ASK_RESEND: u32 = 4;
/// Each change of the message follows on all before it.
const LINEAR: u32 = 8;

pub fn new_state(flags: u32) -> sync::State {
    let mut s = sync::State::new();
    s.read_only = flags & READ_ONLY != 0;
    s
}

/// Writes 1 and the next message for the peer, or 0 when there is nothing to say.
pub fn generate(doc: &Automerge, state: &mut sync::State, w: &mut Writer) {
    match doc.generate_sync_message(state) {
        Some(m) => {
            w.u8(1);
            w.buf.extend_from_slice(&m.encode());
        }
        None => w.u8(0),
    }
}

/// Applies a message: heads, patches and, when wanted, the new changes.
pub fn receive(doc: &mut Automerge, state: &mut sync::State, flags: u32, bytes: &[u8], w: &mut Writer) -> Result<()> {
    let message = sync::Message::decode(bytes).map_err(Fail::refused)?;
    for hash in &message.need {
        // The peer asks for it by name, so it did not arrive, whatever we believe.
        state.sent_hashes.remove(hash);
    }
    let before = doc.get_heads();
    let mut tracker = patch::Tracker::start(doc, flags & LINEAR != 0);
    doc.receive_sync_message_log_patches(state, message, tracker.log()).map_err(Fail::broken)?;
    if flags & ASK_RESEND != 0 && !state.read_only {
        state.needs_reset = true;
        state.have_responded = false;
    }
    w.hashes(&doc.get_heads());
    tracker.finish(doc, w)?;
    if flags & WANT_CHANGES != 0 {
        write_raw_since(doc, &before, w);
    }
    Ok(())
}
