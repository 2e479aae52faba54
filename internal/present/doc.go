// Package present turns notebooks and their outputs into what a language model
// should read: short text without escape bytes, and a few images of modest size.
// It is pure: whoever calls it fetches the blobs that [Needed] names and gives
// times and ids.
//
// The reply about an execution, made by [Execution]:
//
//   - The first line is the header: cell, status, count, execution, seconds.
//   - The text follows, at most [DefaultLimit] bytes in all. What is too long
//     keeps its head and tail, and a line between them tells how much is left
//     out and which call has all of it.
//   - Streams read as a terminal would show them. Of a traceback, the frames of
//     cells and of the user's own files remain, and the one that raised.
//   - Of an output in several formats the best for a reader is taken: what its
//     author meant for models, then tables and plots as a summary, then LaTeX,
//     Markdown, plain text, JSON.
//   - PNG and JPEG images are checked by decoding them, scaled down and handed
//     over as images; a fifth one, and every other format, is named with its size.
//
// All limits are in bytes and exported constants. Text is cut between
// characters, and between lines where there are any.
package present
