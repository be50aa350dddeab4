package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// excerptOf is what is kept of a text.
func excerptOf(text string, budget int) *Excerpt {
	x := &Excerpt{Budget: budget}
	eachLine([]byte(text), x.Add)
	x.End()
	return x
}

// What an admin keeps of a pushed output is what it would have kept of a copy.
func TestAPushedOutputIsKeptAsACopyIs(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "line %d\n", i)
		if i%100 == 7 {
			long.WriteString("ERROR in it\n")
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "a line": "hello\n", "no end": "a\nb", "empty lines": "\n\nx\n\n", "long": long.String(), "one long line": strings.Repeat("好", 9000) + "\nend\n",
	} {
		for _, budget := range []int{4000, 64 << 10} {
			want := excerptOf(text, budget)
			body, err := EncodeOutputs([]PushedOutput{PushedOf(5, excerptOf(text, budget))})
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeOutputs(body)
			if err != nil || len(got) != 1 || got[0].LogID != 5 {
				t.Fatalf("%s: %+v, %v", name, got, err)
			}
			if x := got[0].Excerpt(budget); !bytes.Equal(x.Text(), want.Text()) || x.Left() != want.Left() || x.Faults != want.Faults || x.HeadLines != want.HeadLines {
				t.Errorf("%s within %d: %d lines left out and %d faults in %d bytes, want %d and %d in %d", name, budget, x.Left(), x.Faults, x.Size(), want.Left(), want.Faults, want.Size())
			}
			// An admin that wants less than it said keeps less.
			if x := got[0].Excerpt(1000); x.Size() > 1000 || x.Lines != want.Lines {
				t.Errorf("%s: %d bytes of %d lines, want up to 1000 of %d", name, x.Size(), x.Lines, want.Lines)
			}
		}
	}
}

func TestTheLastOutputOfARunCounts(t *testing.T) {
	t.Parallel()
	body, err := EncodeOutputs([]PushedOutput{{LogID: 1, Head: "old\n"}, {LogID: 2, Head: "b\n"}, {LogID: 1, Head: "new\n"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeOutputs(body)
	if want := []PushedOutput{{LogID: 1, Head: "new\n"}, {LogID: 2, Head: "b\n"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// An admin that takes no outputs is asked the next moment for everything else as if nothing had been.
func TestOutputsGoToAnAdminThatTakesThem(t *testing.T) {
	t.Parallel()
	var asked []string
	server := func(name string, answer string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, name+" "+r.URL.Path)
			body, _ := io.ReadAll(r.Body)
			if r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get(HeaderToken) != "secret" {
				t.Errorf("sent with %v", r.Header)
			}
			if got, err := DecodeOutputs(body); err != nil || len(got) != 1 {
				t.Errorf("%+v, %v", got, err)
			}
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	old, ours := server("old", `{"code":500,"msg":"uri-mapping(output) not found."}`), server("ours", `{"code":200}`)
	client := NewAdminClient(nil, []string{old, ours}, "secret", "orders", 0)
	if err := client.PushOutputs(context.Background(), []PushedOutput{{LogID: 1, Head: "x\n"}}); err != nil || !reflect.DeepEqual(asked, []string{"old /api/output", "ours /api/output"}) {
		t.Errorf("%v, %v", asked, err)
	}
	if client.admins[0].avoided() {
		t.Error("the old admin is avoided")
	}
	refused := (*RefusedError)(nil)
	if err := NewAdminClient(nil, []string{old}, "secret", "orders", 0).PushOutputs(context.Background(), []PushedOutput{{LogID: 1}}); !errors.As(err, &refused) {
		t.Errorf("of an old one alone: %v", err)
	}
}

// TestAWishIsReadOrNone takes no run less for what is said about its output.
func TestAWishIsReadOrNone(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]*OutputWish{
		`{"logId":1}`:                                            nil,
		`{"logId":1,"keepOutput":null}`:                          nil,
		`{"logId":1,"keepOutput":"ALL"}`:                         nil,
		`{"logId":"1","keepOutput":true}`:                        nil,
		`{"logId":1,"keepOutput":{"failedOnly":true,"bytes":5}}`: {FailedOnly: true, Bytes: 5},
		`{"logId":"1","keepOutput":{"bytes":5}}`:                 {Bytes: 5},
	} {
		got, err := DecodeRun([]byte(body))
		if err != nil || got.LogID != 1 || !reflect.DeepEqual(got.KeepOutput, want) {
			t.Errorf("%s: %+v, %v", body, got.KeepOutput, err)
		}
	}
	for wish, want := range map[OutputWish][2]bool{{Bytes: 1}: {true, true}, {FailedOnly: true, Bytes: 1}: {false, true}, {}: {false, false}} {
		if got := [2]bool{wish.Wants(CodeSuccess), wish.Wants(CodeFail)}; got != want {
			t.Errorf("%+v wants %v", wish, got)
		}
	}
	if (*OutputWish)(nil).Wants(CodeFail) {
		t.Error("no wish wants something")
	}
}

func FuzzDecodeOutputs(f *testing.F) {
	body, err := EncodeOutputs([]PushedOutput{{LogID: 1, Head: "a\n\xff", LeftLines: 2, LeftFaults: 1, Tail: "b"}, {LogID: 2}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body, 1000)
	f.Add([]byte("{\"logId\":1,\"head\":2}\na\n{\"logId\":1,\"head\":1,\"tail\":1}\nab"), 0)
	f.Add([]byte(`{"logId":1,"head":9}`), 0)
	f.Add([]byte(`{"LOGID":1,"head":-0,"head":007,"tail":1e3,"leftLines":null,"leftFaults":12345678901234567890}`), 0)
	again := NewOutputReader(new(gzip.Reader))
	f.Fuzz(func(t *testing.T, body []byte, budget int) {
		if h, ok := quickPushHead(body); ok {
			var slowly pushHead
			if err := json.Unmarshal(body, &slowly); err != nil || h != slowly {
				t.Errorf("%s is read as %+v, and slowly as %+v, %v", body, h, slowly, err)
			}
		}
		got, err := DecodeOutputs(body)
		if err != nil {
			// What is not gzip is looked at as what gzip would hold.
			var zipped bytes.Buffer
			zip := newZipper(&zipped)
			_, _ = zip.Write(body)
			_ = zip.Close()
			if got, err = DecodeOutputs(zipped.Bytes()); err != nil {
				return
			}
			body = zipped.Bytes()
		}
		if same, err := again.Decode(body); err != nil || !reflect.DeepEqual(same, got) { // whatever it has read before
			t.Errorf("read with what read others: %+v, %v, want %+v", same, err, got)
		}
		budget = min(max(budget, 0), 1<<20)
		seen := make(map[int64]bool)
		for i := range got {
			o := &got[i]
			x := o.Excerpt(budget)
			if o.LogID <= 0 || seen[o.LogID] || x.Size() > budget+len(lineCut)+1 || x.Left() < 0 || x.Faults < 0 {
				t.Errorf("%+v became %+v", o, x)
			}
			seen[o.LogID] = true
		}
	})
}

// BenchmarkDecodeOutputs reads a hundred outputs of ten lines.
func BenchmarkDecodeOutputs(b *testing.B) {
	var outputs []PushedOutput
	for i := range 100 {
		var head strings.Builder
		for line := range 10 {
			fmt.Fprintf(&head, "2026-03-02 12:00:00.123 order %d of 10 of run %d is settled, \"and\" what it was about stands in a line of some hundred bytes\n", line, i)
		}
		outputs = append(outputs, PushedOutput{LogID: int64(i + 1), Head: head.String()})
	}
	body, err := EncodeOutputs(outputs)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for range b.N {
		if got, err := DecodeOutputs(body); err != nil || len(got) != 100 {
			b.Fatal(len(got), err)
		}
	}
}
