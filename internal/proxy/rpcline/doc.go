// Package rpcline reads and writes newline-delimited JSON-RPC without decoding
// it: a line is looked into only as far as a forwarder must, and its bytes are
// what goes on.
//
// Parse checks that a line is one JSON object (by the grammar of RFC 8259, as
// encoding/json does) and finds id, method, params, result and error in one
// pass; Get looks deeper into a part already checked. Numbers are never
// converted, unknown members never touched. IDKey says when two spellings name
// the same id; Splice exchanges one part of a line and leaves every other byte.
//
// Reader and Writer carry lines. A Reader belongs to one goroutine. A Writer
// owns the goroutine that writes: Send never waits, WaitBelow is how a producer
// waits for a slow consumer, and Close flushes within a bound and stops the
// goroutine. Lines are shared, not copied: nobody may change one after handing
// it on.
package rpcline
