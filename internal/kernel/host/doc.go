// Package host is the process between the daemon and one kernel. It owns the
// kernel's process group, connection file and channels, and outlives the
// daemon: what the kernel says meanwhile is numbered and spooled to disk until a daemon has it.
//
// # Life
//
//	starting --kernel_info and iopub answer--> ready --kernel ends--> ended
//	    |                                        |                      ^
//	    +--------------shutdown, orphaned--------+------> stopping -----+
//
// A host has one kernel in its life; a restart of the kernel is another host.
// It ends when it was asked to shut down, when the end of its kernel was
// acknowledged by a daemon, or when no daemon was connected and nothing was
// running for the orphan time.
//
// # Ordering
//
// One goroutine, the loop, owns the core: every message of the kernel, every
// command of the daemon, every timer reaches it through one mailbox. It alone
// numbers events. Executions go to the kernel one at a time, in the order they
// came; the event that records an execution is in the spool before its request
// is sent. Done follows everything that the kernel published for the execution before it went idle.
//
// # Blocking
//
// Readers of kernel channels only decode and put into the mailbox, which has no
// bound, so the kernel never sees a slow reader and drops nothing. The loop
// writes to the spool and to nothing else; each kernel channel and the daemon's
// socket has a writing goroutine of its own. A daemon that stops reading is dropped after
// a while and costs nothing meanwhile: its events are on disk.
//
// # Ownership and shutdown
//
// Run starts every goroutine and waits for all of them before it returns. The
// kernel is in a process group of its own. When the kernel ends, whatever is
// left of its group is killed before its number can be used again. When the
// host itself is killed, the kernel is killed by the operating system, and its
// group by a small shell that waits for the end of a pipe.
package host
