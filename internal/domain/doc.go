// Package domain holds the words that every layer of runt shares: identifiers
// of notebooks, cells and executions, the error that users see, and the ways
// identifiers are derived. It imports nothing of ours and does no IO.
package domain
