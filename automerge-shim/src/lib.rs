//! A narrow face over the `automerge` crate for a host that runs WebAssembly.
//!
//! The host sees two functions. It writes a request into the buffer that
//! [`am_input`] names, calls [`am_call`] and reads the answer from the address
//! and length that the call returns. An answer stays valid until the next call.
//!
//! Every call is complete in itself: a call that changes a document opens one
//! transaction, commits it or rolls it back, and returns the heads and the
//! patches that its caller needs to follow the document without asking again.
//! Nothing stays open between calls.

mod batch;
mod calls;
mod patch;
mod peer;
mod touched;
mod value;
mod vm;
mod wire;

use std::cell::RefCell;

thread_local! {
    static VM: RefCell<vm::Vm> = RefCell::new(vm::Vm::default());
}

/// Makes the input buffer hold at least `len` bytes and returns its address.
/// The address changes only when the buffer grows.
#[no_mangle]
pub extern "C" fn am_input(len: usize) -> *mut u8 {
    VM.with(|vm| vm.borrow_mut().reserve_input(len))
}

/// Performs operation `op` on the object numbered `id`, with the first `len`
/// bytes of the input buffer as arguments. Returns the address of the answer in
/// the upper and its length in the lower half. The first byte of an answer is
/// its status, see [`wire::Status`].
#[no_mangle]
pub extern "C" fn am_call(op: u32, id: u32, arg: u32, len: usize) -> u64 {
    VM.with(|vm| vm.borrow_mut().call(op, id, arg, len))
}
