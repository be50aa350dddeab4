package openapi

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/archive"
)

func pushBody(t testing.TB, outputs ...wire.PushedOutput) string {
	t.Helper()
	body, err := wire.EncodeOutputs(outputs)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A program that may not tell about runs may not tell what they wrote, and nobody may send more than is read at once.
func TestOutputsAreTakenFromTheirExecutors(t *testing.T) {
	t.Parallel()
	one := pushBody(t, wire.PushedOutput{LogID: 7, Head: "a\n", LeftLines: 3, LeftFaults: 1, Tail: "z\n"})
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	for range wire.MaxPushedText>>20 + 1 {
		if _, err := zip.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	many := make([]wire.PushedOutput, wire.MaxPushedOutputs+1)
	for i := range many {
		many[i].LogID = int64(i + 1)
	}
	for _, tt := range []struct {
		name, token, body string
		err               error
		want              string
	}{
		{"of the group", ordersToken, one, nil, success},
		{"of any group", token, one, nil, success},
		{"nothing", token, pushBody(t), nil, success},
		{"a stranger", "x", one, nil, msgToken},
		{"none", "", one, nil, msgToken},
		{"runs of others", ordersToken, one, scheduler.ErrNotTheirs, msgToken},
		{"a group that is gone", ordersToken, one, scheduler.ErrNoGroup, msgToken},
		{"no room", token, one, archive.ErrFull, msgOutputFull},
		{"our own trouble", token, one, fmt.Errorf("database away"), "the admin cannot do this now"},
		{"not compressed", token, `{"outputs":[]}`, nil, "not compressed by gzip"},
		{"half of it", token, one[:len(one)-9], nil, "broken gzip"},
		{"a small body that unpacks to a large one", token, bomb.String(), nil, msgOutputLarge},
		{"too many runs", token, pushBody(t, many...), nil, msgOutputLarge},
		{"a large body", token, strings.Repeat("x", MaxBody+1), nil, msgTooLarge},
		{"of no run", token, pushBody(t, wire.PushedOutput{Head: "x"}), nil, "a logId is missing"},
		{"odd numbers", token, pushBody(t, wire.PushedOutput{LogID: 1, LeftLines: -1}), nil, "no number of lines"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api, e := newAPI()
			e.err = tt.err
			w := post(api, "POST", "/xxl-job-admin/api/output", tt.token, tt.body)
			if w.Code != 200 || !strings.Contains(w.Body.String(), tt.want) || strings.Contains(w.Body.String(), "database away") {
				t.Errorf("answered %d %s, want %q", w.Code, w.Body, tt.want)
			}
			if taken := len(e.outputs) > 0; tt.err == nil && taken != (tt.want == success && tt.name != "nothing") {
				t.Errorf("the engine got %+v", e.outputs)
			}
			if tt.token == ordersToken && e.scopes[0] != "orders" {
				t.Errorf("for %q", e.scopes)
			}
		})
	}
}
