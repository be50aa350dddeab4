package route

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"slices"
	"sort"
	"strconv"
	"sync"
)

// virtualNodes is how many points of the ring an address has (docs/compat.md §4.7).
const virtualNodes = 100

// ring is a consistent-hash ring that answers as upstream's does.
type ring struct {
	addresses []string
	points    []point
}

type point struct {
	hash    uint32
	address string
}

func newRing(addresses []string) *ring {
	r := &ring{addresses: slices.Clone(addresses), points: make([]point, 0, len(addresses)*virtualNodes)}
	for _, a := range addresses {
		for i := range virtualNodes {
			r.points = append(r.points, point{hash("SHARD-" + a + "-NODE-" + strconv.Itoa(i)), a})
		}
	}
	// Stable, so that of two points with one hash the later address wins, as in upstream's sorted map.
	slices.SortStableFunc(r.points, func(a, b point) int { return cmp.Compare(a.hash, b.hash) })
	return r
}

func (r *ring) pick(jobID int64) string {
	key := hash(strconv.FormatInt(jobID, 10))
	i := sort.Search(len(r.points), func(i int) bool { return r.points[i].hash >= key })
	if i == len(r.points) {
		i = 0
	}
	for i+1 < len(r.points) && r.points[i+1].hash == r.points[i].hash {
		i++
	}
	return r.points[i].address
}

// hash is the first four bytes of the MD5, read little-endian.
func hash(s string) uint32 {
	sum := md5.Sum([]byte(s))
	return binary.LittleEndian.Uint32(sum[:4])
}

// ringCache keeps the rings of the address lists in use; upstream rebuilds one, 100 hashes an address, at every trigger.
type ringCache struct {
	mu    sync.Mutex
	rings map[string]*ring
}

const maxRings = 256

func (c *ringCache) pick(jobID int64, addresses []string) string {
	key := ""
	for _, a := range addresses {
		key += a + "\n"
	}
	c.mu.Lock()
	r := c.rings[key]
	if r == nil {
		if c.rings == nil || len(c.rings) >= maxRings {
			c.rings = make(map[string]*ring)
		}
		r = newRing(addresses)
		c.rings[key] = r
	}
	c.mu.Unlock()
	return r.pick(jobID)
}
