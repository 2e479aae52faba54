// Package mcpserver offers live notebooks to MCP clients: it serves the tools
// of package toolspec over stdio, and runs the same tools for the shell.
package mcpserver
