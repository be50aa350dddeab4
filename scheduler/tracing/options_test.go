package tracing

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSettingsAreRead(t *testing.T) {
	t.Parallel()
	const at = "http://localhost:4318"
	for name, tc := range map[string]struct {
		s    Settings
		want Options
	}{
		"nothing set":               {Settings{SamplerArg: "many", Protocol: "grpc"}, Options{}},
		"disabled":                  {Settings{Endpoint: at, Disabled: true, Sampler: "x"}, Options{}},
		"an endpoint":               {Settings{Endpoint: at}, Options{Endpoint: at + "/v1/traces", Ratio: DefaultRatio, Failures: true}},
		"an endpoint below a path":  {Settings{Endpoint: at + "/otlp/"}, Options{Endpoint: at + "/otlp/v1/traces", Ratio: DefaultRatio, Failures: true}},
		"one for traces counts":     {Settings{Endpoint: "nonsense", TracesEndpoint: at + "/x"}, Options{Endpoint: at + "/x", Ratio: DefaultRatio, Failures: true}},
		"everything":                {Settings{Endpoint: at, Sampler: "always_on", SamplerArg: "0.5"}, Options{Endpoint: at + "/v1/traces", Ratio: 1, Failures: true}},
		"nothing, failures neither": {Settings{Endpoint: at, Sampler: "parentbased_always_off"}, Options{Endpoint: at + "/v1/traces"}},
		"only failures":             {Settings{Endpoint: at, Sampler: "traceidratio", SamplerArg: "0"}, Options{Endpoint: at + "/v1/traces", Failures: true}},
		"half":                      {Settings{Endpoint: at, Sampler: "parentbased_traceidratio", SamplerArg: "0.5"}, Options{Endpoint: at + "/v1/traces", Ratio: 0.5, Failures: true}},
		"pairs": {Settings{Endpoint: at, Headers: "a=b%2Cc, X-Key = 1=2,", ServiceName: "jobs", ResourceAttributes: "service.name=other,zone=华东"},
			Options{Endpoint: at + "/v1/traces", Ratio: DefaultRatio, Failures: true, Headers: map[string]string{"a": "b,c", "X-Key": "1=2"},
				Attributes: map[string]string{"service.name": "jobs", "zone": "华东"}}},
	} {
		got, err := tc.s.Parse()
		if got.Headers == nil && tc.want.Headers != nil || err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(got.Headers) == 0 {
			got.Headers = nil
		}
		if len(got.Attributes) == 0 {
			got.Attributes = nil
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Each error names the variable, and none tells what may be a key.
func TestBadSettingsAreNamed(t *testing.T) {
	t.Parallel()
	const at = "http://localhost:4318"
	for variable, list := range map[string][]Settings{
		"OTEL_EXPORTER_OTLP_ENDPOINT":        {{Endpoint: "localhost:4318"}, {Endpoint: "ftp://localhost"}, {Endpoint: "http://"}, {Endpoint: "http://me:sEcReT@localhost"}, {Endpoint: "http://%zz"}},
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": {{TracesEndpoint: "/v1/traces"}, {Endpoint: at, TracesEndpoint: "nonsense"}},
		"OTEL_EXPORTER_OTLP_PROTOCOL":        {{Endpoint: at, Protocol: "grpc"}, {Endpoint: at, Protocol: "http/json"}},
		"OTEL_EXPORTER_OTLP_HEADERS":         {{Endpoint: at, Headers: "sEcReT"}, {Endpoint: at, Headers: "=sEcReT"}, {Endpoint: at, Headers: "a=sEcReT%zz"}, {Endpoint: at, Headers: "a b=sEcReT"}, {Endpoint: at, Headers: "a=sEcReT%0D%0Ab"}},
		"OTEL_RESOURCE_ATTRIBUTES":           {{Endpoint: at, ResourceAttributes: "zone"}},
		"OTEL_EXPORTER_OTLP_CERTIFICATE":     {{Endpoint: at, Certificate: "/no/such/file"}},
		"OTEL_TRACES_SAMPLER ":               {{Endpoint: at, Sampler: "sometimes"}},
		"OTEL_TRACES_SAMPLER_ARG":            {{Endpoint: at, SamplerArg: "1.1"}, {Endpoint: at, SamplerArg: "-0.1"}, {Endpoint: at, SamplerArg: "NaN"}, {Endpoint: at, SamplerArg: "half"}},
	} {
		for _, s := range list {
			_, err := s.Parse()
			if err == nil || !strings.Contains(err.Error(), variable) || strings.Contains(err.Error(), "sEcReT") {
				t.Errorf("%+v: %v", s, err)
			}
		}
	}
}

func FuzzPairs(f *testing.F) {
	for _, text := range []string{"", "a=b", "a=b,c=d", "a=%2C", " a = b ,, c=", "=", "a=%", "a=\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		pairs, err := parsePairs(text)
		if err != nil {
			return
		}
		var again []string
		for name, value := range pairs {
			again = append(again, name+"="+url.PathEscape(value))
		}
		second, err := parsePairs(strings.Join(again, ","))
		if err != nil {
			t.Fatalf("%q is %v, written again %q: %v", text, pairs, again, err)
		}
		if diff := cmp.Diff(pairs, second); diff != "" {
			t.Fatal(diff)
		}
	})
}
