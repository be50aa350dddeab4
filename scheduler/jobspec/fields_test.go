package jobspec

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/scheduler/invalid"
)

// written is a value for every field, by name.
func written(f *Field) string {
	switch f.Kind {
	case Number:
		return fmt.Sprint(f.Max)
	case Moments:
		return "2026-05-01T12:00:00Z"
	case Flag:
		return "yes"
	case Choice:
		return f.Options[len(f.Options)-1]
	case Text, List:
	}
	return "a " + f.Name
}

func full(t *testing.T) Job {
	t.Helper()
	j, faults := Read(written, time.UTC)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return j
}

// A part of a definition that is in no table would be saved by no form, kept by no file and missed by no comparison.
func TestEveryPartOfAJobIsAField(t *testing.T) {
	t.Parallel()
	j := reflect.ValueOf(full(t))
	for i := range j.NumField() {
		if name := j.Type().Field(i).Name; name != "ID" && j.Field(i).IsZero() {
			t.Errorf("Job.%s is in no entry of Fields", name)
		}
	}
}

// No two fields may mean one part, nor share a name where they are told apart by it.
func TestFieldsAreToldApart(t *testing.T) {
	t.Parallel()
	for space, name := range map[string]func(*Field) string{
		"name": func(f *Field) string { return f.Name }, "file": func(f *Field) string { return f.File }, "label": func(f *Field) string { return f.Label },
		"column": func(f *Field) string {
			if f.Column == columnConf {
				return f.Name // three fields write one column, each for some types of schedules
			}
			return f.Column
		},
	} {
		seen := make(map[string]bool)
		for _, f := range Fields {
			if name(f) == "" || seen[name(f)] {
				t.Errorf("%s: the %s %q is missing or not the only one", f.Name, space, name(f))
			}
			seen[name(f)] = true
		}
	}
	for _, f := range Fields {
		j := Job{ScheduleType: full(t).ScheduleType}
		if f.Put(&j, written(f), time.UTC) != nil || f.Name == FieldScheduleType {
			continue
		}
		for _, other := range Fields {
			if other != f && other.Column != columnConf && other.Name != FieldScheduleType && !reflect.ValueOf(other.Value(&j)).IsZero() {
				t.Errorf("%s writes what %s reads", f.Name, other.Name)
			}
		}
		if got := f.Text(&j, Notation{Zone: time.UTC, Layout: time.RFC3339, Yes: "yes"}); got != written(f) {
			t.Errorf("%s: %q is read back as %q", f.Name, written(f), got)
		}
	}
}

func TestFieldsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	for _, f := range Fields {
		switch f.Kind {
		case Choice:
			if len(f.Options) == 0 || f.Default != "" && !slices.Contains(f.Options, f.Default) || f.Words == "" {
				t.Errorf("%s: a choice has options, among them its default, and words for them", f.Name)
			}
		case Number:
			if f.Max == 0 {
				t.Errorf("%s: a number has a bound", f.Name)
			}
		case Text, List:
			if _, isText := f.Value(&Job{}).(string); !isText || f.Max == 0 && f.check == nil {
				t.Errorf("%s: a text has a length, or a rule", f.Name)
			}
		case Moments, Flag:
		}
		if (f.Since > 0) == (f.Wire != "") {
			t.Errorf("%s: XXL-JOB's fields, and no others, have a name there", f.Name)
		}
		if want := f.Since == 0 && f.Name != FieldRemark; want != slices.Contains(inVersion, f.Name) {
			t.Errorf("%s: what an XXL-JOB admin can edit, and nothing else, is part of a fingerprint", f.Name)
		}
		if f.Since > 0 {
			files, err := filepath.Glob(fmt.Sprintf("../../db/migrations/*/%05d_*.sql", f.Since))
			if err != nil || len(files) != 2 {
				t.Errorf("%s: the migration %d: %v, %v", f.Name, f.Since, files, err)
			}
			for _, name := range files {
				if raw, err := os.ReadFile(name); err != nil || !strings.Contains(string(raw), "ADD COLUMN "+f.Column+" ") {
					t.Errorf("%s adds no column %s (%v)", name, f.Column, err)
				}
			}
		}
	}
}

func TestDefaultsAndOptions(t *testing.T) {
	t.Parallel()
	want := Job{Misfire: MisfireDoNothing, Route: RouteFirst, Block: AllBlocks[0], Glue: AllGlues[0], Concurrency: ConcurrencyQueue, KeepOutput: KeepInherit, WhenLost: WhenLostFail, Priority: PriorityNormal}
	if diff := cmp.Diff(want, Job{}.WithDefaults()); diff != "" {
		t.Errorf("the defaults (-want +got):\n%s", diff)
	}
	j := full(t)
	if diff := cmp.Diff(j, j.WithDefaults()); diff != "" {
		t.Errorf("a default took a value's place:\n%s", diff)
	}
	old := Job{Zone: "UTC", Start: 5, Tags: "x", Name: "n"}
	got := j.WithOptionsOf(old)
	for _, f := range Fields {
		from := &j
		if f.Since > 0 {
			from = &old
		}
		if f.Value(&got) != f.Value(from) {
			t.Errorf("%s: got %v, want %v", f.Name, f.Value(&got), f.Value(from))
		}
	}
}

func TestReadSaysWhatIsNoValue(t *testing.T) {
	t.Parallel()
	values := map[string]string{"retries": " 3 ", "timeout": "soon", "end_at": "tomorrow", "max_concurrent": "99999999999999999999", "start_at": "2026-05-01 12:00"}
	zone := time.FixedZone("", 3600)
	j, faults := Read(func(f *Field) string { return values[f.Name] }, zone)
	want := []invalid.Field{
		{Name: "end_at", Key: CodeMoment}, {Name: "timeout", Key: CodeOutOfRange, Args: []any{"Min", 0, "Max", 999_999}},
		{Name: "max_concurrent", Key: CodeOutOfRange, Args: []any{"Min", 0, "Max", 9_999}},
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Job{Retries: 3, Start: time.Date(2026, 5, 1, 12, 0, 0, 0, zone).UnixMilli()}, j); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkValidate(b *testing.B) {
	j, _ := Read(written, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		Validate(j)
	}
}
