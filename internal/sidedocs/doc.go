// Package sidedocs makes the two small documents that accompany a notebook for
// peers that want them: the state of widgets and the comment threads. This
// program keeps and passes on what peers write there and writes nothing itself
// but the first change, which all replicas share.
package sidedocs
