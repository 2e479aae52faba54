// Package jmsg turns Jupyter messages (protocol 5.x) into ZMQ frames and back,
// with their HMAC signature.
//
// On the wire a message is: any number of routing frames, the delimiter
// <IDS|MSG>, the signature in hex, header, parent header, metadata and content
// as JSON, then raw buffers. The signature covers the four JSON frames as
// they were sent, byte for byte, so Decode keeps content and metadata raw.
//
// Values of this package may be used by several goroutines at once. It does no
// IO and knows no time: dates come in with the header.
package jmsg
