// Package deploy checks what is in deploy/ with the tools that people will use it with. It is a module of its own, because they ask
// for half of Kubernetes.
package deploy

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

const (
	deployed = "../../deploy"
	chart    = deployed + "/helm/punctual"
)

var update = flag.Bool("update", false, "write what the chart renders to testdata anew")

var paths sync.Map

// tool is where a tool of this module is, built.
func tool(t *testing.T, name string) string {
	t.Helper()
	if path, ok := paths.Load(name); ok {
		return path.(string)
	}
	cmd := exec.Command("go", "tool", "-n", name)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	path := strings.TrimSpace(string(out))
	paths.Store(name, path)
	return path
}

func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(tool(t, "helm"), args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// validate has the documents checked against Kubernetes' own schemas, in which no field has another name.
func validate(t *testing.T, documents ...string) {
	t.Helper()
	var own []string
	for _, document := range documents {
		if kindOf(document) == "ServiceMonitor" {
			validateMonitor(t, document)
			continue
		}
		own = append(own, document)
	}
	cmd := exec.Command(tool(t, "kubeconform"), "-strict", "-summary", "-schema-location", "testdata/schemas/{{.ResourceKind}}.json")
	cmd.Stdin = strings.NewReader(strings.Join(own, "\n---\n"))
	out, err := cmd.CombinedOutput()
	if err != nil && len(own) > 0 || len(own) > 0 && !strings.Contains(string(out), fmt.Sprintf("Valid: %d,", len(own))) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAWrongManifestIsNotValid says whether the schemas find anything at all.
func TestAWrongManifestIsNotValid(t *testing.T) {
	text, err := os.ReadFile(deployed + "/kubernetes/punctual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for right, wrong := range map[string]string{
		"readinessProbe:":                   "readynessProbe:",
		"terminationGracePeriodSeconds: 45": "terminationGracePeriodSeconds: soon",
		"containerPort: 8081":               "containerPort: metrics",
		"apiVersion: apps/v1":               "apiVersion: apps/v2",
	} {
		broken := strings.Replace(string(text), right, wrong, 1)
		cmd := exec.Command(tool(t, "kubeconform"), "-strict", "-schema-location", "testdata/schemas/{{.ResourceKind}}.json")
		cmd.Stdin = strings.NewReader(broken)
		if out, err := cmd.CombinedOutput(); err == nil || broken == string(text) {
			t.Errorf("%s is taken: %s", wrong, out)
		}
	}
}

// validateMonitor reads what is not Kubernetes' own by the types of who it is for.
func validateMonitor(t *testing.T, document string) {
	t.Helper()
	var m monitoring.ServiceMonitor
	if err := yaml.UnmarshalStrict([]byte(document), &m); err != nil {
		t.Errorf("%v\n%s", err, document)
	}
	if len(m.Spec.Endpoints) != 1 || m.Spec.Endpoints[0].Port != "metrics" {
		t.Errorf("it watches %+v", m.Spec.Endpoints)
	}
}

var kindLine = regexp.MustCompile(`(?m)^kind: (\S+)`)

func kindOf(document string) string {
	if m := kindLine.FindStringSubmatch(document); m != nil {
		return m[1]
	}
	return ""
}

// split takes a file of several documents apart.
func split(text string) []string {
	return slices.DeleteFunc(strings.Split("\n"+text, "\n---"), func(s string) bool { return kindOf(s) == "" })
}

func TestTheManifestsAreKubernetes(t *testing.T) {
	files, err := filepath.Glob(deployed + "/kubernetes/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) { validate(t, split(string(text))...) })
	}
}

func TestTheChartIsKubernetes(t *testing.T) {
	for _, tt := range []struct {
		name  string // the file of testdata that has what is rendered
		set   []string
		kinds string
	}{
		{"default", nil, "ServiceAccount Service Service PodDisruptionBudget Deployment"},
		{"embedded", []string{"replicas=1", "secret.keys.databaseURL=", "secret.keys.secretKey="}, "ServiceAccount Service Service StatefulSet"},
		{"pull", []string{"executor.enabled=true", "executor.pull=true"}, "PodDisruptionBudget PodDisruptionBudget ServiceAccount Service Service Deployment StatefulSet"},
		{"everything", []string{"executor.enabled=true", "ingress.enabled=true", "ingress.tlsSecret=tls", "ingress.className=nginx", "serviceMonitor.enabled=true", "secret.keys.adminPassword=admin-password",
			"publicURL=https://jobs.example.com", "env.PUNCTUAL_LOG_LEVEL=debug", "executor.env.PUNCTUAL_EXECUTOR_COMMAND=true", "podAnnotations.a=b", "nodeSelector.disk=ssd",
			"image.pullSecrets[0].name=pull", "tolerations[0].operator=Exists", "storage.className=fast", "executor.storage.className=fast"},
			"PodDisruptionBudget PodDisruptionBudget ServiceAccount Service Service Service Deployment StatefulSet Ingress ServiceMonitor"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var set []string
			for _, s := range tt.set {
				set = append(set, "--set-string", s)
				if strings.HasPrefix(s, "replicas=") || strings.Contains(s, "enabled=") || s == "executor.pull=true" {
					set[len(set)-2] = "--set"
				}
			}
			if out, err := helm(t, append([]string{"lint", "--strict", chart}, set...)...); err != nil {
				t.Fatalf("lint: %v\n%s", err, out)
			}
			out, err := helm(t, append([]string{"template", "test", chart, "--namespace", "jobs", "--kube-version", "1.30", "--api-versions", "monitoring.coreos.com/v1"}, set...)...)
			if err != nil {
				t.Fatalf("template: %v\n%s", err, out)
			}
			documents := split(out)
			var kinds []string
			for _, d := range documents {
				kinds = append(kinds, kindOf(d))
			}
			want := strings.Fields(tt.kinds)
			slices.Sort(kinds)
			slices.Sort(want)
			if !slices.Equal(kinds, want) {
				t.Errorf("made %q, want %q", kinds, want)
			}
			validate(t, documents...)
			golden(t, "testdata/"+tt.name+".yaml", out)
		})
	}
}

// golden compares with a file that the tests of the programs read, which have no Helm.
func golden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != text {
		t.Errorf("%s is not what the chart renders (%v): go test . -update writes it anew", file, err)
	}
}

func TestTheChartRefuses(t *testing.T) {
	for set, want := range map[string]string{
		"secret.keys.databaseURL=":    "an embedded database has one admin",
		"secret.keys.accessToken=":    "accessToken",
		"secret.keys.databaseUrl=key": "databaseUrl",
		"replicas=0":                  "replicas",
	} {
		if out, err := helm(t, "template", "test", chart, "--kube-version", "1.30", "--set", set); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v, %s", set, err, out)
		}
	}
	if out, err := helm(t, "template", "test", chart, "--kube-version", "1.28"); err == nil || !strings.Contains(out, "kubeVersion") {
		t.Errorf("an old Kubernetes: %v, %s", err, out)
	}
}

// TestTheComposeFilesAreCompose reads them as docker compose does.
func TestTheComposeFilesAreCompose(t *testing.T) {
	for file, want := range map[string]string{
		"embedded.yaml":      "executor punctual",
		"executor-pull.yaml": "executor",
		"mysql.yaml":         "admin-1 admin-2 db executor",
		"galera.yaml":        "admin-1 admin-2 admin-3 db-1 db-2 db-3 executor",
	} {
		options, err := cli.NewProjectOptions([]string{deployed + "/compose/" + file}, cli.WithEnv([]string{"PUNCTUAL_VERSION=1.2.3"}))
		if err != nil {
			t.Fatal(err)
		}
		project, err := options.LoadProject(context.Background())
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		names := project.ServiceNames()
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has %s, want %s", file, got, want)
		}
		for _, s := range project.Services {
			if strings.HasPrefix(s.Image, "punctual") && !strings.HasSuffix(s.Image, ":1.2.3") {
				t.Errorf("%s: %s runs %s", file, s.Name, s.Image)
			}
			for _, secret := range s.Secrets {
				if _, ok := project.Secrets[secret.Source]; !ok {
					t.Errorf("%s: %s wants the secret %s", file, s.Name, secret.Source)
				}
			}
		}
	}
}
