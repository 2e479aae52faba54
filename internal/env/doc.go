// Package env answers one question: which command starts the kernel of this
// notebook? It finds the kernelspecs and Python interpreters of the machine,
// checks that ipykernel is there, and makes a private Python environment when
// nothing fits or when a notebook names its own dependencies.
//
// A Python notebook gets the first of these:
//
//  1. an environment of its own, when it names dependencies: one per set of
//     them, shared by all notebooks that name the same set;
//  2. the kernelspec it names, when that is not one of the generic Python
//     names and is installed;
//  3. the .venv beside it or in the nearest folder above;
//  4. the environment in VIRTUAL_ENV, then the one in CONDA_PREFIX;
//  5. the installed kernelspec python3;
//  6. the private environment that runt makes with uv, or with venv and pip
//     where uv cannot be had.
//
// An environment that the user chose (3 and 4) and that lacks ipykernel is an
// error that names the interpreter and the command to run, never a reason to
// start another Python in its place.
//
// # Concurrency
//
// A Resolver may be used by many goroutines. It starts none of its own, so
// there is nothing to close. Every subprocess has a time limit, ends with its
// caller's context, and is killed together with its children. Private
// environments are made under an OS file lock per dependency set: of several
// goroutines, rooms or daemons that race, one makes the environment and the
// others wait and use it. An environment becomes visible by one rename of its
// record, after it was checked; what a crashed builder left is never used.
//
// Once an environment or interpreter is known good, resolving costs a few
// calls of stat: facts are kept in memory and in files, and hold as long as the
// interpreter and its package folders have the modification times they had.
package env
