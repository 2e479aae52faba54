// Package proxy runs the program that an MCP client talks to: it speaks for a
// notebook server that may die, be upgraded or be replaced, and never fails
// itself. All decisions are made by package core; this package does what core
// says and tells it what happens.
//
// Goroutines, all owned by Run, which ends them before it returns:
//
//	client reader ─┐                                  ┌─▶ client writer
//	child reader ──┼─▶ events ─▶ the loop (owns Core) ─┼─▶ child writer
//	starter, ender ┘      watch of the program ─┘      └─▶ status keeper
//
// Only the loop touches the Core and the current process; everything else posts
// events. The loop never waits for IO: lines go to writers with queues, starting
// and ending a process happen on goroutines of their own. A reader waits before
// it posts while the client is slow to take what it is sent, so queues stay
// bounded. Lines of one side stay in order; the exit of a child is told after
// the last line it wrote.
//
// Run returns within a few seconds of the end of the client's input, of ctx's
// end, or of a failed write to the client: core bounds the answering of open
// calls and each step of ending the child. Reading a stdin that cannot be
// interrupted is the one thing left behind; the process is over then.
//
// A status file per running proxy, under StatusDir, says what Status says; a
// lock beside it tells whether its writer lives.
package proxy
