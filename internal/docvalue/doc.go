// Package docvalue translates between the values of JSON and those of an
// Automerge document: which scalar type a number becomes, what a Text reads as,
// when two values count as the same, and how a map in a document is brought to
// a wanted state with the fewest changes, so that what another peer wrote
// beside it at the same time is kept.
package docvalue
