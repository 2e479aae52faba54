// Package supervise keeps a child process: when to start it again, whether to
// start it at all, how to end it, what its last words were, and whether the
// program on disk is still the one that runs.
//
// Backoff and Breaker are plain values that take the time as an argument; they
// are not safe for concurrent use and belong to whoever decides.
//
// A Child owns two goroutines: one starts the process, stays on its thread and
// reaps it, the other copies the child's stderr. Both have ended when Done is
// closed. End asks (closes stdin), waits, sends SIGTERM, waits, sends SIGKILL,
// and reports which of these it took; it may be called from several goroutines
// and returns the same Exit to all.
//
// A child does not outlive its parent. Its stdin is a pipe that only the parent
// writes to, so it sees the end of input when the parent dies in whatever way;
// on Linux the kernel also kills it when the thread that started it is gone,
// which is why that thread is kept until the child is reaped.
//
// LogFile is a size-bounded log that several goroutines may write. Watch owns a
// goroutine that reports changed content of one program file; Close waits for it.
package supervise
