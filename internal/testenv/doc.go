// Package testenv is the bed that tests lie in: the programs built once per
// test run, the Python that real kernels need, short folders for sockets, and
// waiting for a condition without sleeping. Only tests import it.
//
// Its subpackages stand alone: leak finds goroutines that a test left behind.
// Failpoints are in internal/failpoint, because production code passes them.
package testenv
