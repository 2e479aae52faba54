// Package kernelcases holds end-to-end tests of what a kernel does to a notebook
// and what an agent reads of it: real kernels, a real daemon in the test's
// process, and the MCP tools over pipes. It has no code of its own.
//
// The tests are named after the cases that they keep true: TestK.. after the
// rows about kernels, TestC... after reports of what went wrong in notebook
// systems. One daemon and a few kernels serve all of them: a test
// borrows a notebook whose kernel runs, and must leave the kernel idle. Whoever
// kills, restarts or floods a kernel makes a notebook of its own.
package kernelcases
