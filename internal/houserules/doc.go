// Package houserules holds no code, only tests that read the sources of the
// whole module: layers and their imports, sizes of files and functions,
// comments, what core packages and tests may use, and what no file of the
// repository may contain. Each failure says which rule was broken and why
// there is such a rule.
package houserules
