package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/manage/jobfile"
)

// TestConvertKubernetes: the file is one for apply, and what is no job is said beside it and by the exit code.
func TestConvertKubernetes(t *testing.T) {
	convert := func(text string, more ...string) (code int, file jobfile.File, said string) {
		t.Helper()
		var out, err bytes.Buffer
		code = runWith(append([]string{"cron", "convert-kubernetes", "--group", "cluster", "--author", "ann"}, more...), strings.NewReader(text), &out, &err)
		file, bad := jobfile.Parse(out.Bytes())
		if bad != nil && out.Len() > 0 {
			t.Fatalf("%v\n%s", bad, out.String())
		}
		return code, file, err.String()
	}
	const one = "kind: CronJob\nmetadata: {name: report}\nspec:\n  schedule: '0 4 * * 1-5'\n  jobTemplate: {spec: {backoffLimit: 0, template: {spec: {containers: [{command: [curl, 'https://example.com'], image: curl}]}}}}\n"
	code, file, said := convert(one, "--pods", "--zone", "Asia/Shanghai")
	if code != 0 || said != "" || len(file.Groups) != 1 || file.Groups[0].AppName != "cluster" {
		t.Fatalf("%d %v %s", code, file, said)
	}
	job := file.Groups[0].Jobs[0]
	if job.Description() != "report" || job.State != jobfile.Stopped || job.Values.Get("time_zone") != "Asia/Shanghai" || job.Values.Get("cron") != "0 0 4 ? * MON-FRI" || !strings.Contains(job.Values.Get("script"), "--from=cronjob/report") {
		t.Errorf("%v", job)
	}
	if code, file, said = convert(one, "--http"); code != 0 || file.Groups[0].AppName != "punctual-http" || !strings.Contains(said, "line 1: report: it is an HTTP job") {
		t.Errorf("%d %v %s", code, file, said)
	}
	if code, file, said = convert(one + "---\nkind: CronJob\n"); code != 1 || len(file.Groups) != 1 || !strings.Contains(said, "line 6: left out: a CronJob without a name") || !strings.Contains(said, "1 CronJob is not in the file") {
		t.Errorf("%d %v %s", code, file, said)
	}
	if code, _, said = convert("kind: Service\n"); code != 1 || !strings.Contains(said, "there is no CronJob in it") {
		t.Errorf("none: %d %s", code, said)
	}
	if code, _, said = convert(one, "--zone", "Local"); code == 0 || !strings.Contains(said, "is not a time zone") {
		t.Errorf("no zone: %d %s", code, said)
	}
}
