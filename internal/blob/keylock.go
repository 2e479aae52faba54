package blob

import "sync"

// keyLock is a lock for every key. Unlike a mutex it may be held across IO:
// only callers with the same key wait.
type keyLock struct {
	mu   sync.Mutex // guards held; taken only to look and to change it
	held map[string]*holder
}

type holder struct {
	sync.Mutex
	users int // guarded by keyLock.mu
}

// lock waits for the key and returns the function that gives it back.
func (k *keyLock) lock(key string) (unlock func()) {
	k.mu.Lock()
	if k.held == nil {
		k.held = map[string]*holder{}
	}
	h := k.held[key]
	if h == nil {
		h = &holder{}
		k.held[key] = h
	}
	h.users++
	k.mu.Unlock()
	h.Lock()
	return func() {
		h.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(k.held, key)
		}
	}
}
