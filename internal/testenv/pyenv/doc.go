// Package pyenv finds a Python with ipykernel for tests that run real kernels,
// and makes one when the machine has none.
//
// It asks, in this order: the interpreter named by RUNT_TEST_PYTHON, python3 on PATH, a virtual
// environment in the user's cache folder, which is made with the packages it
// needs when it is missing. A file lock keeps test processes that run at the
// same time from making it twice. Found once, the answer is kept for the
// process; Python may be called by several goroutines at once. Only tests may import this package.
package pyenv
