package scheduler

import (
	"context"
	"sync"

	"github.com/punctual-job/punctual/db"
)

// sourceCache keeps the sources of GLUE jobs by version, so that a script job that runs every second does not read its
// text from the database every second.
type sourceCache struct {
	mu    sync.Mutex
	byJob map[int64]source
	bytes int
}

type source struct {
	updated int64 // epoch ms of glue_updatetime
	text    string
}

const maxSourceBytes = 32 << 20

func newSourceCache() *sourceCache { return &sourceCache{byJob: make(map[int64]source)} }

// has gives a job's source where it is kept.
func (c *sourceCache) has(j *job) (text string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.byJob[j.id]
	return s.text, ok && s.updated == j.glueUpdated
}

// source gives a job's source and its version. The version sent is that of the text sent, also when it was saved anew
// after the run was claimed.
func (e *Engine) source(ctx context.Context, j *job) (text string, updated int64, err error) {
	c := e.sources
	if text, ok := c.has(j); ok {
		return text, j.glueUpdated, nil
	}
	row, err := e.queries.GetJobSource(ctx, e.cfg.Pool, j.id)
	if err != nil {
		return "", 0, db.Error(err)
	}
	s := source{text: string(row.GlueSource)}
	if row.GlueUpdateTime.Valid {
		s.updated = e.cfg.Pool.FromWall(row.GlueUpdateTime.Time).UnixMilli()
	}
	c.mu.Lock()
	if c.bytes > maxSourceBytes {
		clear(c.byJob)
		c.bytes = 0
	}
	c.bytes += len(s.text) - len(c.byJob[j.id].text)
	c.byJob[j.id] = s
	c.mu.Unlock()
	return s.text, s.updated, nil
}
