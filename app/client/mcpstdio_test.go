package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestWhatIsNoMessage is answered in its place, and what follows comes through.
func TestWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	told := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	invalid := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32600,"message":"this is no message of JSON-RPC 2.0: an object with \"jsonrpc\": \"2.0\" and a method"}}`
	}
	for name, c := range map[string]struct {
		in      string
		through []string
		answers []string
	}{
		"messages":            {ping + "\n" + told + "\r\n\n" + ping, []string{ping, told, ping}, nil},
		"a batch":             {"[" + ping + ", " + told + "]\n", []string{ping, told}, nil},
		"a batch with a slip": {`[{"jsonrpc":"2.1","id":"a","method":"ping"},` + ping + "]\n", []string{ping}, []string{invalid(`"a"`)}},
		"an empty batch":      {"[]\n" + ping, []string{ping}, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this batch is empty"}}`}},
		"another version":     {`{"jsonrpc":"1.0","id":7,"method":"ping"}` + "\n" + ping, []string{ping}, []string{invalid("7")}},
		"no version":          {`{"id":{"a":1},"method":"ping"}` + "\n" + ping, []string{ping}, []string{invalid("null")}},
		"no object":           {"3\n" + ping, []string{ping}, []string{invalid("null")}},
		"no JSON":             {"hello\n" + ping, []string{ping}, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is no JSON; a message is one line of it"}}`}},
		"too long": {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("a", maxMessage) + `"}` + "\n" + ping, []string{ping},
			[]string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message may have a megabyte"}}`}},
		"an answer to nothing": {`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}` + "\n" + ping, []string{ping}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			through, err := io.ReadAll(newStdio(strings.NewReader(c.in), &out))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(c.through, "\n")+"\n", string(through)); diff != "" {
				t.Error("what came through:", diff)
			}
			if diff := cmp.Diff(strings.Join(append(c.answers, ""), "\n"), out.String()); diff != "" {
				t.Error("what was answered:", diff)
			}
		})
	}
}

// FuzzStdio: whatever an assistant writes, messages alone come through, one to a line, and answers are errors of JSON-RPC.
func FuzzStdio(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},7]`, "[", "[]\n{}", `{"jsonrpc":"1.0","method":1,"id":1e400}`, "\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		through, err := io.ReadAll(newStdio(bytes.NewReader(in), &out))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(through) {
			if _, err := jsonrpc.DecodeMessage(line); err != nil {
				t.Errorf("%q came through: %v", line, err)
			}
		}
		for answers := bufio.NewScanner(&out); answers.Scan(); {
			var answer struct {
				Version string          `json:"jsonrpc"`
				ID      json.RawMessage `json:"id"`
				Error   jsonrpc.Error   `json:"error"`
			}
			if err := json.Unmarshal(answers.Bytes(), &answer); err != nil || answer.Version != "2.0" || answer.Error.Code > jsonrpc.CodeInvalidRequest || answer.ID == nil {
				t.Errorf("answered %q: %v", answers.Bytes(), err)
			}
		}
	})
}
