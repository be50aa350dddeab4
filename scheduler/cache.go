package scheduler

import "sync"

// cache keeps so many values that never change, and forgets all of them when there are more.
type cache[K comparable, V any] struct {
	max    int
	mu     sync.Mutex
	values map[K]V
}

func newCache[K comparable, V any](most int) *cache[K, V] {
	return &cache[K, V]{max: most, values: make(map[K]V)}
}

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values[key]
	return v, ok
}

func (c *cache[K, V]) put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.values) >= c.max {
		clear(c.values)
	}
	c.values[key] = value
}
