package robfig_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"

	dialect "github.com/punctual-job/punctual/scheduler/cron"
	"github.com/punctual-job/punctual/scheduler/cron/robfig"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// TestTheirRunnerRunsOurDialect lets a runner go through the first quarter of 2000, beginning at midnight of 1 January in UTC.
func TestTheirRunnerRunsOurDialect(t *testing.T) {
	shanghai, berlin := zone(t, "Asia/Shanghai"), zone(t, "Europe/Berlin")
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		ran := map[string][]string{}
		c := cron.New(cron.WithParser(robfig.Parser{}), cron.WithLocation(shanghai))
		note := func(name string) cron.FuncJob {
			return func() {
				mu.Lock()
				defer mu.Unlock()
				ran[name] = append(ran[name], time.Now().In(shanghai).Format("01-02 15:04"))
			}
		}
		for _, text := range []string{"0 30 9 ? * 2#1", "0 0 22 LW * ?", "0 0 8 L-1 1-3 ? 2000", "0 0 0 29 2 ? 2001"} {
			if _, err := c.AddJob(text, note(text)); err != nil {
				t.Fatal(err)
			}
		}
		schedule, err := robfig.Parser{Zone: berlin}.Parse("0 0 12 1 * ?") // another zone than the runner's
		if err != nil {
			t.Fatal(err)
		}
		c.Schedule(schedule, note("noon in Berlin"))
		c.Start()
		time.Sleep(91 * 24 * time.Hour)
		<-c.Stop().Done()
		for name, want := range map[string][]string{
			"0 30 9 ? * 2#1":       {"01-03 09:30", "02-07 09:30", "03-06 09:30"},
			"0 0 22 LW * ?":        {"01-31 22:00", "02-29 22:00", "03-31 22:00"},
			"0 0 8 L-1 1-3 ? 2000": {"01-30 08:00", "02-28 08:00", "03-30 08:00"},
			"0 0 0 29 2 ? 2001":    nil, // there is no such day, and the runner goes on
			"noon in Berlin":       {"01-01 19:00", "02-01 19:00", "03-01 19:00"},
		} {
			if !slices.Equal(ran[name], want) {
				t.Errorf("%s ran at %v, want %v", name, ran[name], want)
			}
		}
	})
}

func TestWhatIsWrongIsSaidWhenItIsParsed(t *testing.T) {
	t.Parallel()
	var parse *dialect.ParseError
	if schedule, err := (robfig.Parser{}).Parse("0 0 9 * * MON"); !errors.As(err, &parse) || schedule != nil {
		t.Errorf("two days: %v, %v", schedule, err)
	}
	var eval *dialect.EvalError
	if schedule, err := (robfig.Parser{}).Parse("0 0 9 1 L ?"); !errors.As(err, &eval) || schedule != nil {
		t.Errorf("a month without a value: %v, %v", schedule, err)
	}
}

// TestTheirParserCannotReadUsersTexts counts what docs/decisions.md says: what becomes of the recorded answers of XXL-JOB when
// robfig/cron's own parser reads the texts, with all that it offers.
func TestTheirParserCannotReadUsersTexts(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../testdata/vectors.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Expr  string
		TZ    string
		After time.Time
		Next  []string
		Error bool
	}
	if err := json.NewDecoder(z).Decode(&vectors); err != nil {
		t.Fatal(err)
	}
	theirs := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	var valid, refused, wrong, right int
	for _, v := range vectors {
		if v.Error {
			continue
		}
		valid++
		schedule, err := theirs.Parse(v.Expr)
		if err != nil {
			refused++
			continue
		}
		at := v.After.In(zone(t, v.TZ))
		same := true
		for _, want := range v.Next {
			at = schedule.Next(at)
			recorded, err := time.Parse(time.RFC3339, want)
			if err != nil {
				t.Fatal(err)
			}
			same = same && at.Equal(recorded)
		}
		if same {
			right++
		} else {
			wrong++
		}
	}
	if valid != 1735 || refused != 1066 || wrong != 56 || right != 613 {
		t.Errorf("of %d texts robfig/cron's parser refuses %d, reads %d otherwise and %d the same: correct docs/decisions.md", valid, refused, wrong, right)
	}
}
