package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/manage/crontab"
	"github.com/punctual-job/punctual/app/manage/jobfile"
)

// TestCronConvert: the file is one for apply, and what is no job is said beside it and by the exit code.
func TestCronConvert(t *testing.T) {
	convert := func(text string, more ...string) (code int, file jobfile.File, said string) {
		t.Helper()
		var out, err bytes.Buffer
		code = runWith(append([]string{"cron", "convert", "--group", "shop", "--author", "ann"}, more...), strings.NewReader(text), &out, &err)
		file, bad := jobfile.Parse(out.Bytes())
		if bad != nil && out.Len() > 0 {
			t.Fatalf("%v\n%s", bad, out.String())
		}
		return code, file, err.String()
	}
	code, file, said := convert("# Rotate\n0 4 * * 1-5 /usr/sbin/logrotate\n", "--zone", "Asia/Shanghai")
	if code != 0 || said != "" || len(file.Groups) != 1 || file.Groups[0].AppName != "shop" {
		t.Fatalf("%d %v %s", code, file, said)
	}
	job := file.Groups[0].Jobs[0]
	if job.Description() != "Rotate" || job.State != jobfile.Stopped || job.Values.Get("author") != "ann" || job.Values.Get("time_zone") != "Asia/Shanghai" || job.Values.Get("cron") != "0 0 4 ? * MON-FRI" {
		t.Errorf("%v", job)
	}
	if code, file, said = convert("MAILTO=root\n@reboot a\n@daily root b\n", "--system"); code != 1 || len(file.Groups) != 1 || file.Groups[0].AppName != "shop-root" {
		t.Errorf("%d %v", code, file)
	}
	for _, want := range []string{"line 1: root is no mail address", "line 2: Left out: a start of the machine", "line 3: The jobs of root go to the executor shop-root", "1 line is not in the file"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
	if code, _, said = convert(strings.Repeat("#", crontab.MaxText+1)); code != 1 || !strings.Contains(said, "larger than 1 MiB") {
		t.Errorf("a long one: %d %s", code, said)
	}
}
