// Package toolspec is the fixed list of MCP tools that runt offers: names,
// arguments, defaults, hints and texts, and the instructions given to a client
// when it connects. The proxy and the server that stands behind it both answer
// from this list, so a client sees the same bytes whatever state they are in.
//
// The list is data (catalog_*.go) rendered once into JSON (schema.go). Nothing here
// does IO, and everything is safe for concurrent use because nothing changes
// after the program has started.
package toolspec
