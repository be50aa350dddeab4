package flow

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// jobBook is the jobs of a test.
type jobBook map[int64]Job

func (b jobBook) Find(ref JobRef) (Job, bool, error) {
	if ref.ID == 500 {
		return Job{}, false, errors.New("the database is away")
	}
	if ref.Description != "" {
		for _, j := range b {
			if j.Title == ref.Description && ref.AppName == "app" {
				return j, true, nil
			}
		}
		return Job{}, false, nil
	}
	return b.Get(ref.ID)
}

func (b jobBook) Get(id int64) (Job, bool, error) {
	j, ok := b[id]
	return j, ok, nil
}

func TestTheJobsOfAFlowAreValidated(t *testing.T) {
	t.Parallel()
	book := jobBook{}
	for _, j := range []Job{
		{ID: 1, Title: "plain", MayRun: true},
		{ID: 2, Title: "flow", IsFlow: true, MayRun: true, Next: []int64{1, 404}},
		{ID: 3, Title: "forbidden"},
		{ID: 9, Title: "self", IsFlow: true, MayRun: true},
		{ID: 10, Title: "starts self", MayRun: true, Next: []int64{1, 9}},
		{ID: 11, Title: "starts it at last", MayRun: true, Next: []int64{11, 1, 10}},
		{ID: 12, Title: "sub-flow", IsFlow: true, MayRun: true, Next: []int64{11}},
	} {
		book[j.ID] = j
	}
	for _, tt := range []struct {
		name string
		step string
		self int64
		next []int64
		want string
	}{
		{"a job", "job: 1", 9, nil, ""},
		{"a job by its name", "job: {app_name: app, description: plain}", 9, nil, ""},
		{"a flow", "flow: 2", 9, nil, ""},
		{"no job", "job: 404", 9, nil, "a 3 job job_gone [Value #404]"},
		{"no job of a name", "job: {app_name: app, description: x}", 9, nil, "a 3 job job_gone [Value app / x]"},
		{"a flow as a job", "job: 2", 9, nil, "a 3 job is_flow [Value #2]"},
		{"a job as a flow", "flow: 1", 9, nil, "a 3 flow no_flow [Value #1]"},
		{"a job that may not be run", "job: 3", 9, nil, "a 3 job may_not [Value #3]"},
		{"itself", "flow: 9", 9, nil, "a 3 flow circle [Ring #9 self → #9 self]"},
		{"a job whose child it is", "job: 10", 9, nil, "a 3 job circle [Ring #9 self → #10 starts self → #9 self]"},
		{"a flow that uses such a job", "flow: 12", 9, nil, "a 3 flow circle [Ring #9 self → #12 sub-flow → #11 starts it at last → #10 starts self → #9 self]"},
		{"a flow that is not there yet", "flow: 12", 0, nil, ""},
		{"children that lead back", "job: 1", 9, []int64{1, 10}, " 0 children circle [Ring #9 self → #10 starts self → #9 self]"},
		{"jobs that start each other elsewhere", "job: 11", 8, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			def, err := Parse([]byte("steps:\n  - id: a\n    " + tt.step + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			faults, err := Validate(def, Job{ID: tt.self, Title: "self", IsFlow: true, Next: tt.next}, book)
			if err != nil {
				t.Fatal(err)
			}
			if got := said(faults); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	def := &Definition{Steps: []Step{{ID: "a", Job: &JobRef{ID: 500}}}}
	if _, err := Validate(def, Job{ID: 9}, book); err == nil {
		t.Error("a book that cannot be read is no error")
	}
}

// said is what faults say, short.
func said(faults Faults) string {
	var list []string
	for _, f := range faults {
		key := f.Key[strings.Index(f.Key, "error.")+len("error."):]
		text := fmt.Sprintf("%s %d %s %s", f.Step, f.Line, f.Name, key)
		if len(f.Args) > 0 {
			text += fmt.Sprintf(" %v", f.Args)
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}
