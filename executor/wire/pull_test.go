package wire

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

const aPull = `{"registryKey":"orders","registryValue":"pull://Box-1/","instance":"a.b","pull":"a.b.1","lost":["a.b.0"],"max":5000,"wait":20000,` +
	`"answers":[{"id":"x.1","answer":{"code":200}}]}`

func TestAPullIsRead(t *testing.T) {
	t.Parallel()
	got, err := DecodePull([]byte(aPull))
	want := PullRequest{
		RegistryKey: "orders", RegistryValue: "pull://box-1", Instance: "a.b", Pull: "a.b.1", Lost: []string{"a.b.0"}, Max: MaxPull, Wait: 20_000,
		Answers: []PulledAnswer{{ID: "x.1", Answer: json.RawMessage(`{"code":200}`)}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	many := strings.Repeat(`"a",`, maxPullLost+1)
	for name, body := range map[string]string{
		"no JSON":           "hello",
		"no group":          strings.Replace(aPull, `"orders"`, `" "`, 1),
		"an address":        strings.Replace(aPull, "pull://Box-1/", "http://10.0.0.1/", 1),
		"a path":            strings.Replace(aPull, "Box-1/", "box/1", 1),
		"no name":           strings.Replace(aPull, "Box-1/", "", 1),
		"no instance":       strings.Replace(aPull, `"a.b",`, `"",`, 1),
		"an odd pull":       strings.Replace(aPull, "a.b.1", "a b", 1),
		"a long pull":       strings.Replace(aPull, "a.b.1", strings.Repeat("a", maxPullID+1), 1),
		"a negative number": strings.Replace(aPull, "5000", "-1", 1),
		"an odd lost one":   strings.Replace(aPull, "a.b.0", "", 1),
		"too many lost":     strings.Replace(aPull, `"a.b.0"`, many[:len(many)-1], 1),
		"an answer to none": strings.Replace(aPull, "x.1", "", 1),
		"an empty answer":   strings.Replace(aPull, `{"code":200}`, "null", 1),
	} {
		if got, err := DecodePull([]byte(body)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// Who only answers has no pull.
	if _, err := DecodePull([]byte(`{"registryKey":"a","registryValue":"pull://b","answers":[{"id":"x","answer":{}}]}`)); err != nil {
		t.Error(err)
	}
}

func TestAPullAddressIsItsName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"pull://box": "pull://box", "PULL://Box_1.a-b/": "pull://box_1.a-b", "pull://": "", "pull:///": "", "pull://a b": "", "pull://a:1": "", "pull://a/b": "",
		"http://a": "", "pull://" + strings.Repeat("a", MaxPullName): "pull://" + strings.Repeat("a", MaxPullName), "pull://" + strings.Repeat("a", MaxPullName+1): "",
	} {
		if got, ok := NormalPullAddress(text); got != want || ok != (want != "") {
			t.Errorf("%s is %q", text, got)
		}
	}
}

// TestRequestsGoByTheProxy that the client is told of, also the short ones that go another way otherwise.
func TestRequestsGoByTheProxy(t *testing.T) {
	t.Parallel()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "http://admin.invalid/api/pull" {
			t.Errorf("asked for %s", r.RequestURI)
		}
		_, _ = w.Write([]byte(`{"code":200,"data":{"held":7,"calls":[]}}`))
	}))
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := NewAdminClient(NewHTTPClient(1, WithProxy(http.ProxyURL(address))), []string{"http://admin.invalid"}, "", "orders", 0)
	got, err := client.Pull(context.Background(), 0, &PullRequest{RegistryKey: "orders", RegistryValue: "pull://box"}, nil)
	if err != nil || got.Held != 7 {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzDecodePull(f *testing.F) {
	f.Add([]byte(aPull))
	f.Add([]byte(`{"registryKey":"a","registryValue":"pull://b"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := DecodePull(body)
		if err != nil {
			return
		}
		again, err := encode(got)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodePull(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if back.RegistryValue != got.RegistryValue || back.Pull != got.Pull || len(back.Answers) != len(got.Answers) || len(back.Lost) != len(got.Lost) {
			t.Errorf("%s: %+v became %+v", again, got, back)
		}
	})
}
