package ui

import (
	"cmp"
	"strconv"

	"github.com/punctual-job/punctual/views/format"
)

// JobPicker is a field of job ids ([PickJobs]): a text, which is what is sent. A script puts a search and the jobs' names in its place.
type JobPicker struct {
	Field  Field
	Plain  bool        // the text stays: something stands in it that is no id
	Single bool        // of one job
	Chosen []PickedJob // of the field's value
	Search string      // where jobs are looked for; the answer is [JobHits]
	Hint   string      // what jobs are looked for by
	Help   string      // below the search; may be empty
	Mark   string      // begins the ids, where a page may have two
}

// PickedJob is a job in a picker.
type PickedJob struct {
	ID    int64
	Name  string // empty for one that is gone or that the user may not see
	Group string
	Ring  string // why it cannot be picked, ready to print
}

// FieldJobSearch is the picker's own field. It is sent along with the form and means nothing there.
const FieldJobSearch = "job_search"

func (j PickedJob) title() string { return cmp.Or(j.Name, "#"+format.Digits(j.ID)) }

func (j PickedJob) sub() string {
	if j.Name == "" {
		return ""
	}
	text := "#" + format.Digits(j.ID)
	if j.Group != "" {
		text += " · " + j.Group
	}
	return text
}

func hitID(mark string, i int) string { return mark + "job-hit-" + strconv.Itoa(i) }
