package manage

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// ScriptMerge is what somebody typed into an editor, merged with what somebody else stored meanwhile.
type ScriptMerge struct {
	Text      string           // what both changed is in it as it was typed
	Theirs    int              // the places that differ from before as they were stored
	Mine      int              // and as they were typed
	Conflicts []ScriptConflict // the places that both changed, to something else
}

// ScriptConflict is a place that both changed, or changed so close to each other that no line between them is as it was.
type ScriptConflict struct {
	Mark               string // names it among those of the same texts
	Line               int    // of [ScriptMerge.Text], from 1, where what was typed stands or, if that is nothing, stood
	Base, Mine, Theirs []string
}

// scriptChange takes lines of one text for some of the one before.
type scriptChange struct {
	start, end int // of the lines before
	lines      []string
}

func scriptChanges(base, text []string) []scriptChange {
	diffs := lcs.DiffLines(base, text)
	changes := make([]scriptChange, len(diffs))
	for i, d := range diffs {
		changes[i] = scriptChange{d.Start, d.End, text[d.ReplStart:d.ReplEnd]}
	}
	return changes
}

// MergeScripts merges two texts that were made of one, line by line. Of the places that both changed those of the marks are taken as they
// are stored, all others as they were typed.
func MergeScripts(base, mine, theirs string, take ...string) ScriptMerge {
	lines := func(text string) []string { return strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") }
	was := lines(base)
	my, their := scriptChanges(was, lines(mine)), scriptChanges(was, lines(theirs))
	var merge ScriptMerge
	var out []string
	at := 0 // of the lines before
	for len(my)+len(their) > 0 {
		start := len(was)
		for _, side := range [][]scriptChange{my, their} {
			if len(side) > 0 {
				start = min(start, side[0].start)
			}
		}
		// What begins where another one ends belongs to it: nobody knows which of the two comes first.
		end, m, t := start, 0, 0
		for grows := true; grows; {
			grows = false
			for ; m < len(my) && my[m].start <= end; m++ {
				end, grows = max(end, my[m].end), true
			}
			for ; t < len(their) && their[t].start <= end; t++ {
				end, grows = max(end, their[t].end), true
			}
		}
		out = append(out, was[at:start]...)
		at = end
		a, b := withChanges(was, start, end, my[:m]), withChanges(was, start, end, their[:t])
		alone := t == 0
		my, their = my[m:], their[t:]
		switch {
		case alone:
			merge.Mine++
			out = append(out, a...)
			continue
		case m == 0, slices.Equal(a, b), addsTo(was[start:end], a, b):
			merge.Theirs++
			out = append(out, b...)
			continue
		case addsTo(was[start:end], b, a):
			merge.Mine++
			out = append(out, a...)
			continue
		}
		c := ScriptConflict{Line: len(out) + 1, Base: was[start:end], Mine: a, Theirs: b}
		c.Mark = mark(strconv.Itoa(start) + "\x00" + strings.Join(a, "\n") + "\x00" + strings.Join(b, "\n"))
		if slices.Contains(take, c.Mark) {
			merge.Theirs++
			out = append(out, b...)
			continue
		}
		merge.Conflicts = append(merge.Conflicts, c)
		out = append(out, a...)
	}
	merge.Text = strings.Join(append(out, was[at:]...), "\n")
	return merge
}

// addsTo says whether two people did the same to some lines, and the second of them added more at one place of it.
func addsTo(was, a, b []string) bool {
	if len(b) <= len(a) || len(a) < max(len(was), 1) {
		return false
	}
	same := 0
	for same < len(a) && a[same] == b[same] {
		same++
	}
	return slices.Equal(a[same:], b[len(b)-len(a)+same:])
}

// withChanges is a stretch of lines with the changes within it.
func withChanges(was []string, start, end int, changes []scriptChange) (lines []string) {
	for _, c := range changes {
		lines = append(append(lines, was[start:c.start]...), c.lines...)
		start = c.end
	}
	return append(lines, was[start:end]...)
}

// ScriptOf is the text of a job's script at a version ([GlueVersion]): what an editor began with. ok is false where it is not kept, as the
// text of an XXL-JOB job before its first change.
func (s *Jobs) ScriptOf(ctx context.Context, p auth.Principal, j db.Job, version string) (text string, ok bool, err error) {
	if version == GlueVersion(j) {
		return string(j.GlueSource), true, nil
	}
	rows, err := s.GlueVersions(ctx, p, j.ID)
	if err != nil {
		return "", false, err
	}
	for _, r := range rows {
		v, err := s.glueVersion(ctx, s.cfg.Pool, j.ID, r.ID)
		if err != nil {
			return "", false, fmt.Errorf("read what an editor began with: %w", err)
		}
		if GlueVersion(db.Job{GlueUpdateTime: v.AddTime, GlueSource: v.GlueSource}) == version {
			return string(v.GlueSource), true, nil
		}
	}
	return "", false, nil
}
