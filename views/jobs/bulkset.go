package jobs

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// Marked is a job of a deed, with the version that its preview saw, or with what an undo goes back to.
type Marked struct {
	ID   int64
	Mark string
}

// BulkTold is what became of a job.
type BulkTold struct {
	ID      int64
	Outcome string // good, same, bad, later as [bulkLook], or lost: good, and nobody remembers what it was
	Text    string // what an undo goes back to, the problem, or why later
	Name    string // only of those that are shown
}

const (
	shownItems = 300     // beyond that a list is counted
	maxTold    = 1 << 20 // bytes; beyond that it is not remembered what an undo would go back to
	lostGood   = "lost"
)

// encode64 and the separators keep texts of jobs, which may hold anything, apart.
var encode64 = base64.RawURLEncoding

func writeSet(set []Marked) string {
	var b strings.Builder
	for _, m := range set {
		b.WriteString(strconv.FormatInt(m.ID, 10) + ":" + encode64.EncodeToString([]byte(m.Mark)) + ",")
	}
	return b.String()
}

// ReadSet reads the jobs that a form carries.
func ReadSet(text string) (set []Marked, ok bool) {
	ok = readParts(text, 2, func(id int64, texts []string) bool {
		set = append(set, Marked{ID: id, Mark: texts[0]})
		return true
	})
	return set, ok
}

func writeTold(told []BulkTold) string {
	var b strings.Builder
	for _, t := range told {
		b.WriteString(strconv.FormatInt(t.ID, 10))
		for _, text := range []string{t.Outcome, t.Text, t.Name} {
			b.WriteString(":" + encode64.EncodeToString([]byte(text)))
		}
		b.WriteByte(',')
	}
	return b.String()
}

// ReadTold reads what a form carries of the jobs that are done.
func ReadTold(text string) (told []BulkTold, ok bool) {
	ok = readParts(text, 4, func(id int64, texts []string) bool {
		t := BulkTold{ID: id, Outcome: texts[0], Text: texts[1], Name: texts[2]}
		told = append(told, t)
		return slices.Contains([]string{"good", "same", "bad", "later", lostGood}, t.Outcome)
	})
	return told, ok
}

func readParts(list string, n int, each func(id int64, texts []string) bool) bool {
	for part := range strings.SplitSeq(strings.TrimSuffix(list, ","), ",") {
		if list == "" {
			return true
		}
		texts := strings.Split(part, ":")
		id, err := strconv.ParseInt(texts[0], 10, 64)
		if err != nil || id <= 0 || len(texts) != n {
			return false
		}
		for i, text := range texts[1:] {
			raw, err := encode64.DecodeString(text)
			if err != nil {
				return false
			}
			texts[i+1] = string(raw)
		}
		if !each(id, texts[1:]) {
			return false
		}
	}
	return true
}

// Fix notes the jobs of a preview, each with its version, so that the deed is for those and no others.
func (p *BulkPage) Fix(choosing bool) {
	p.All = true
	for _, i := range p.Items {
		if i.Problem == "" && (i.Changes || choosing) {
			p.Rest = append(p.Rest, Marked{ID: i.ID, Mark: i.Version})
		}
	}
}

// GoOn adds what became of the newest part of a deed to what is known of the others.
func (p *BulkPage) GoOn(told []BulkTold, rest []Marked, undoing bool) {
	p.All, p.Rest, p.Undoing = true, rest, undoing
	size := 0
	for _, t := range told {
		size += len(t.Text) + len(t.Name)
	}
	for _, i := range p.Items {
		t := BulkTold{ID: i.ID}
		_, t.Outcome = bulkLook(i)
		switch {
		case i.Problem != "":
			t.Text = i.Problem
		case i.Later != "":
			t.Text = i.Later
		case i.Changes && size > maxTold:
			t.Outcome = lostGood
		case i.Changes:
			t.Text = i.Was
		}
		if len(told) < shownItems || i.Problem != "" && size <= maxTold {
			t.Name = i.Name
		}
		size += len(t.Text) + len(t.Name)
		told = append(told, t)
	}
	p.Told, p.Items, p.Count = told, nil, 0
	reversible := true
	p.Undo = nil
	for _, t := range told {
		i := BulkItem{ID: t.ID, Name: t.Name, Changes: t.Outcome == "good" || t.Outcome == lostGood}
		switch t.Outcome {
		case "bad":
			i.Problem = t.Text
		case "later":
			i.Later = t.Text
		}
		if i.Changes {
			i.Was = t.Text
			p.Count++
			p.Undo = append(p.Undo, BulkWas{ID: t.ID, Was: t.Text})
		}
		reversible = reversible && t.Outcome != lostGood
		p.Items = append(p.Items, i)
	}
	p.UndoDo = undoes[p.Do]
	if !reversible || undoing || p.UndoDo == "" {
		p.Undo, p.UndoDo = nil, ""
	}
}

// undoes is what takes a deed back.
var undoes = map[string]string{"start": "stop", "stop": "start", "pause": "resume", "move": "move", "tag": "tag", "edit": "edit", "spread": "spread"}

// Reason is why some jobs are left as they are, or are done later.
type Reason struct {
	Text  string
	Count int
}

// reasons are why some are left as they are, and why others are done later.
func (p BulkPage) reasons() (left, later []Reason) {
	same := p.T("jobs.bulk.same")
	left = p.counted(func(i BulkItem) string {
		if i.Problem == "" && i.Later == "" && !i.Changes {
			return same
		}
		return i.Problem
	})
	return left, p.counted(func(i BulkItem) string { return i.Later })
}

// counted are reasons over all jobs, the most frequent first.
func (p BulkPage) counted(why func(BulkItem) string) (list []Reason) {
	count := make(map[string]int)
	for _, i := range p.Items {
		if text := why(i); text != "" {
			count[text]++
		}
	}
	for text, n := range count {
		list = append(list, Reason{Text: text, Count: n})
	}
	slices.SortFunc(list, func(a, b Reason) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Text, b.Text)) })
	return list
}

// shown are the jobs that are listed: those with a problem come first, then those that are done later or that something uses, and where there are many the rest is counted.
func (p BulkPage) shown() []BulkItem {
	if !p.All {
		return p.Items
	}
	items := slices.Clone(p.Items)
	rank := func(i BulkItem) int {
		switch {
		case i.Problem != "":
			return 0
		case i.Later != "", len(i.Uses) > 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(items, func(a, b BulkItem) int { return rank(a) - rank(b) })
	return items[:min(len(items), shownItems)]
}

func (p BulkPage) undoSet() string {
	set := make([]Marked, 0, len(p.Undo))
	for _, w := range p.Undo {
		set = append(set, Marked{ID: w.ID, Mark: w.Was})
	}
	return writeSet(set)
}
