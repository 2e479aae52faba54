package roomactor

// diskRead compares the file with what the room read or wrote last.
func (r *Room) diskRead(path string, data []byte, err error) {
	if path != r.path || err != nil || hashBytes(data) == r.file.hash {
		return
	}
	r.log.Info("file changed by another program", "path", path)
}
