// Package blob keeps large outputs as files named by the SHA-256 of their
// bytes. The layout is the one that clients of protocol v4 read from disk:
//
//	<root>/<2 hex>/<62 hex>        the bytes
//	<root>/<2 hex>/<62 hex>.meta   JSON: media_type, size, created_at, durability
//
// A blob is there once the file with its bytes is there, and then it is whole:
// both files are written under a temporary name and renamed, the meta data
// first; bytes and folder are synced. A crash leaves at most a temporary file
// or meta data without bytes; Open and Collect remove old ones, and neither
// counts as a blob. A power cut may cost meta data: then the media type is
// [DefaultMediaType].
//
// # Concurrency
//
// A Store is safe for concurrent use, also by one process that writes and
// others that read. Putting and collecting one hash exclude each other; other
// hashes are not delayed. Put returns when the bytes are on disk. The store
// has no goroutines and holds no file open, so there is nothing to close.
//
// A blob that was put, or put again, within the age given to Collect is kept
// even if nothing refers to it yet. Whoever puts a blob therefore has that long
// to write down the reference.
package blob
