package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db/dbtest"
)

// TestTheBreakIsFound measures a machine that follows 3,000 runs a second and records 3,200 at most, fewer when it is offered more.
func TestTheBreakIsFound(t *testing.T) {
	t.Parallel()
	var asked []int
	points, err := findBreak(func(rate int) (point, error) {
		asked = append(asked, rate)
		p := point{offered: rate, recorded: float64(rate), p99: 5}
		if rate > 3000 {
			p.recorded, p.p99 = 3200-float64(rate)/100, 4000
		}
		return p, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{500, 1000, 2000, 4000, 3000, 3500, 6330, 9495}, asked); diff != "" {
		t.Errorf("rates (-want +got):\n%s", diff)
	}
	if n := len(points); n != 8 || points[4].followed() != true || points[5].followed() {
		t.Errorf("%+v", points)
	}
}

func TestTheCurveEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken, calls := errors.New("broken"), 0
	points, err := findBreak(func(rate int) (point, error) {
		if calls++; rate > 1000 {
			return point{}, broken
		}
		return point{offered: rate, recorded: float64(rate)}, nil
	})
	if !errors.Is(err, broken) || len(points) != 2 || calls != 3 {
		t.Errorf("%v, %d points, %d calls", err, len(points), calls)
	}
}

func TestTheCommandTellsNoPassword(t *testing.T) {
	t.Parallel()
	const secret = "mysql://root:hunter2@host/empty"
	for _, args := range [][]string{{"punctual", "bench", "--database-url", secret}, {"punctual", "bench", "--database-url=" + secret, "-o", "json"}} {
		if got := command(args); strings.Contains(got, "hunter2") || !strings.HasPrefix(got, "punctual bench --database-url") {
			t.Errorf("%q", got)
		}
	}
}

func TestFlagsThatDoNotGoTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    Settings
		want error
	}{
		{Settings{Database: []string{given}}, errNoURL},
		{Settings{Database: []string{embedded}, Only: "no such scenario"}, errNothing},
	} {
		if err := Run(t.Context(), c.s, "test", &bytes.Buffer{}); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}

// TestAGivenDatabaseIsLeftAsItWas: one that holds something is refused, and an empty one is empty again.
func TestAGivenDatabaseIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDB(t)
	s := Settings{URL: url, out: &results{plain: &bytes.Buffer{}}}
	s.out.begin()
	y, err := newSystem(t.Context(), s, given)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := y.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	made, err := tablesOf(t.Context(), pool)
	if err != nil || len(made) < 10 {
		t.Fatalf("%d tables, %v", len(made), err)
	}
	if _, err := newSystem(t.Context(), s, given); err == nil || !strings.Contains(err.Error(), "--database-url") {
		t.Errorf("a database in use is taken: %v", err)
	}
	if err := y.close(); err != nil {
		t.Fatal(err)
	}
	if left, err := tablesOf(t.Context(), pool); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if text := s.out.Databases[given]; !strings.Contains(text, "innodb_flush_log_at_trx_commit") {
		t.Errorf("the database's settings: %q", text)
	}
}

func TestResultsAreDataToo(t *testing.T) {
	t.Parallel()
	for _, output := range []string{"table", "json"} {
		var out bytes.Buffer
		s := Settings{out: &results{plain: &out, json: output == "json", Machine: machine("1.2")}}
		s.out.begin()
		s.out.database(embedded, "as it is")
		s.reportPoint(embedded, point{offered: 500, recorded: 499.6, p50: 0.4, p99: 1.9, admin: .2, memory: 50})
		if err := s.out.end(); err != nil {
			t.Fatal(err)
		}
		if output == "table" {
			for _, want := range []string{"punctual 1.2", "as it is", "500/s offered", "recorded 500/s; lateness p50 0.4 p99 1.9 ms"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
			continue
		}
		var read struct {
			Machine   host
			Databases map[string]string
			Results   []row
		}
		if err := json.Unmarshal(out.Bytes(), &read); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		if read.Machine.Version != "1.2" || read.Databases[embedded] == "" || len(read.Results) != 1 || read.Results[0].Figures[1] != (figure{"recorded", 499.6, "runs/s"}) {
			t.Errorf("%+v", read)
		}
	}
}
