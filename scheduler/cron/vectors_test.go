package cron_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// vector is an answer of the original Java class (XXL-JOB 3.5), run with start year 2026.
type vector struct {
	Expr       string
	TZ         string
	After      time.Time
	Next       []string
	Error      bool
	Stage      string
	Quirk      string
	Documented []string // what it should have answered, where it has its documented defect
}

func loadVectors(t testing.TB) []vector {
	t.Helper()
	f, err := os.Open("testdata/vectors.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.NewDecoder(z).Decode(&vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

var parser2026 = cron.Parser{StartYear: 2026}

// nextTimes lists up to n times. An evaluation error ends the list.
func nextTimes(e *cron.Expression, after time.Time, loc *time.Location, n int) ([]time.Time, error) {
	var times []time.Time
	for range n {
		next, err := e.Next(after, loc)
		if err != nil || next.IsZero() {
			return times, err
		}
		times = append(times, next)
		after = next
	}
	return times, nil
}

func TestVectorsOfTheOriginal(t *testing.T) {
	t.Parallel()
	vectors := loadVectors(t)
	if len(vectors) != 2000 {
		t.Fatalf("read %d vectors, want 2000", len(vectors))
	}
	for _, v := range vectors {
		e, err := parser2026.Parse(v.Expr)
		if v.Error && v.Stage == "parse" {
			if _, ok := errors.AsType[*cron.ParseError](err); !ok {
				t.Errorf("%q: got %v (%v), want a parse error", v.Expr, e, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", v.Expr, err)
			continue
		}
		times, err := nextTimes(e, v.After, location(t, v.TZ), 5)
		if v.Error {
			if _, ok := errors.AsType[*cron.EvalError](err); !ok {
				t.Errorf("%q: got %v (%v), want an evaluation error", v.Expr, times, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", v.Expr, err)
			continue
		}
		want := v.Next
		if v.Quirk != "" {
			want = v.Documented
		}
		got := []string{}
		for _, n := range times {
			got = append(got, n.Format(time.RFC3339))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q after %s in %s (-want +got):\n%s", v.Expr, v.After.Format(time.RFC3339), v.TZ, diff)
		}
	}
}
