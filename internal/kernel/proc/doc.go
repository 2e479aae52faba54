// Package proc answers questions about processes by number, and ends process
// groups, without mistaking one process for another that got its number later.
//
// The functions hold no state, start no goroutine, and may be called by
// several goroutines at once. Those that wait take a context and return by its end.
package proc
