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
// to wait for the removal and loads the room afresh. A disk that refuses the
// barrier keeps the room open.
//
// # Kernel
//
//	NotStarted ─launch▶ Launching ─Ready▶ Running ─┬─▶ Shutdown
//	                       │                 │      ├─▶ Launching (restart)
//	                       └──failed──▶ Error ◀─died┘
//
// Every launch has a generation; events of an older one do nothing.
//
// # Executions
//
//	queued ─▶ running ─▶ done | error
//	   └────▶ cancelled   (an error of the same run, an interrupt, a restart, a dead kernel)
//
// One execution at a time is with the host. The source goes there before the
// document says so: a cell that ends within Config.DeferRunning is written as
// one change, a longer one gets its "running" entry when that time is over. While an
// execution is kept out of the document in this way, no event of the host is given up.
//
// # One event, one change
//
// Handle changes the state, then write computes what the document lacks of it:
// one EditRuntime an event, with the number of the last kernel event that it
// contains, and what the next daemon has to know besides (Note, EditRuntime.State).
// Answers go out when what they tell of is kept: by the host, which has recorded
// the execution, or on disk (Respond.Durable). Direct answers of an ended
// execution go out before the documents are written: the host still has its events.
//
// # After a crash
//
// A fresh core gets what the documents say by Restore, then HostLost or HostAdopted.
// The host's backlog follows as ordinary events, up to HostCaughtUp, before any
// peer is heard and before anything new is sent: executions that it accepted and the
// document does not have are made again from their notes, what was running is
// sent once more, which the host takes for the same. Stopping a host and
// launching the next one wait for the disk, so that there are never two hosts
// between which the documents could not decide.
//
// TestModel lives through random histories with crashes at any point and compares
// what the document shows with what the hosts put out.
package room
