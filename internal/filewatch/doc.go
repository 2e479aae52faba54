// Package filewatch tells when files change: any number of them with one watch
// of the system, of which a user may have only a hundred or so.
//
//	w, err := watcher.Watch(path)
//	for {
//		select {
//		case <-w.Changes(): // look at the file
//		case <-w.Done():
//			return
//		}
//	}
//
// # Concurrency
//
//   - Order: none between files. Several changes of a file that nobody has looked
//     at yet are told once.
//   - Blocking: nobody waits for a slow receiver.
//   - Ownership: a Watcher has one goroutine from the first file on. A Watch has none.
//   - Shutdown: Close ends the goroutine and every Watch, and waits.
//
// What is watched is the folder, so a file that does not exist yet, or is put in
// place by a rename, is heard of too. When the folder itself is removed nothing
// more is heard. After an overflow in the system every file counts as changed.
package filewatch
