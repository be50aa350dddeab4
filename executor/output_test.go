//go:build go1.26

package executor_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

func TestAHandlerGivesOutputs(t *testing.T) {
	t.Parallel()
	b := setup(t, executortest.Handlers{"h": func(_ context.Context, run *executor.Run) error {
		if err := run.SetOutput("rows", "41"); err != nil {
			t.Error(err)
		}
		if err := run.SetOutput("rows", "42"); err != nil {
			t.Error(err)
		}
		if run.SetOutput("", "x") == nil || run.SetOutput(strings.Repeat("k", wire.MaxOutputKey+1), "x") == nil {
			t.Error("a key that is none was taken")
		}
		if run.SetOutput("large", strings.Repeat("v", wire.MaxOutputs)) == nil {
			t.Error("more than fits was taken")
		}
		return run.SetOutput("who", "password hunter22")
	}})
	req := request(1)
	req.Masks = []string{"hunter22"}
	b.mustRun(t, req)
	want := map[string]string{"rows": "42", "who": "password ***"}
	if got := b.admin.Result(t, 1).Outputs; !maps.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}

func TestAScriptGivesOutputs(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	req := script(1, wire.GlueShell, `printf 'rows=42\r\n\nnonsense\nurl=a=b\n' >> "$PUNCTUAL_OUTPUT"; echo "file $PUNCTUAL_OUTPUT"; exit 1`)
	b.mustRun(t, req)
	if got, want := b.admin.Result(t, 1).Outputs, map[string]string{"rows": "42", "url": "a=b"}; !maps.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
	text := b.log(t, req)
	if !strings.Contains(text, "a line without = is left out: \"nonsense\"") || strings.Count(text, "left out") != 1 {
		t.Errorf("the log does not say what is left out:\n%s", text)
	}
	_, file, _ := strings.Cut(text, "file ")
	file, _, _ = strings.Cut(file, "\n")
	if _, err := os.Stat(file); !filepath.IsAbs(file) || !os.IsNotExist(err) {
		t.Errorf("the file %q is left: %v", file, err)
	}
}

// TestWhatAScriptGivesTooMuchIsLeftOut, and its log says so: the script may have ended well long ago.
func TestWhatAScriptGivesTooMuchIsLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	many := fmt.Sprintf(`a() { head -c "$1" /dev/zero | tr '\0' a; }
{ echo first=1; echo =nobody; echo "big=$(a %d)"; echo last=2; } > "$PUNCTUAL_OUTPUT"`, wire.MaxOutputs)
	long := fmt.Sprintf(`a() { head -c "$1" /dev/zero | tr '\0' a; }
{ echo first=1; echo "long=$(a %d)"; echo last=2; } > "$PUNCTUAL_OUTPUT"`, 3*wire.MaxOutputs)
	for i, tt := range []struct {
		source string
		want   map[string]string
		says   []string
	}{
		{many, map[string]string{"first": "1", "last": "2"}, []string{`left out: output "": the key has to be a text`, `left out: output "big": all outputs of a run together`}},
		{long, map[string]string{"first": "1", "last": "2"}, []string{`a line that is too long is left out: "long=aaa`}},
		{`seq -f progress=%.0f 1 20000 > "$PUNCTUAL_OUTPUT"`, map[string]string{"progress": "20000"}, nil}, // the last one counts, however many there are
		{`{ echo first=1; seq 1 30; printf last=2; } > "$PUNCTUAL_OUTPUT"`, map[string]string{"first": "1", "last": "2"},
			slices.Repeat([]string{"a line without = is left out: "}, 20)},
		{`{ echo first=1; head -c 17000000 /dev/zero | tr '\0' '\n'; echo last=2; } > "$PUNCTUAL_OUTPUT"`, map[string]string{"first": "1"}, []string{"the rest is left out: it is longer than 16777216 bytes"}},
	} {
		req := script(int64(i+1), wire.GlueShell, tt.source)
		b.mustRun(t, req)
		cb := b.admin.Result(t, req.LogID)
		text := b.log(t, req)
		if cb.HandleCode != wire.CodeSuccess || !maps.Equal(cb.Outputs, tt.want) || strings.Count(text, "left out: ") != len(tt.says) || i == 3 && !strings.Contains(text, "10 lines more are left out") {
			t.Errorf("%d: reported %d %v; the log is\n%s", i, cb.HandleCode, cb.Outputs, text)
		}
		for _, says := range tt.says {
			if !strings.Contains(text, says) {
				t.Errorf("%d: the log does not say %q:\n%s", i, says, text)
			}
		}
	}
}

// TestTwoCommandsOfARunGiveOutputs, although the one begins and ends while the other goes on.
func TestTwoCommandsOfARunGiveOutputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b *bundle
	b = setup(t, executortest.Handlers{"h": func(ctx context.Context, run *executor.Run) error {
		long := make(chan error, 1)
		go func() {
			_, err := b.Command(ctx, run, "bash", "-c", `echo one=1 >>"$PUNCTUAL_OUTPUT"; : >"$0/a"; until [ -e "$0/b" ]; do sleep 0.05; done; echo three=3 >>"$PUNCTUAL_OUTPUT"`, dir)
			long <- err
		}()
		executortest.Eventually(t, "first output", func() error { _, err := os.Stat(filepath.Join(dir, "a")); return err })
		_, err := b.Command(ctx, run, "bash", "-c", `echo two=2 >>"$PUNCTUAL_OUTPUT"`)
		return errors.Join(err, os.WriteFile(filepath.Join(dir, "b"), nil, 0o600), <-long)
	}})
	b.mustRun(t, request(1))
	b.wantResult(t, 1, 200, "")
	if got, want := b.admin.Result(t, 1).Outputs, map[string]string{"one": "1", "two": "2", "three": "3"}; !maps.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}
