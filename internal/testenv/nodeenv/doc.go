// Package nodeenv runs MCP software of others: the conformance suite, the
// inspector and the TypeScript library with the Node that they need, and the
// library for Python. scripts/conformance installs them into the cache at first
// use. Only tests import it.
package nodeenv
