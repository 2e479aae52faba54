//! Sync with one peer, by the crate's own protocol.

use automerge::sync::{self, SyncDoc};
use automerge::Automerge;

use crate::calls::write_news;
use crate::wire::{Fail, Result, Writer};

/// The peer may not write: its changes are ignored and it is told so.
const READ_ONLY: u32 = 1;
/// Ask the peer to forget what it believes to have sent.
const ASK_RESEND: u32 = 2;

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

/// Applies a message: heads, the new changes, patches.
pub fn receive(doc: &mut Automerge, state: &mut sync::State, flags: u32, bytes: &[u8], w: &mut Writer) -> Result<()> {
    let message = sync::Message::decode(bytes).map_err(Fail::refused)?;
    for hash in &message.need {
        // The peer asks for it by name, so it did not arrive, whatever we believe.
        state.sent_hashes.remove(hash);
    }
    let before = doc.get_heads();
    doc.receive_sync_message(state, message).map_err(Fail::broken)?;
    if flags & ASK_RESEND != 0 && !state.read_only {
        state.needs_reset = true;
        state.have_responded = false;
    }
    write_news(doc, &before, w)
}
