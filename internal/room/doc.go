// Package room is the pure core of a room: the decisions about one open
// notebook. It has no clock, no sockets, no files and no goroutines: a caller
// hands it one Event at a time together with the time, and performs the
// Effects that come back, in their order. Package roomactor is that caller.
//
// # Life of a room
//
//	         last peer leaves                 timer fires, nothing runs
//	Active ───────────────────▶ Idle(timer) ───────────────────────────▶ Closing
//	  ▲                            │                                       │
//	  └────────── a peer joins ────┘        save ▶ barrier ▶ stop host ▶ watcher ▶ Removed
//	  ▲                                       │
//	  └── a peer joins before the host stops ─┘
//
// A peer that arrives while the room is still closing its file or journal gets
// the room back whole; one that arrives once the kernel is being stopped is told
// to wait for the removal and loads the room afresh.
//
// # Kernel
//
//	None ─launch▶ Launching ─Ready▶ Running ─┬─▶ None     (shutdown)
//	                 │                 │      ├─▶ Launching (restart)
//	                 └──failed──▶ Error ◀─died┘
//
// Every launch has a generation; events of an older one are ignored.
//
// # Executions
//
//	queued ─▶ running ─▶ done | error
//	   └────▶ cancelled   (an error or interrupt of the same submitter, a restart, a dead kernel)
//
// The source is sent to the kernel before the document says so: a cell that ends
// within Config.DeferRunning is written as one change, a longer one gets its
// "running" entry when that time is over. Terminal status is written together with
// the last output. The caller that asked for a direct answer gets it before the
// documents are written.
package room
