package crontab_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	robfig "github.com/robfig/cron/v3"

	"github.com/punctual-job/punctual/app/manage/crontab"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/scheduler/cron"
)

var usual = crontab.Options{AppName: "nightly", Author: "ann"}

// drawn is a file as a test compares it.
func drawn(f jobfile.File, field string) (list []string) {
	for _, g := range f.Groups {
		for _, j := range g.Jobs {
			list = append(list, j.Values.Get(field))
		}
	}
	return list
}

func TestSchedules(t *testing.T) {
	for line, want := range map[string]string{
		"0 2 * * * x":                     "0 0 2 * * ?",
		"*/5 * * * * x":                   "0 */5 * * * ?",
		"30 9-18/2 * * 1-5 x":             "0 30 9-18/2 ? * MON-FRI",
		"0 0 * * 0 x":                     "0 0 0 ? * SUN",
		"0 0 * * 7 x":                     "0 0 0 ? * SUN",
		"0 0 * * 5-7 x":                   "0 0 0 ? * SUN,FRI,SAT",
		"0 0 * * 1,3,5 x":                 "0 0 0 ? * MON,WED,FRI",
		"0 0 * * */2 x":                   "0 0 0 ? * SUN,TUE,THU,SAT",
		"0 0 * * sun,Wed x":               "0 0 0 ? * SUN,WED",
		"0 0 1,15 * * x":                  "0 0 0 1,15 * ?",
		"0 0 1 jan-mar/2 * x":             "0 0 0 1 JAN,MAR ?",
		"0 0 1 */3 * x":                   "0 0 0 1 */3 ?",
		"5-59/15 * * * * x":               "0 5-59/15 * * * ?",
		"5,*/300 * * * * x":               "0 0,5 * * * ?",
		"0 0 */9223372036854775807 * * x": "0 0 0 1 * ?",
		"0 0 * * fri-SUN x":               "0 0 0 ? * SUN,FRI,SAT",
		"0 0 * * 6-0 x":                   "0 0 0 ? * SUN,SAT",
		"-*/15 * * * * x":                 "0 */15 * * * ?",
		"-@hourly x":                      "0 0 * * * ?",
		"*/90 * * * * x":                  "0 0 * * * ?",
		"0 0 * * 0-6 x":                   "0 0 0 * * ?",
		"0 0 15 * */1 x":                  "0 0 0 15 * ?",
		"0 0 15 * 0-7 x":                  "0 0 0 * * ?", // either of the two, and one is every day
		"0 0 */1 * 1 x":                   "0 0 0 ? * MON",
		"0\t0\t*  *\t* x":                 "0 0 0 * * ?",
		"@daily x":                        "0 0 0 * * ?",
		"@Midnight x":                     "0 0 0 * * ?",
		"@weekly x":                       "0 0 0 ? * SUN",
		"@monthly x":                      "0 0 0 1 * ?",
		"@yearly x":                       "0 0 0 1 1 ?",
		"@hourly x":                       "0 0 * * * ?",
		"0 0 * * * x % input":             "0 0 0 * * ?",
		"0 0 * * * MAIL=1 x=2 y":          "0 0 0 * * ?",
	} {
		f, notes := crontab.Convert(line, usual)
		if len(notes) > 0 || len(f.Groups) != 1 {
			t.Errorf("%s: %v", line, notes)
			continue
		}
		if got := drawn(f, "cron")[0]; got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestWhatCannotBeAJob(t *testing.T) {
	for line, want := range map[string]crontab.Note{
		"@reboot x":           {Kind: crontab.Reboot},
		"@often x":            {Kind: crontab.Macro, Text: "@often"},
		"0 2 * * *":           {Kind: crontab.Fields},
		"@daily":              {Kind: crontab.Fields},
		"hello":               {Kind: crontab.Fields},
		"60 2 * * * x":        {Kind: crontab.Value, Text: "60"},
		"0 2 0 * * x":         {Kind: crontab.Value, Text: "0"},
		"0 2 * * 8 x":         {Kind: crontab.Value, Text: "8"},
		"0 5-1 * * * x":       {Kind: crontab.Value, Text: "5-1"},
		"0 */0 * * * x":       {Kind: crontab.Value, Text: "*/0"},
		"5/15 * * * * x":      {Kind: crontab.Value, Text: "5/15"}, // some crons refuse it, the others take it for 5
		"0 0 * * fri-sun/2 x": {Kind: crontab.Value, Text: "fri-sun/2"},
		"- 2 * * * x":         {Kind: crontab.Value, Text: "-"},
		"0 */+2 * * * x":      {Kind: crontab.Value, Text: "*/+2"},
		"0 1,,2 * * * x":      {Kind: crontab.Value, Text: "1,,2"},
		"0 L * * * x":         {Kind: crontab.Value, Text: "L"},
		"0 0 1 * 1 x":         {Kind: crontab.Days},
		"0 0 */2 * 1 x":       {Kind: crontab.Both},
		"0~59 * * * * x":      {Kind: crontab.Random, Text: "0~59"},
		"0 2 * * * \xff":      {Kind: crontab.Bytes},
		"0 2 * * * a\x00b":    {Kind: crontab.Bytes},
		"0 0 " + everyOther:   {Kind: crontab.TooLong},
	} {
		want.Line = 1
		f, notes := crontab.Convert(line, usual)
		if diff := cmp.Diff([]crontab.Note{want}, notes); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
		if len(f.Groups) > 0 || !want.LeftOut() {
			t.Errorf("%q is a job: %v", line, f)
		}
	}
}

// everyOther is longer than the text of a schedule.
var everyOther = "1" + strings.Repeat(",1", 70) + " * * x"

func TestAWholeCrontab(t *testing.T) {
	raw, err := os.ReadFile("testdata/crontab")
	if err != nil {
		t.Fatal(err)
	}
	f, notes := crontab.Convert(string(raw), crontab.Options{AppName: "shop", Author: "王敏", Zone: "Asia/Shanghai"})
	file, err := jobfile.Write(f, jobfile.YAML)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		file = fmt.Appendf(file, "# line %d: %s %q %q\n", n.Line, n.Kind, n.Text, n.Name)
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("testdata/crontab.yaml", file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/crontab.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(file)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := jobfile.Parse(file); err != nil {
		t.Errorf("its own file is refused: %v", err)
	}
}

// TestSystemCrontab: each user has an executor of their own, since an executor runs as one.
func TestSystemCrontab(t *testing.T) {
	f, notes := crontab.Convert("17 * * * * root a\n25 6 * * * www_data b\n@daily root c\n0 1 * * * root\n", crontab.Options{AppName: "web1", Author: "ann", System: true})
	var got []string
	for _, g := range f.Groups {
		for _, j := range g.Jobs {
			got = append(got, g.AppName+": "+j.Description())
		}
	}
	if diff := cmp.Diff([]string{"web1-root: a", "web1-root: c", "web1-www-data: b"}, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]crontab.Note{
		{Line: 1, Kind: crontab.User, Text: "root", Name: "web1-root"},
		{Line: 2, Kind: crontab.User, Text: "www_data", Name: "web1-www-data"},
		{Line: 4, Kind: crontab.Fields},
	}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestUsersOfASystemCrontab: what a user is called need not be what an executor may be, and no two of them share one.
func TestUsersOfASystemCrontab(t *testing.T) {
	_, notes := crontab.Convert("@daily www_data a\n@daily www-data b\n@daily j.doe c\n@daily www_data d\n@daily DOM\\ann e\n", crontab.Options{AppName: "web1", System: true})
	if diff := cmp.Diff([]crontab.Note{
		{Line: 1, Kind: crontab.User, Text: "www_data", Name: "web1-www-data"},
		{Line: 2, Kind: crontab.User, Text: "www-data", Name: "web1-www-data-2"},
		{Line: 3, Kind: crontab.User, Text: "j.doe", Name: "web1-j-doe"},
		{Line: 5, Kind: crontab.User, Text: "DOM\\ann", Name: "web1-dom-ann"},
	}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestRandomDelay: cronie starts such commands later than their lines say.
func TestRandomDelay(t *testing.T) {
	f, notes := crontab.Convert("RANDOM_DELAY=30\n@daily x\n", usual)
	if diff := cmp.Diff([]crontab.Note{{Line: 1, Kind: crontab.Delay, Text: "30"}}, notes); diff != "" || len(f.Groups) != 1 || notes[0].LeftOut() {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestCommentsInAnotherEncoding are no lines that are left out.
func TestCommentsInAnotherEncoding(t *testing.T) {
	f, notes := crontab.Convert("# \xc3\xbf\xcc\xec\n@daily x\n", usual)
	if diff := cmp.Diff([]string{"x"}, drawn(f, "description")); diff != "" || len(notes) > 0 {
		t.Errorf("notes %v, jobs (-want +got):\n%s", notes, diff)
	}
}

// TestEveryJobHasANameOfItsOwn: a file finds jobs by their names.
func TestEveryJobHasANameOfItsOwn(t *testing.T) {
	f, _ := crontab.Convert("@daily x\n@hourly x\n# x (2)\n@weekly y\n@daily x", usual)
	if diff := cmp.Diff([]string{"x", "x (2)", "x (2) (2)", "x (3)"}, drawn(f, "description")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestThereIsAnEndToJobs(t *testing.T) {
	f, notes := crontab.Convert(strings.Repeat("0 0 * * * x\n", jobfile.MaxJobs+2), usual)
	if n := len(f.Groups[0].Jobs); n != jobfile.MaxJobs {
		t.Errorf("%d jobs", n)
	}
	if len(notes) != 2 || notes[0].Kind != crontab.Many || notes[0].Line != jobfile.MaxJobs+1 {
		t.Errorf("notes %v", notes)
	}
	// What is no crontab at all is not told line by line, and no script is made that no file has room for.
	_, notes = crontab.Convert(strings.Repeat("x\n", crontab.MaxText/2), usual)
	if n := len(notes); n != 1001 || notes[n-1].Kind != crontab.Many || notes[n-1].Line != 1001 {
		t.Errorf("%d notes, the last %v", n, notes[n-1])
	}
	// A line of variables is in every script after it.
	f, notes = crontab.Convert("X="+strings.Repeat("x", jobfile.MaxBytes/4)+strings.Repeat("\n0 0 * * * x", 5), usual)
	if n := len(f.Groups[0].Jobs); n != 3 || len(notes) != 2 || notes[0].Kind != crontab.Many {
		t.Errorf("%d long jobs, notes %v", n, notes)
	}
}

// TestTheScriptDoesWhatCronDoes runs scripts: variables as they stand, the home of the user, and input behind a %.
func TestTheScriptDoesWhatCronDoes(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "env"), []byte("GIVEN='by bash'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for crontabs, want := range map[string]string{
		"A = 'x y'\nB=$A/it's \n0 0 * * * echo \"$A|$B|$PWD\"":           "x y|$A/it's|" + home + "\n",
		"0 0 * * * cat%one%two\\%%END%":                                  "one\ntwo%\nEND\n",
		"0 0 * * * date +\\%\\% >/dev/null; echo $?":                     "0\n",
		"0 0 * * * (cat; echo last) | tr a-z A-Z%in":                     "IN\nLAST\n",
		"0 0 * * * false || echo no # not a comment of cron":             "no\n",
		"0 0 * * * echo a\\\\%b":                                         "a\\\n",
		"0 0 * * * cat%a\\\\%b%c":                                        "a\\%b\nc\n",
		"0 0 * * * wc -c%":                                               "0\n",
		"0 0 * * * wc -l%%":                                              "1\n",
		"0 0 * * * -n -q echo x":                                         "x\n",
		"SHELL=/bin/bash\nBASH_ENV=\"$HOME/env\"\n0 0 * * * echo $GIVEN": "by bash\n",
		"SHELL=/bin/sh\nBASH_ENV=$HOME/env\n0 0 * * * echo \"$GIVEN.\"":  ".\n",
	} {
		f, notes := crontab.Convert(crontabs, usual)
		if len(notes) > 0 {
			t.Fatalf("%q: %v", crontabs, notes)
		}
		cmd := exec.Command("bash", "-c", drawn(f, "script")[0])
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		cmd.Dir = "/"
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%q: %v, %q, want %q\n%s", crontabs, err, out, want, drawn(f, "script")[0])
		}
	}
}

// TestTimesAreThoseOfCron compares with a parser of crontabs that is not ours, from year to year.
func TestTimesAreThoseOfCron(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	element := func(low, high int) string {
		a := low + r.IntN(high-low+1)
		b := a + r.IntN(high-a+1)
		return []string{"*", "*", fmt.Sprint(a), fmt.Sprintf("%d-%d", a, b), fmt.Sprintf("*/%d", 1+r.IntN(high-low)), fmt.Sprintf("%d-%d/%d", a, b, 1+r.IntN(9)), fmt.Sprintf("%d,%d", a, b), fmt.Sprintf("%02d", a)}[r.IntN(8)]
	}
	compared := 0
	for range 4000 {
		days, week := element(1, 28), element(0, 6)
		if r.IntN(3) > 0 {
			days = "*"
		} else if r.IntN(3) > 0 {
			week = "*"
		}
		line := strings.Join([]string{element(0, 59), element(0, 23), days, element(1, 12), week}, " ")
		theirs, err := robfig.ParseStandard(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		f, notes := crontab.Convert(line+" x", usual)
		if len(notes) > 0 {
			if notes[0].Kind != crontab.Days && notes[0].Kind != crontab.Both {
				t.Errorf("%s: %v", line, notes)
			}
			continue
		}
		text := drawn(f, "cron")[0]
		ours, err := cron.Parse(text)
		if err != nil {
			t.Errorf("%s: %s: %v", line, text, err)
			continue
		}
		if odd := ours.Warnings(); len(odd) > 0 {
			t.Errorf("%s: %s means something else: %v", line, text, odd)
		}
		sameTimes(t, line+": "+text, ours, theirs)
		compared++
	}
	if compared < 2000 {
		t.Errorf("only %d were compared", compared)
	}
}

// sameTimes compares twenty times of a converted line with those that the line itself has.
func sameTimes(t *testing.T, what string, ours *cron.Expression, theirs robfig.Schedule) {
	t.Helper()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 20 {
		want := theirs.Next(at)
		got, err := ours.Next(at, time.UTC)
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: after %v: %v, %v, want %v", what, at, got, err, want)
			return
		}
		at = got
	}
}

func FuzzConvert(f *testing.F) {
	f.Add("# nightly\nMAILTO=a@b.c,x\n0 2 * * 1-5 /bin/x % y\n@daily z", true)
	f.Add("CRON_TZ=Asia/Tokyo\n*/7 1-3/2 1,2 jan sun \"q\" 'x' \\%", false)
	f.Fuzz(func(t *testing.T, text string, system bool) {
		file, notes := crontab.Convert(text, crontab.Options{AppName: "nightly", Author: "ann", System: system})
		jobs := 0
		for _, g := range file.Groups {
			jobs += len(g.Jobs)
		}
		left := 0
		for _, n := range notes {
			if n.LeftOut() {
				left++
			}
		}
		if lines := strings.Count(text, "\n") + 1; jobs+left > lines {
			t.Fatalf("%d jobs and %d left out of %d lines", jobs, left, lines)
		}
		if jobs == 0 {
			return
		}
		raw, err := jobfile.Write(file, jobfile.YAML)
		if err != nil {
			t.Fatal(err)
		}
		back, err := jobfile.Parse(raw)
		if err != nil {
			t.Fatalf("%v\n%s", err, raw)
		}
		if diff := cmp.Diff(drawn(file, "script"), drawn(back, "script")); diff != "" {
			t.Fatalf("a script is another one in the file (-want +got):\n%s", diff)
		}
		for _, text := range drawn(back, "cron") {
			if _, err := cron.Parse(text); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestSchedulesOfKubernetes: they mean what the library says that Kubernetes reads them with.
func TestSchedulesOfKubernetes(t *testing.T) {
	for schedule, want := range map[string]string{
		"*/10 2-4 * * 1-5": "0 */10 2-4 ? * MON-FRI", "5/15 * * * *": "0 5/15 * * * ?", "0 0 ? * ?": "0 0 0 * * ?", "@daily": "0 0 0 * * ?", "@every 90s": "1m30s",
		"@every 1ms": "1s", "0 0 * * sat,SUN": "0 0 0 ? * SUN,SAT", "0 0 */2 * *": "0 0 0 */2 * ?", "0 0 * * 7": "value 7", "0 0 * * fri-sun": "value fri-sun", "@Daily": "macro @Daily",
		"0 0 1 * 1": "days ", "0 0 */2 * 1": "days ", "0 0 */1 * 1": "0 0 0 ? * MON", "* * * *": "fields ", "@every -1s": "value @every -1s", "0 0 * * *  *": "fields ", "1,,2 * * * *": "0 1,2 * * * ?", ", * * * *": "value ,",
	} {
		text, every, fault, what := crontab.Kubernetes(schedule)
		if every > 0 {
			text = every.String()
		}
		if fault != "" {
			text = string(fault) + " " + what
		}
		if text != want {
			t.Errorf("%s: %s, want %s", schedule, text, want)
		}
	}
	random, compared := rand.New(rand.NewPCG(3, 4)), 0
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for range 4000 {
		line := strings.Join([]string{
			pick("0", "*/7", "5/20", "1-30/10", "?", "59"), pick("*", "3", "0-23/5", "22/1", "8-18"), pick("*", "?", "*", "1", "*/2", "10-20", "28/2"),
			pick("*", "*", "jan-mar", "*/5", "Feb,6"), pick("*", "?", "1-5", "0", "mon", "*/3", "5/1", "tue-THU,6"),
		}, " ")
		theirs, err := robfig.ParseStandard(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		text, _, fault, _ := crontab.Kubernetes(line)
		if fault != "" {
			if fault != crontab.Days && fault != crontab.Both {
				t.Errorf("%s: %s", line, fault)
			}
			continue
		}
		ours, err := cron.Parse(text)
		if err != nil || len(ours.Warnings()) > 0 {
			t.Errorf("%s: %s: %v", line, text, err)
			continue
		}
		sameTimes(t, line+": "+text, ours, theirs)
		compared++
	}
	if compared < 1000 {
		t.Errorf("only %d were compared", compared)
	}
}
