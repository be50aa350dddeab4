package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/locales"
)

// TestAFolderOfTooManyJobsIsToldWhatToDo: each of its files may be small, so that to split them helps nobody. It may have more than one file.
func TestAFolderOfTooManyJobsIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	var files []jobFile
	const parts = 8
	for n := range parts {
		f := jobfile.File{Groups: []jobfile.Group{{AppName: fmt.Sprintf("team-%d", n)}}}
		for i := range jobfile.MaxJobsTogether/parts + 1 {
			f.Groups[0].Jobs = append(f.Groups[0].Jobs, jobfile.Job{Values: jobfile.Values{"description": {fmt.Sprint(i)}, "schedule": {"NONE"}}})
		}
		raw, err := jobfile.Write(f, jobfile.YAML)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, jobFile{Name: fmt.Sprint(n), Text: string(raw)})
	}
	if all, err := oneFile(files[1:]); err != nil || len(all.Groups) != parts-1 {
		t.Errorf("%d groups: %v", len(all.Groups), err)
	}
	_, err := oneFile(files)
	p := problem.From(err)
	if p == nil || len(p.Fields) != 1 {
		t.Fatalf("%v", err)
	}
	if text := p.Fields[0].Text(locales.New().Printer("en")); !strings.Contains(text, "a folder and a source for each team") {
		t.Error(text)
	}

	wide := strings.Repeat("#", jobfile.MaxBytes-len(files[1].Text)-1) + "\n"
	for i := range files[1:] {
		files[i].Text = wide + files[i].Text
	}
	if _, err = oneFile(files[1:]); !strings.Contains(problem.From(err).Fields[0].Text(locales.New().Printer("en")), "larger than 12 MB") {
		t.Error(err)
	}
}

// TestDefaultsOfAFileOfTheirOwnAreThoseOfAll: what differs between installations stands in such a file.
func TestDefaultsOfAFileOfTheirOwnAreThoseOfAll(t *testing.T) {
	t.Parallel()
	job := jobFile{Name: "jobs.yaml", Text: "punctual_jobs: 1\nexecutors: [{app_name: a, jobs: [{description: x, schedule: NONE}]}]\n"}
	production := jobFile{Name: "production.yaml", Text: "punctual_jobs: 1\ndefaults: {alarm_email: [ops@example.com]}\n"}
	all, err := oneFile([]jobFile{job, production})
	if err != nil || all.Groups[0].Jobs[0].Values.Get("alarm_email") != "ops@example.com" {
		t.Errorf("%v %v", all, err)
	}
	_, err = oneFile([]jobFile{production, job, production})
	if p := problem.From(err); p == nil || len(p.Fields) != 1 || p.Fields[0].Name != "files.2:2" || p.Fields[0].Key != jobfile.CodeTwice {
		t.Errorf("two that say the same: %v", err)
	}
}
