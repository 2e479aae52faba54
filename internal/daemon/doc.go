// Package daemon assembles runtimed: it listens on the socket, keeps the list
// of rooms and their paths, answers what concerns no single room, serves blobs
// over HTTP, and takes back the kernels of an earlier daemon when it starts.
//
// # Concurrency
//
// One goroutine accepts, one serves each connection; all are waited for when
// Run returns. The registry has one mutex over both its maps, held for map
// operations only: two that ask for the same notebook or path at once wait for one
// loading. Rooms run by themselves, see package roomactor.
//
// # One daemon per socket
//
// A lock file beside the socket is locked by the operating system for as long as
// the daemon lives; the text in it is for people. Who does not get the lock leaves
// the socket alone. Who gets it may replace whatever socket file is there.
package daemon
