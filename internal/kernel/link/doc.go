// Package link is what the daemon and a kernel host say to each other: the
// words (events, commands, replies), their bytes, and the names of the files
// that both know in a host's folder.
//
// # Wire
//
// The socket is a unix stream. Each side writes frames: length of the rest
// (four bytes, big-endian), a type byte, a packet. A packet is the length of
// its header (four bytes, big-endian), the header as a JSON object, then the
// sections one after the other; the header's "sizes" says how long each is. Raw
// JSON of kernels and binary buffers travel as sections, so they are never
// parsed, copied into a string or escaped on the way.
//
// The daemon speaks first: a Command with Op "hello", the versions it knows, and
// the number of the last event it has. The host answers with a Reply that
// carries a Welcome, then sends every later event in order. A host accepts one daemon at a time: a new hello
// makes it send the old connection a Reply with Displaced set and close it.
//
// Unknown fields and unknown operations are skipped, so that a daemon can adopt
// the hosts of the version before it; MinVersion rises only when that is not enough.
//
// # Limits
//
// A frame is at most MaxFrame bytes, a header MaxHeader, a packet has at most
// MaxSections sections. Memory is taken as bytes arrive.
//
// Values of this package are plain data. It does no IO but through the readers
// and writers it is given.
package link
