// Package automerge keeps Automerge documents: it runs the Rust crate
// "automerge" 0.12, compiled to WebAssembly and embedded, and adds what a
// program in Go needs around it.
//
// # Use
//
//	e := automerge.Open(automerge.Options{CacheDir: dir})
//	defer e.Close()
//	s, err := e.NewShard()
//	d, err := s.New("local:me/agent")
//	b := automerge.NewBatch()
//	b.Put(b.Root(), "title", "hello")
//	b.Put(b.Root(), "source", automerge.Text("print(1)"))
//	up, err := d.Apply(b)       // one change, or none when an operation fails
//	d.View(func(root map[string]any) { fmt.Println(root["title"]) })
//
// An [Engine] holds the compiled module and a pool of virtual machines. A
// [Shard] is a place on one of them for the documents of one room; several
// shards share a machine. A [Doc] is one document and a [Peer] is the sync
// session of one document with one remote peer.
//
// # Transactions
//
// Apply is one transaction: all operations of the batch and a commit, or an
// [OpError] and nothing. No transaction is open between calls, so nothing else
// ever commits by accident, and every change that exists has been returned to
// somebody as [Update.Changes].
//
// # Reading
//
// Every Doc keeps a copy of its state as Go values, brought up to date by the
// patches that each changing call returns. View, Get, Heads and Has read it and
// never enter WebAssembly. The patches are not the crate's, which are wrong where
// several values stand in one place: the shim notes the operations of a batch and
// reads the places that foreign changes touch.
//
// # Sync
//
// A Peer starts with the library's protocol. Once both sides have the same
// heads it is live: from then on changes are framed in Go, once for all peers,
// and acknowledgements do not enter WebAssembly. Whatever is irregular (a
// request for changes, unknown heads, another message version, a reset) takes
// the peer back to the library with a fresh state, which that message seeds;
// it becomes live again when the heads are equal again. Call Generate for every
// peer after every change of the document, and for a peer after each Receive,
// until it returns nil.
//
// # Concurrency
//
//   - Ordering: the changing calls of one Doc happen one after another. Update
//     values come out in an order that a caller must preserve by itself when
//     it calls from several goroutines.
//   - Blocking: a call on a Doc waits for other calls on the same Doc and for
//     calls on documents of the same virtual machine. View, Get, Heads and Has
//     wait only for the moment in which a change is written into the copy.
//     The function given to View must not call methods of the same Doc.
//   - Ownership: an Engine owns the goroutine that compiles the module and all
//     virtual machines. Slices that are returned may be shared: treat them as
//     read-only.
//   - Shutdown: Engine.Close waits for the compilation and for calls in
//     progress; later calls fail with ErrClosed. Shard.Close closes its documents.
//
// # Failure
//
// A panic in the crate is a trap that ends one virtual machine. The call in
// which it happened returns [ErrTrap] and has changed nothing. All documents of
// that machine are loaded again, when they are next used, from the save and the
// changes that Go keeps; the shard in which it happened gets a machine of its
// own, so that a document that traps again disturbs nobody. Peers of those
// documents that are not live start their sync anew.
//
// Input from outside is checked before it reaches the crate: lengths and
// checksums of messages and changes, their actors if the caller wants to know, and
// the number of operations that they unfold to. A call has no time limit, because
// the runtime's way to have one makes every call three times slower; with the
// limit on operations a call lasts some ten seconds at worst.
package automerge
