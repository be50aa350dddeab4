package legacy

import (
	"database/sql"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// Times as the two generations write them: the first as its JSON library does by itself, the second as people do.
const (
	firstTime  = "2006-01-02T15:04:05.000-07:00"
	secondTime = time.DateTime
)

// wall is a DATETIME column, null if it says nothing.
func (l *Legacy) wall(c *call, t sql.NullTime) any {
	if !t.Valid {
		return nil
	}
	at := l.cfg.Pool.FromWall(t.Time)
	if c.gen == first {
		return at.UTC().Format(firstTime)
	}
	return at.In(l.cfg.Pool.Zone()).Format(secondTime)
}

// moment reads a time as a filter has it.
func (l *Legacy) moment(text string) (time.Time, error) {
	return time.ParseInLocation(time.DateTime, text, l.cfg.Pool.Zone())
}

// naming says under which names a row tells what 3.5 renamed (jobDesc and title became name). A caller of 3.5 filters by the
// new name; where nothing tells, a row has both.
func (c *call) naming(old string) (before, since bool) {
	if c.gen == first {
		return true, false
	}
	before, since = c.has(old), c.has("name")
	return before || !since, !before
}

// when is a text, or nothing at all where the row has no such member.
func when(shown bool, text string) *string {
	if !shown {
		return nil
	}
	return &text
}

// page is the part of a list that somebody asks for.
type page struct{ offset, size int }

const defaultSize = 10

// page reads which part of a list is asked for, in the words of either generation.
func (c *call) page() (p page, err error) {
	offset, size := "start", "length"
	if c.gen == second {
		offset, size = "offset", "pagesize"
	}
	const most = 1 << 30
	from, n := c.number(offset, 0), c.number(size, defaultSize)
	if from < 0 || from > most {
		c.fault(offset, "job.error.out_of_range", "Min", 0, "Max", most)
	}
	if n < 1 {
		n = most // DataTables asks for everything with -1
	}
	return page{offset: int(from), size: int(min(n, most))}, c.err()
}

// limited is how many rows are read: as many as asked for, but no more than most.
func (p page) limited(most int) int { return min(p.size, most) }

// complete refuses a list that was asked for as a whole and is too long to come at once. Half of it would be worse: a starter
// that does not find its job adds it again.
func (p page) complete(total int64, most int) error {
	if p.size > most && total-int64(p.offset) > int64(most) {
		return problem.New(problem.Invalid, "legacy.error.rows", "Total", total, "Max", most)
	}
	return nil
}

// slice is the page of a list that is in memory.
func slice[T any](all []T, p page) []T {
	from := min(p.offset, len(all))
	return all[from:min(len(all), from+min(p.size, len(all)))]
}

// named gives the fields of a refusal the names that the caller's parameters have.
func named(err error, names map[string]string) error {
	p := problem.From(err)
	if p == nil || len(p.Fields) == 0 {
		return err
	}
	q := *p
	q.Fields = make([]problem.Field, len(p.Fields))
	for i, f := range p.Fields {
		if name, ok := names[f.Name]; ok {
			f.Name = name
		}
		q.Fields[i] = f
	}
	return &q
}

// isChanged says that somebody else was faster, and that it is worth another try.
func isChanged(err error) bool {
	p := problem.From(err)
	return p != nil && p.Kind == problem.Conflict && p.Key == "problem.changed"
}

// tries is how often a change is tried that is made of what is stored and of what was sent.
const tries = 3

// inGroup refuses a filter by a group that somebody may not use, as upstream does.
func inGroup(p auth.Principal, group int64) error {
	if group > 0 && !p.CanUseGroup(group) {
		return &problem.Error{Kind: problem.Forbidden}
	}
	return nil
}

func str(t db.Text) string { return string(t) }
