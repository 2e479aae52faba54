// Package merge brings the changes that another program made to a notebook
// file into the live document, cell by cell.
//
// Merge compares three versions: the base, which is the file as it was last
// read or written; the file on disk now; and the live document. It returns the
// operations that bring the live document up to date, and the conflicts.
//
// # Rules
//
//   - What one side changed is taken. What both changed alike is left alone.
//   - The same cell's text changed on both sides: the live text stays in its
//     cell, and the text on disk is added as a raw cell right below it, which
//     nothing runs. The conflict names both.
//   - Deleted on one side and edited on the other: the edited cell stays, and is reported.
//   - Outputs and execution counts changed on both sides: the live ones stay.
//   - Metadata is merged key by key; a key changed on both sides keeps its live value and is
//     reported, and one deleted live keeps the value on disk.
//   - Order: the side that moved cells decides; when both did, the live order stays. A
//     new cell comes after the cell that it follows on its own side.
//   - A file without cells, or with nothing but blank new cells, never empties
//     a notebook that had text: it changes nothing and is reported.
//
// Cells are the same when they have the same id. Cells of the file that had no
// id are matched with cells of the base by their content, and what is left
// between two matches by type and likeness; they then have the id of the base.
//
// It follows that no text is lost, that merging with an unchanged side gives
// the other side exactly, and that merging the result once more changes nothing.
//
// The package is pure: it does no IO and keeps no state.
package merge
