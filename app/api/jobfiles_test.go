package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/locales"
)

// TestAFolderOfTooManyJobsIsToldWhatToDo: each of its files may be small, so that to split them helps nobody.
func TestAFolderOfTooManyJobsIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	var files []jobFile
	for n := range 3 {
		f := jobfile.File{Groups: []jobfile.Group{{AppName: fmt.Sprintf("team-%d", n)}}}
		for i := range jobfile.MaxJobs/3 + 1 {
			f.Groups[0].Jobs = append(f.Groups[0].Jobs, jobfile.Job{Values: jobfile.Values{"description": {fmt.Sprint(i)}, "schedule": {"NONE"}}})
		}
		raw, err := jobfile.Write(f, jobfile.YAML)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, jobFile{Name: fmt.Sprint(n), Text: string(raw)})
	}
	_, err := oneFile(files)
	p := problem.From(err)
	if p == nil || len(p.Fields) != 1 {
		t.Fatalf("%v", err)
	}
	if text := p.Fields[0].Text(locales.New().Printer("en")); !strings.Contains(text, "a folder and a source for each team") {
		t.Error(text)
	}
	// The same where their size is too much.
	for n := range files {
		files[n].Text += "#" + strings.Repeat("x", jobfile.MaxBytes/2)
	}
	p = problem.From(func() error { _, err := oneFile(files); return err }())
	if p == nil || len(p.Fields) != 1 {
		t.Fatalf("%v", p)
	}
	if text := p.Fields[0].Text(locales.New().Printer("en")); !strings.Contains(text, "3 MB") || !strings.Contains(text, "a folder and a source for each team") {
		t.Error(text)
	}
}
