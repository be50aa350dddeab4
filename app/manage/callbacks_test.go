package manage

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/executor/wire"
)

func TestReportsAreRead(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		`{"status":"success"}`: wire.CodeSuccess, `{"status":"failed","message":"disk full"}`: wire.CodeFail, ` {"message":"50 %","status":"progress"} `: 0,
		``: -1, `{}`: -1, `[]`: -1, `null`: -1, `{"status":"done"}`: -1, `{"status":"success","waited":1.5}`: wire.CodeSuccess, `{"status":"success","waited":-1}`: -1, `{"status":"success","waited":1e9}`: -1, `{"status":"success","waited":"1"}`: -1, `{"status":1}`: -1, `{"status":"success"} {}`: -1, `{"status":"success","extra":1}`: -1, `{"status":"success","status":"failed"}`: -1, `{"status":"progress","Status":"success"}`: -1, `{"status":"success"`: -1, "{\"status\":\"success\",\"message\":\"\xff\"}": -1,
	} {
		r, err := parseReport([]byte(body))
		if (err != nil) != (want < 0) || err == nil && r.Code != want {
			t.Errorf("%s: %+v, %v", body, r, err)
		}
	}
	if r, err := parseReport([]byte(`{"status":"failed","waited":1.5}`)); err != nil || r.Waited != 1500*time.Millisecond {
		t.Errorf("one that waited: %+v, %v", r, err)
	}
	r, err := parseReport([]byte(`{"status":"progress","message":"` + strings.Repeat("页", 2000) + `"}`))
	if err != nil || utf8.RuneCountInString(r.Message) != maxProgress {
		t.Errorf("a long progress: %d characters, %v", utf8.RuneCountInString(r.Message), err)
	}
}

func FuzzParseReport(f *testing.F) {
	for _, seed := range []string{`{"status":"success"}`, `{"status":"failed","message":"a\u0000b"}`, `{"status":"progress","message":"页"}`, `{`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseReport(body)
		if err != nil {
			if r.Code != 0 || r.Message != "" {
				t.Errorf("a refused report says %+v", r)
			}
			return
		}
		if !utf8.ValidString(r.Message) || strings.Contains(r.Message, "\x00") || r.Token != "" || r.From != "" {
			t.Errorf("%q is read as %+v", body, r)
		}
		if r.Code != wire.CodeSuccess && r.Code != wire.CodeFail && r.Code != 0 {
			t.Errorf("%q ends a run with %d", body, r.Code)
		}
		if r.Code == 0 && utf8.RuneCountInString(r.Message) > maxProgress {
			t.Errorf("progress of %d characters", utf8.RuneCountInString(r.Message))
		}
	})
}
