// Package zmtp is the client side of ZMTP 3.0 with the NULL mechanism, over
// stream connections (tcp and unix sockets): what a Jupyter client needs to
// talk to a kernel's ROUTER, PUB and REP sockets.
//
// # Wire
//
// A connection starts with a greeting of 64 bytes from each side (signature
// ff .. 7f, version 3.0, mechanism NULL padded with zeros, as-server 0), then
// each side sends one READY command with the properties Socket-Type and, for
// sockets that are addressed, Identity. After that every message is one or
// more frames: a flags byte (1 more follows, 2 the length has eight bytes,
// 4 command), the length (one byte, or eight big-endian), the body. A
// subscription is a message whose first byte is 1 followed by the prefix.
//
// # Concurrency
//
// One goroutine may call Recv and one other goroutine may call Send at the
// same time. Close may be called by anyone, at any time, and makes both
// return. Nothing is buffered between calls: Send returns when the kernel of
// the operating system has the bytes, and blocks while it does not take them,
// so give each connection a writer of its own. The package starts no goroutine.
//
// # Limits
//
// A message over the limits of Options is read and thrown away, and Recv says
// so with a TooLargeError; the connection stays usable. Memory is taken as
// bytes arrive, never on the word of a length field.
package zmtp
