package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestTheWayFromKubernetes goes it as the manual says, with a real executor and a kubectl that plays a cluster: a run has a Job made of the CronJob,
// and its output and its end are those of the Job.
func TestTheWayFromKubernetes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	a := m.running(t)
	startExecutor(t, executorSettings{admins: []string{a.url}, appName: "nightly", env: []string{"PUNCTUAL_EXECUTOR_GLUE=true", "HOME=" + m.dir, "PATH=" + m.dir + "/bin:" + os.Getenv("PATH")}})
	s := a.login(t, testPassword)
	m.env = append(m.env, "PUNCTUAL_URL="+a.url, "PUNCTUAL_TOKEN="+s.token(t, "view", "edit", "glue", "schedule", "run"))
	m.write(t, "bin/kubectl", `#!/bin/sh
case "$*" in
'get cronjobs --all-namespaces -o yaml') cat <<'END'
apiVersion: v1
kind: List
items:
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: close-day, namespace: shop}
  spec:
    schedule: 30 2 * * *
    timeZone: Asia/Shanghai
    jobTemplate: {spec: {template: {spec: {containers: [{name: main, image: shop/report}]}}}}
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: old, namespace: shop}
  spec: {schedule: '@monthly', suspend: true}
END
;;
'--namespace shop patch cronjob close-day --patch '*) ;;
'--namespace shop create job close-day-'*' --from=cronjob/close-day') ;;
'--namespace shop logs --follow '*) echo 'the day is closed' ;;
'--namespace shop get job close-day-'*) echo Complete ;;
*) echo "$*" >&2; exit 1 ;;
esac
`)
	steps := 0
	for _, e := range examplesOf(t) {
		if e.page == "from-kubernetes.md" {
			m.must(t, e.text)
			steps++
		}
	}
	if steps != 5 {
		t.Errorf("the page has %d steps", steps)
	}
	list := m.must(t, "punctual jobs list --tag kubernetes -o wide")
	for _, want := range []string{"shop/close-day", "0 30 2 * * ?", "Asia/Shanghai", "running"} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is not in the list:\n%s", want, list)
		}
	}
	if list := m.must(t, "punctual jobs list --tag kubernetes-suspended -o wide"); !strings.Contains(list, "shop/old") || strings.Contains(list, "running") {
		t.Errorf("what was suspended:\n%s", list)
	}
	if out := m.must(t, "punctual run --wait --follow shop/close-day"); !strings.Contains(out, "the day is closed") {
		t.Errorf("the run prints %q", out)
	}
}
