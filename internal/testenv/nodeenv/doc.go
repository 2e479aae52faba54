// Package nodeenv runs MCP software that is written for Node: the conformance
// suite, the inspector and the TypeScript library, which scripts/conformance
// installs into the cache at first use, with the Node that they need. Only tests
// import it.
package nodeenv
