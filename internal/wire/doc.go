// Package wire is the language that a notebook daemon and its peers speak:
// protocol v4 as the Python client runtimed 2.9.0 speaks it, and the few
// additions of runt that such clients skip. It knows bytes and shapes. What
// the shapes mean is decided in the packages above.
//
// # Bytes
//
// A peer opens a stream with the five bytes of [Preamble]: a magic number and
// the protocol version. The daemon sends none back. Everything after that is
// a length (u32, big endian) and so many bytes. The first such message is the
// [Handshake], plain JSON of at most [MaxHandshake] bytes. On the channels
// "pool" and "settings_sync" all later messages have no type either. On every
// notebook channel the first byte of a message is its [FrameType] and the
// length counts it.
//
// Each type has a limit that sender and receiver both enforce. A length of
// zero or above the limit ends the connection. A type that the receiver does
// not know is skipped, which is how both sides may add some.
//
// # A notebook connection
//
// The daemon answers the handshake with [ConnectionInfo] in a control frame
// ([KindConnectionInfo] after open and create, [KindCapabilities] after a
// join), or untyped when the peer did not ask for a typed bootstrap. An info
// whose Error is set refuses the peer. Then come [SyncStatus] frames, always
// whole and only ever further along, among the first sync messages of each
// document. A peer may work once the notebook is "interactive" and the runtime
// state "ready". Sync messages are those of Automerge and are opaque here.
//
// Requests are JSON objects tagged by "action", responses by "result", with
// the fields of the body beside the tag. A response carries the id of its
// request and may come in any order. required_heads in a request names the
// changes which the daemon must have before it acts. Presence is CBOR.
//
// # Additions of runt
//
// All names of ours begin with "runt". Fields: see [Handshake], [Request] and
// [ErrorBody]. Frame type [FrameExecution] tells the peer that asked for a
// direct answer that its execution is over, ahead of the documents. The field
// "runt" of [ConnectionInfo], [Pong] and [DaemonInfo] says which of them a
// daemon knows; a client uses none before it has seen that.
//
// # Concurrency
//
// [Reader] belongs to one goroutine. [Conn] is safe for concurrent use:
//   - Order: frames leave in the order of the calls to Send. A droppable frame
//     keeps its place among the others when it is not dropped.
//   - Blocking: no Send ever waits. A frame that finds the lane full closes
//     the connection with [ErrSlowPeer]; a droppable one is dropped much
//     earlier. A peer that takes nothing for WriteTimeout is closed too.
//   - Ownership: the body of a sent frame belongs to the connection and may be
//     shared with other connections; nobody may change it afterwards. The one
//     goroutine that writes belongs to Conn. Reading is done by the caller.
//   - Shutdown: Close and CloseAfterFlush wait until that goroutine is gone.
//     Both may be called often and by anybody. They also end a blocked read.
package wire
