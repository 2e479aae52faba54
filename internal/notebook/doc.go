// Package notebook is the notebook document: its schema, the changes one may
// make to it, and how it is read. It is the document that nteract's clients
// call NotebookDoc v5, so what other implementations write is understood and
// what this one writes is understood by them.
//
// # Schema
//
// Every notebook begins with one and the same change (see New), which makes
//
//	schema_version  uint 5
//	cells           map of cell id to cell
//	metadata        map: kernelspec, language_info, runt, ...
//
// and later changes add notebook_id, runtime_state_doc_id and comms_doc_id.
// A cell is a map of
//
//	id, cell_type, position  strings
//	source                   Text
//	execution_count          string holding JSON: "null" or "5"
//	metadata                 map
//	resolved_assets          map of name to blob hash
//	attachments              map of name to media type to {blob_hash, encoding}
//	execution_id             string or null: the run whose outputs the cell shows
//
// Cells are shown in the order of (position, id). A position is a fractional
// index: something always fits between two of them, so moving or adding a cell
// touches no other one.
//
// # Concurrency
//
// A Doc may be used by any number of goroutines. Edits, and messages of peers
// that are taken through Receive, are applied one after the other, each edit as
// one change. Reads come from the Go mirror of the document, never wait for an
// edit that is being prepared, and return copies. Nothing is started, so
// nothing needs to be stopped except the engine's document.
package notebook
