// Package roomactor runs rooms: it owns the documents, peers, journal, file and
// kernel host of one open notebook and performs what the pure core in package
// room decides.
//
// # Concurrency
//
// Every room is one goroutine, the actor. It alone touches the core, the
// documents and the peers; everything else reaches it by post, a function that the
// actor calls in order of arrival. Goroutines that wait for something slow (a
// launch, a save, a kernel's answer, the events of the host) belong to the room,
// post their result and are waited for when the room closes.
//
//   - Order: frames of one peer are handled in the order they came, changes of one
//     document leave for each peer in the order they were made.
//   - Blocking: a peer that sends faster than the room works waits in its own
//     reader. A peer that reads too slowly is dropped by its wire.Conn. The actor
//     itself waits for nothing but the engine and a write to the host's socket.
//   - Durability: every change goes to the journal before it is sent on. The peer
//     that made it gets its acknowledgement when the journal is on disk.
//   - Shutdown: Close stops the actor, closes the peers, and returns when all
//     goroutines of the room are gone. The kernel host is only detached; the core
//     stops it by an effect when the room is evicted.
package roomactor
