// Command bench measures what the work of an agent costs, beside what the same
// work costs at the least: a kernel spoken to directly, jupyter_client, and,
// where they are installed, nteract's daemon and Python client.
//
// Everything is measured in one run, in turns, because machines differ and
// change: read the ratios. `make bench` runs it on the programs in bin/.
//
//	bench -bin bin -python PYTHON            everything, as a table
//	bench -only execute,stages -n 500 -json  some of it, for a program to read
//
// The daemon that is measured is one of its own, in a temporary folder, and is
// gone afterwards. RUNT_PEERS names the folder of nteract's programs: bin/daemon
// SOCKET starts the daemon, bin/python has the module runtimed.
package main
