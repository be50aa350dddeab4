//go:build go1.26

package environ

import (
	"os"
	"slices"
	"testing"
)

func TestStrays(t *testing.T) {
	t.Parallel()
	known := []string{"PUNCTUAL_LISTEN", "PUNCTUAL_DATABASE_URL", "PUNCTUAL_TLS_KEY", "PUNCTUAL_TLS_CERT"}
	for _, tt := range []struct {
		name, entry string
		want        []Stray
	}{
		{"a known one", "PUNCTUAL_LISTEN=:1", nil},
		{"a letter is missing", "PUNCTUAL_LISTN=:1", []Stray{{"PUNCTUAL_LISTN", "PUNCTUAL_LISTEN"}}},
		{"letters are swapped", "PUNCTUAL_LISTNE=:1", []Stray{{"PUNCTUAL_LISTNE", "PUNCTUAL_LISTEN"}}},
		{"in the first word", "PUNCTAUL_LISTEN=:1", []Stray{{"PUNCTAUL_LISTEN", "PUNCTUAL_LISTEN"}}},
		{"in small letters", "punctual_listen=:1", []Stray{{"punctual_listen", "PUNCTUAL_LISTEN"}}},
		{"like none", "PUNCTUAL_DB=x", []Stray{{"PUNCTUAL_DB", ""}}},
		{"another program's", "PATH=/bin", nil},
		{"what a script is given", "PUNCTUAL_JOB_ID=1", nil},
		{"a port that somebody set", "PUNCTUAL_PORT=8080", []Stray{{"PUNCTUAL_PORT", ""}}},
		{"Kubernetes' port", "PUNCTUAL_PORT=tcp://10.0.0.1:8080", nil},
		{"Kubernetes' port in parts", "PUNCTUAL_PORT_8080_TCP_ADDR=10.0.0.1", nil},
		{"Kubernetes' host", "PUNCTUAL_SERVICE_HOST=10.0.0.1", nil},
		{"Kubernetes' named port", "PUNCTUAL_SERVICE_PORT_HTTP=8080", nil},
		{"Kubernetes' service port", "PUNCTUAL_EXECUTOR_SERVICE_PORT=9999", nil},
		{"empty", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Strays([]string{tt.entry}, "PUNCTUAL_", known); !slices.Equal(got, tt.want) {
				t.Errorf("%q: %v, want %v", tt.entry, got, tt.want)
			}
		})
	}
}

func TestAnEmptyVariableIsNotSet(t *testing.T) {
	for name, value := range map[string]string{"PUNCTUAL_GLUE": "", "PUNCTUAL_LISTEN": ":9", "OTHER_GLUE": ""} {
		t.Setenv(name, value)
	}
	DropEmpty("PUNCTUAL_", "OTEL_")
	for name, want := range map[string]bool{"PUNCTUAL_GLUE": false, "PUNCTUAL_LISTEN": true, "OTHER_GLUE": true} {
		if _, set := os.LookupEnv(name); set != want {
			t.Errorf("%s: set %v, want %v", name, set, want)
		}
	}
}
